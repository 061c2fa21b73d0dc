/* What stands between a producer and a consumer: structs held by the owners of hurray_abi.hpp, and
 * handed on from there. */

#ifndef TEST_MIDDLE_H
#define TEST_MIDDLE_H

#include "hurray_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Each moves `from` into an owner, from there to another, and from there to `out`. */
void middle_tensor(struct HurrayTensor *from, struct HurrayTensor *out);
void middle_buffer(struct HurrayBuffer *from, struct HurrayBuffer *out);
void middle_producer(struct HurrayProducer *from, struct HurrayProducer *out);

/* A producer that hands out what it was given: once. */
int32_t middle_produce(struct HurrayTensor *from, struct HurrayTensor *out);

#ifdef __cplusplus
}
#endif

#endif
