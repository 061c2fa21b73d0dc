/* What consumer.c and consumer.cpp offer to the tests. */

#ifndef TEST_CONSUMER_H
#define TEST_CONSUMER_H

#include "hurray_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Waits for the events of the test's driver. */
typedef int32_t (*Wait)(uint64_t event, uint64_t value);

/* Takes a tensor over, waits for it, adds up its floats (those of its first buffer, and of its
 * members), and releases everything once. A stream is taken to be ordered when it is `stream`. */
int32_t test_consume(struct HurrayTensor *tensor, Wait wait, uint64_t stream, double *sum);

/* The same, moving each buffer out and releasing the tensor before the buffers are looked at. */
int32_t test_consume_apart(struct HurrayTensor *tensor, Wait wait, uint64_t stream, double *sum);

/* The same from a copy of the first four fields alone, at the end of a page of its own. */
int32_t test_release_truncated(const struct HurrayTensor *tensor);

#ifdef __cplusplus
}
#endif

#endif
