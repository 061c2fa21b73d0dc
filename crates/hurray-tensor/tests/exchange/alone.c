/* Producer and consumer in one program: every tensor by every way of consuming it, each part of it
 * released once. For checkers of memory to run. */

#include "consumer.h"
#include "producer.h"

#include <stdio.h>
#include <string.h>

typedef int32_t (*Consume)(struct HurrayTensor *, Wait, uint64_t, double *);

static int failures;

static void expect(const char *what, uint32_t which, double found, double wanted) {
    if (found == wanted) return;
    printf("tensor %u: %s is %g, not %g\n", which, what, found, wanted);
    ++failures;
}

/* The sum of each tensor's floats, and how many buffers and events it has. */
static const struct {
    uint32_t which, tensors, buffers, events;
    double sum;
} cases[] = {
    {MAKE_SYNCED, 1, 1, 0, 66},    {MAKE_MULTI_WAIT, 1, 1, 1, 66}, {MAKE_TIMELINE, 1, 1, 1, 66},
    {MAKE_BINARY, 1, 1, 1, 66},    {MAKE_STREAM, 1, 1, 0, 66},
#ifndef ONLY_DENSE
    {MAKE_COMPOSITE, 3, 2, 0, 28}, {MAKE_QUANTIZED, 1, 2, 0, -1},  {MAKE_EMPTY, 1, 1, 0, 0},
    {MAKE_NESTED, 5, 4, 0, -1},
#endif
};

static void check_counts(size_t at) {
    struct Counts counts;
    test_counts(&counts);
    expect("made", cases[at].which, (double)counts.made, cases[at].tensors);
    expect("released", cases[at].which, (double)counts.tensors, cases[at].tensors);
    expect("buffers released", cases[at].which, (double)counts.buffers, cases[at].buffers);
    expect("events released", cases[at].which, (double)counts.events, cases[at].events);
}

static void consume(size_t at, Consume how) {
    struct HurrayTensor tensor;
    double sum = 0;
    test_reset();
    expect("status", cases[at].which, test_make(cases[at].which, &tensor), HURRAY_OK);
    if (cases[at].events) test_signal(tensor.buffers[0]->sync.event);
    expect("consumed", cases[at].which, how(&tensor, test_wait, 0x5EED, &sum), HURRAY_OK);
    if (cases[at].sum >= 0) expect("sum", cases[at].which, sum, cases[at].sum);
    check_counts(at);
}

static void release(size_t at) {
    struct HurrayTensor tensor;
    test_reset();
    expect("status", cases[at].which, test_make(cases[at].which, &tensor), HURRAY_OK);
    expect("truncated", cases[at].which, test_release_truncated(&tensor), HURRAY_OK);
    check_counts(at);
}

static void produce(void) {
    struct HurrayProducer producer;
    struct HurrayTensor out;
    struct HurrayRequest request;
    const uint8_t *descriptor;
    uint64_t length;
    double sum = 0;
    memset(&request, 0, sizeof request);
    request.abi_version = HURRAY_ABI_VERSION;
    request.struct_size = sizeof request;
    request.accepted_syncs = HURRAY_ACCEPT(HURRAY_SYNC_PRODUCER_SYNCED);
    request.accepted_classes = ~UINT64_C(0);
    request.device_tag = HURRAY_DEVICE_ANY;
    request.device_ordinal = -1;
    request.queue_family = HURRAY_NO_QUEUE_FAMILY;
    memset(&out, 0, sizeof out);
    out.abi_version = HURRAY_ABI_VERSION;
    out.struct_size = sizeof out;
    expect("producer", 100, test_producer(&producer), HURRAY_OK);
    expect("described", 100, producer.describe(&producer, &descriptor, &length), HURRAY_OK);
    expect("length", 100, (double)length, 61);
    expect("produced", 100, producer.produce(&producer, &request, &out), HURRAY_OK);
    request.flags = HURRAY_REQUEST_WRITABLE;
    {
        struct HurrayTensor none = out;
        none.release = NULL;
        expect("refused", 100, producer.produce(&producer, &request, &none), HURRAY_REFUSED);
        expect("left alone", 100, none.release == NULL, 1);
        expect("said why", 100, producer.last_error(&producer) != NULL, 1);
    }
    producer.release(&producer);
    expect("producer released", 100, producer.release == NULL, 1);
    expect("consumed", 100, test_consume(&out, test_wait, 0, &sum), HURRAY_OK);
    expect("sum", 100, sum, 66);
}

int main(void) {
    size_t at;
    for (at = 0; at < sizeof cases / sizeof *cases; ++at) {
        consume(at, test_consume);
        consume(at, test_consume_apart);
        release(at);
    }
    produce();
    printf("%d failures\n", failures);
    return failures != 0;
}
