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

static int32_t add_up(struct HurrayBuffer *buffer, Wait wait, uint64_t stream, double *sum) {
    const uint64_t size = size_of(buffer);
    const float *numbers = buffer->host;
    uint64_t at;
    const int32_t status = make_ready(buffer, wait, stream);
    if (status != HURRAY_OK) return status;
    if (size && ((uintptr_t)numbers % 64 || !numbers)) return HURRAY_PEER;
    for (at = 0; at < size / sizeof *numbers; ++at) *sum += (double)numbers[at];
    return HURRAY_OK;
}

static int is_whole(const struct HurrayTensor *tensor) {
    return tensor->release && tensor->abi_version == HURRAY_ABI_VERSION &&
           tensor->struct_size >= sizeof *tensor && tensor->flags == 0 && tensor->descriptor &&
           memcmp(tensor->descriptor, "HRRY", 4) == 0;
}

int32_t test_consume(struct HurrayTensor *from, Wait wait, uint64_t stream, double *sum) {
    struct HurrayTensor tensor = *from;
    int32_t status = is_whole(from) ? HURRAY_OK : HURRAY_UNSUPPORTED;
    uint64_t at;
    if (!from->release) return HURRAY_MISUSE;
    from->release = NULL;
    if (status == HURRAY_OK && tensor.buffer_count)
        status = add_up(tensor.buffers[0], wait, stream, sum);
    for (at = 0; status == HURRAY_OK && at < tensor.member_count; ++at)
        status = test_consume(tensor.members[at], wait, stream, sum);
    tensor.release(&tensor);
    return tensor.release ? HURRAY_PEER : status;
}

int32_t test_consume_apart(struct HurrayTensor *from, Wait wait, uint64_t stream, double *sum) {
    struct HurrayBuffer buffers[8];
    struct HurrayTensor members[8];
    uint64_t buffer_count, member_count, at;
    int32_t status = HURRAY_OK;
    if (!is_whole(from) || from->buffer_count > 8 || from->member_count > 8) {
        if (from->release) from->release(from);
        return HURRAY_UNSUPPORTED;
    }
    buffer_count = from->buffer_count;
    member_count = from->member_count;
    for (at = 0; at < buffer_count; ++at) {
        buffers[at] = *from->buffers[at];
        from->buffers[at]->release = NULL;
    }
    for (at = 0; at < member_count; ++at) {
        members[at] = *from->members[at];
        from->members[at]->release = NULL;
    }
    from->release(from);
    for (at = 0; at < buffer_count; ++at) {
        double none = 0;
        const int32_t got = add_up(&buffers[at], wait, stream, at ? &none : sum);
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
    copy->release(copy);
    status = copy->release ? HURRAY_PEER : HURRAY_OK;
    free(copy);
    return status;
}
