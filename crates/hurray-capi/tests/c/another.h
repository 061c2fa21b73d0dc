/* A library that knows hurray_abi.h and nothing of this one; how often it was asked to release. */

#ifndef ANOTHER_H
#define ANOTHER_H

#include "../../../hurray-tensor/tests/exchange/producer.c"

#include "check.h"

/* So many tensors, buffers and events were released since test_reset. */
static inline void released(uint64_t of_tensors, uint64_t of_buffers, uint64_t of_events)
{
    struct Counts counts;
    test_counts(&counts);
    if (counts.tensors != of_tensors || counts.buffers != of_buffers || counts.events != of_events) {
        fprintf(stderr, "released: %d tensors, %d buffers, %d events\n", (int)counts.tensors,
                (int)counts.buffers, (int)counts.events);
    }
    CHECK(counts.tensors == of_tensors);
    CHECK(counts.buffers == of_buffers && counts.events == of_events);
}

static inline HurrayTensor made_by_another(uint32_t which)
{
    HurrayTensor made = {0};
    test_reset();
    OK(test_make(which, &made));
    return made;
}

#endif
