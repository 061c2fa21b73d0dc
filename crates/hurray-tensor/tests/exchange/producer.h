/* What producer.c offers to the tests. */

#ifndef TEST_PRODUCER_H
#define TEST_PRODUCER_H

#include "hurray_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The tensors that test_make knows. */
#define MAKE_SYNCED 0
#define MAKE_MULTI_WAIT 1
#define MAKE_TIMELINE 2
#define MAKE_BINARY 3
#define MAKE_STREAM 4
#define MAKE_COMPOSITE 5
#define MAKE_QUANTIZED 6
#define MAKE_EMPTY 7
#define MAKE_NESTED 8
/* More heads in heads than the format allows. */
#define MAKE_DEEP 9

/* How often each was released. */
struct Counts {
    uint64_t made;
    uint64_t tensors;
    uint64_t buffers;
    uint64_t events;
    uint64_t waits;
};

void test_reset(void);
void test_counts(struct Counts *out);

/* Makes a tensor: twelve floats 0, 1, 2, .. but where its name says otherwise. */
int32_t test_make(uint32_t which, struct HurrayTensor *out);

/* A producer that meets a request with the first of: the stream, an event, synced memory. */
int32_t test_producer(struct HurrayProducer *out);

/* The test's driver: whether the event of a handle has come, and a wait for it. */
void test_signal(uint64_t event);
int32_t test_wait(uint64_t event, uint64_t value);

#ifdef __cplusplus
}
#endif

#endif
