/* A consumer written against hurray_abi.h alone. */

#include "consumer.h"

#include <stdlib.h>
#include <string.h>

static uint64_t size_of(const struct HurrayBuffer *buffer) {
    uint64_t size = 0;
    int at;
    for (at = 7; at >= 0; --at) size = size << 8 | buffer->handle[at];
    return size;
}

/* Makes the bytes ready for the host, and lets go of the event. */
static int32_t make_ready(struct HurrayBuffer *buffer, Wait wait, uint64_t stream) {
    struct HurraySync *sync = &buffer->sync;
    int32_t status = HURRAY_OK;
    if (sync->device_tag != buffer->handle[12]) return HURRAY_PEER;
    switch (buffer->handle[13]) {
    case HURRAY_SYNC_PRODUCER_SYNCED:
        return sync->event || sync->stream || sync->release_event ? HURRAY_PEER : HURRAY_OK;
    case HURRAY_SYNC_EVENT:
        if (!sync->event || !sync->release_event || sync->stream) return HURRAY_PEER;
        status = wait(sync->event, sync->event_value);
        sync->release_event(sync);
        /* It says so in the struct that it was given. */
        return sync->release_event ? HURRAY_PEER : status;
    case HURRAY_SYNC_CONSUMER_STREAM:
        return sync->stream == stream && !sync->event ? HURRAY_OK : HURRAY_PEER;
    default:
        return HURRAY_UNSUPPORTED;
    }
}

/* Where the first element is in the first buffer. What is in front of it is promised to nobody. */
static uint64_t byte_offset(const struct HurrayTensor *tensor) {
    uint64_t offset = 0;
    uint32_t rank = 0;
    int at;
    for (at = 3; at >= 0; --at) rank = rank << 8 | tensor->descriptor[16 + at];
    for (at = 7; at >= 0; --at) offset = offset << 8 | tensor->descriptor[20 + 8 * rank + (uint32_t)at];
    return offset;
}

static int32_t add_up(struct HurrayBuffer *buffer, uint64_t offset, Wait wait, uint64_t stream,
                      double *sum) {
    const uint64_t size = size_of(buffer);
    const unsigned char *first = buffer->host;
    const int32_t status = make_ready(buffer, wait, stream);
    if (status != HURRAY_OK) return status;
    if (size && ((uintptr_t)first % 64 || !first)) return HURRAY_PEER;
    for (; offset + sizeof(float) <= size; offset += sizeof(float)) {
        float number;
        memcpy(&number, first + offset, sizeof number);
        *sum += (double)number;
    }
    return HURRAY_OK;
}

static int is_whole(const struct HurrayTensor *tensor) {
    return tensor->release && tensor->abi_version == HURRAY_ABI_VERSION &&
           tensor->struct_size >= sizeof *tensor && tensor->flags == 0 && tensor->descriptor &&
           memcmp(tensor->descriptor, "HRRY", 4) == 0;
}

/* Moves a struct out: no more of it than is known here, which its size says then. */
static struct HurrayTensor move_tensor(struct HurrayTensor *from) {
    struct HurrayTensor moved = *from;
    moved.struct_size = sizeof moved;
    from->release = NULL;
    return moved;
}

static struct HurrayBuffer move_buffer(struct HurrayBuffer *from) {
    struct HurrayBuffer moved = *from;
    moved.struct_size = sizeof moved;
    from->release = NULL;
    return moved;
}

int32_t test_consume(struct HurrayTensor *from, Wait wait, uint64_t stream, double *sum) {
    struct HurrayTensor tensor;
    int32_t status = HURRAY_OK;
    uint64_t at;
    if (!from->release) return HURRAY_MISUSE;
    if (!is_whole(from)) {
        from->release(from);
        return HURRAY_UNSUPPORTED;
    }
    tensor = move_tensor(from);
    if (tensor.buffer_count)
        status = add_up(tensor.buffers[0], byte_offset(&tensor), wait, stream, sum);
    for (at = 0; status == HURRAY_OK && at < tensor.member_count; ++at)
        status = test_consume(tensor.members[at], wait, stream, sum);
    tensor.release(&tensor);
    return tensor.release ? HURRAY_PEER : status;
}

int32_t test_consume_apart(struct HurrayTensor *from, Wait wait, uint64_t stream, double *sum) {
    struct HurrayBuffer buffers[8];
    struct HurrayTensor members[8];
    uint64_t buffer_count, member_count, offset, at;
    int32_t status = HURRAY_OK;
    if (!is_whole(from) || from->buffer_count > 8 || from->member_count > 8) {
        if (from->release) from->release(from);
        return HURRAY_UNSUPPORTED;
    }
    buffer_count = from->buffer_count;
    member_count = from->member_count;
    offset = byte_offset(from);
    for (at = 0; at < buffer_count; ++at) buffers[at] = move_buffer(from->buffers[at]);
    for (at = 0; at < member_count; ++at) members[at] = move_tensor(from->members[at]);
    from->release(from);
    for (at = 0; at < buffer_count; ++at) {
        double none = 0;
        const int32_t got = add_up(&buffers[at], at ? 0 : offset, wait, stream, at ? &none : sum);
        if (got != HURRAY_OK) status = got;
        buffers[at].release(&buffers[at]);
        if (buffers[at].release) status = HURRAY_PEER;
    }
    for (at = 0; at < member_count; ++at) {
        const int32_t got = test_consume_apart(&members[at], wait, stream, sum);
        if (got != HURRAY_OK) status = got;
    }
    return from->release ? HURRAY_PEER : status;
}

int32_t test_release_truncated(const struct HurrayTensor *tensor) {
    /* What is behind the first four fields is not there: a checker of memory would notice. */
    const size_t head = offsetof(struct HurrayTensor, descriptor);
    struct HurrayTensor *copy = malloc(head);
    int32_t status;
    if (!copy) return HURRAY_OUT_OF_MEMORY;
    memcpy(copy, tensor, head);
    copy->struct_size = (uint32_t)head;
    copy->release(copy);
    status = copy->release ? HURRAY_PEER : HURRAY_OK;
    free(copy);
    return status;
}
