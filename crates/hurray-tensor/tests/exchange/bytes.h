/* Descriptors, written by hand: a producer that is no Hurray library needs no more than this. */

#ifndef TEST_BYTES_H
#define TEST_BYTES_H

#include <stdint.h>
#include <string.h>

struct Bytes {
    uint8_t at[256];
    uint32_t length;
};

static void put(struct Bytes *bytes, uint64_t number, uint32_t width) {
    uint32_t at;
    for (at = 0; at < width; ++at) bytes->at[bytes->length++] = (uint8_t)(number >> (8 * at));
}

/* A handle of the format: size, alignment, device, sync mode, class. */
static void put_handle(uint8_t *handle, uint64_t size, uint8_t device, uint8_t sync, uint8_t class_) {
    struct Bytes bytes = {{0}, 0};
    put(&bytes, size, 8);
    put(&bytes, 64, 4);
    put(&bytes, device, 1);
    put(&bytes, sync, 1);
    put(&bytes, class_, 1);
    put(&bytes, 0, 1);
    memcpy(handle, bytes.at, 16);
}

/* The fixed header, the shape and a byte_offset of 0. */
static void begin_descriptor(struct Bytes *bytes, uint32_t flags, uint8_t type, uint8_t layout,
                             uint32_t rank, const uint64_t *shape) {
    uint32_t at;
    memset(bytes, 0, sizeof *bytes);
    put(bytes, 0x59525248, 4);
    put(bytes, 1, 2);
    put(bytes, 0, 4);
    put(bytes, flags, 4);
    put(bytes, type, 1);
    put(bytes, layout, 1);
    put(bytes, rank, 4);
    for (at = 0; at < rank; ++at) put(bytes, shape[at], 8);
    put(bytes, 0, 8);
}

static void end_descriptor(struct Bytes *bytes) {
    uint32_t length = bytes->length;
    bytes->length = 6;
    put(bytes, length, 4);
    bytes->length = length;
}

#endif
