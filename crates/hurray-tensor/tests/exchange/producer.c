/* A producer written against hurray_abi.h alone. */

#include "producer.h"
#include "bytes.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Memory that a device and the CPU share; here the device is the CPU as well. */
#define DEVICE HURRAY_DEVICE_CUDA
#define CLASS HURRAY_CLASS_UNIFIED
#define MOST_BUFFERS 2

static _Atomic uint64_t made, tensors, buffers, events, waits;

void test_reset(void) {
    made = tensors = buffers = events = waits = 0;
}

void test_counts(struct Counts *out) {
    out->made = made;
    out->tensors = tensors;
    out->buffers = buffers;
    out->events = events;
    out->waits = waits;
}

/* ---- The driver -------------------------------------------------------------------------------- */

/* An event holds how far it has come. */
struct Event {
    _Atomic uint64_t value;
};

void test_signal(uint64_t event) {
    ((struct Event *)(uintptr_t)event)->value = 7;
}

int32_t test_wait(uint64_t event, uint64_t value) {
    struct Event *it = (struct Event *)(uintptr_t)event;
    waits++;
    return it->value >= (value ? value : 1) ? HURRAY_OK : HURRAY_SYSTEM;
}

/* ---- One tensor -------------------------------------------------------------------------------- */

struct Part {
    struct HurrayBuffer raw;
    struct Made *made;
    struct Event event;
    _Atomic int event_pending;
    void *memory;
};

/* Held by the tensor and by each of its buffers: whatever goes last frees it. */
struct Made {
    _Atomic uint64_t holders;
    struct Bytes descriptor;
    struct Part parts[MOST_BUFFERS];
    struct HurrayBuffer *buffers[MOST_BUFFERS];
    uint64_t buffer_count;
    struct HurrayTensor members[2];
    struct HurrayTensor *member_list[2];
    uint64_t member_count;
};

static void let_go(struct Made *it) {
    if (atomic_fetch_sub(&it->holders, 1) == 1) free(it);
}

static void release_event_of(struct Part *part) {
    if (atomic_exchange(&part->event_pending, 0)) events++;
}

static void release_event(struct HurraySync *self) {
    release_event_of(self->event_context);
    self->release_event = NULL;
}

static void release_buffer(struct HurrayBuffer *self) {
    struct Part *part = self->private_data;
    self->release = NULL;
    release_event_of(part);
    free(part->memory);
    buffers++;
    let_go(part->made);
}

static int32_t release_buffer_after(struct HurrayBuffer *self, struct HurraySync *done) {
    if (!done || done->device_tag != DEVICE || (done->event == 0) == (done->stream == 0))
        return HURRAY_MISUSE;
    if (done->event) {
        /* A driver would order the freeing behind it; this one's events have come by now. */
        if (done->release_event) done->release_event(done);
        done->release_event = NULL;
    }
    release_buffer(self);
    return HURRAY_OK;
}

static void release_tensor(struct HurrayTensor *self) {
    struct Made *it = self->private_data;
    uint64_t at;
    self->release = NULL;
    for (at = 0; at < it->buffer_count; ++at)
        if (it->buffers[at]->release) it->buffers[at]->release(it->buffers[at]);
    for (at = 0; at < it->member_count; ++at)
        if (it->members[at].release) it->members[at].release(&it->members[at]);
    tensors++;
    let_go(it);
}

static struct Made *begin(void) {
    struct Made *it = calloc(1, sizeof *it);
    if (it) it->holders = 1;
    return it;
}

/* Adds a buffer of `size` bytes, which is announced in the descriptor as well. */
static struct Part *add(struct Made *it, uint64_t size, uint8_t device, uint8_t sync, uint8_t class_) {
    struct Part *part = &it->parts[it->buffer_count];
    part->made = it;
    part->memory = size ? aligned_alloc(64, (size + 63) & ~UINT64_C(63)) : NULL;
    part->raw.abi_version = HURRAY_ABI_VERSION;
    part->raw.struct_size = sizeof part->raw;
    part->raw.release = release_buffer;
    part->raw.release_after = device == DEVICE ? release_buffer_after : NULL;
    part->raw.private_data = part;
    put_handle(part->raw.handle, size, device, sync, class_);
    part->raw.host = part->memory;
    part->raw.address = (uint64_t)(uintptr_t)part->memory;
    part->raw.flags = HURRAY_BUFFER_READ_ONLY;
    part->raw.sync.device_tag = device;
    it->buffers[it->buffer_count++] = &part->raw;
    it->holders++;
    memcpy(it->descriptor.at + it->descriptor.length, part->raw.handle, 16);
    it->descriptor.length += 16;
    return part;
}

static void end(struct Made *it, struct HurrayTensor *out) {
    end_descriptor(&it->descriptor);
    memset(out, 0, sizeof *out);
    out->abi_version = HURRAY_ABI_VERSION;
    out->struct_size = sizeof *out;
    out->release = release_tensor;
    out->private_data = it;
    out->descriptor = it->descriptor.at;
    out->descriptor_length = it->descriptor.length;
    out->buffer_count = it->buffer_count;
    out->buffers = it->buffer_count ? it->buffers : NULL;
    out->member_count = it->member_count;
    out->members = it->member_count ? it->member_list : NULL;
    made++;
}

static void fill(struct Part *part, uint32_t first, uint32_t count) {
    float *numbers = part->memory;
    uint32_t at;
    for (at = 0; at < count; ++at) numbers[at] = (float)(first + at);
}

/* float32 [3, 4], ready in one way or another. */
static int32_t make_dense(uint8_t sync, uint8_t kind, uint64_t stream, struct HurrayTensor *out) {
    static const uint64_t shape[] = {3, 4};
    struct Made *it = begin();
    struct Part *part;
    int ready = sync == HURRAY_SYNC_PRODUCER_SYNCED;
    if (!it) return HURRAY_OUT_OF_MEMORY;
    begin_descriptor(&it->descriptor, 0, 0x03, 0x01, 2, shape);
    put(&it->descriptor, 1, 1);
    part = add(it, 48, ready ? HURRAY_DEVICE_CPU : DEVICE, sync, ready ? HURRAY_CLASS_STANDARD : CLASS);
    fill(part, 0, 12);
    if (sync == HURRAY_SYNC_EVENT) {
        part->raw.sync.event_kind = kind;
        part->raw.sync.event = (uint64_t)(uintptr_t)&part->event;
        part->raw.sync.event_value = kind == HURRAY_EVENT_TIMELINE ? 7 : 0;
        part->raw.sync.release_event = release_event;
        part->raw.sync.event_context = part;
        part->event_pending = 1;
    }
    if (sync == HURRAY_SYNC_CONSUMER_STREAM) part->raw.sync.stream = stream;
    end(it, out);
    return HURRAY_OK;
}

/* One half of [2, 4] as a member. */
static void make_half(uint64_t row, struct HurrayTensor *out) {
    static const uint64_t shape[] = {1, 4};
    struct Made *it = begin();
    struct Part *part;
    if (!it) abort();
    begin_descriptor(&it->descriptor, 2, 0x03, 0x01, 2, shape);
    put(&it->descriptor, 1, 1);
    part = add(it, 16, HURRAY_DEVICE_CPU, HURRAY_SYNC_PRODUCER_SYNCED, HURRAY_CLASS_STANDARD);
    fill(part, (uint32_t)row * 4, 4);
    put(&it->descriptor, 2, 8);
    put(&it->descriptor, 4, 8);
    put(&it->descriptor, row, 8);
    put(&it->descriptor, 0, 8);
    end(it, out);
}

/* A partition of two halves. */
static int32_t make_composite(struct HurrayTensor *out) {
    static const uint64_t shape[] = {2, 4};
    struct Made *it = begin();
    if (!it) return HURRAY_OUT_OF_MEMORY;
    begin_descriptor(&it->descriptor, 0, 0x03, 0x0B, 2, shape);
    put(&it->descriptor, 1, 4);
    put(&it->descriptor, 2, 4);
    put(&it->descriptor, 0, 1);
    for (it->member_count = 0; it->member_count < 2; ++it->member_count) {
        make_half(it->member_count, &it->members[it->member_count]);
        it->member_list[it->member_count] = &it->members[it->member_count];
    }
    end(it, out);
    return HURRAY_OK;
}

static int32_t make_quantized(struct HurrayTensor *out);

/* A group of a partition and a quantized tensor. */
static int32_t make_nested(struct HurrayTensor *out) {
    static const uint64_t shape[] = {1};
    struct Made *it = begin();
    if (!it) return HURRAY_OUT_OF_MEMORY;
    begin_descriptor(&it->descriptor, 0, 0x03, 0x0B, 1, shape);
    put(&it->descriptor, 3, 4);
    put(&it->descriptor, 2, 4);
    put(&it->descriptor, 0, 1);
    if (make_composite(&it->members[0]) || make_quantized(&it->members[1])) abort();
    for (it->member_count = 0; it->member_count < 2; ++it->member_count)
        it->member_list[it->member_count] = &it->members[it->member_count];
    end(it, out);
    return HURRAY_OK;
}

/* A group of one group of one group and so on, around a quantized tensor. */
static int32_t make_deep(uint32_t heads, struct HurrayTensor *out) {
    static const uint64_t shape[] = {1};
    struct Made *it;
    if (heads == 0) return make_quantized(out);
    it = begin();
    if (!it) return HURRAY_OUT_OF_MEMORY;
    begin_descriptor(&it->descriptor, 0, 0x03, 0x0B, 1, shape);
    put(&it->descriptor, 3, 4);
    put(&it->descriptor, 1, 4);
    put(&it->descriptor, 0, 1);
    if (make_deep(heads - 1, &it->members[0])) abort();
    it->member_list[0] = &it->members[0];
    it->member_count = 1;
    end(it, out);
    return HURRAY_OK;
}

/* int4 [3, 40] in blocks of 32 with scales of their own, 1 to 6. */
static int32_t make_quantized(struct HurrayTensor *out) {
    static const uint64_t shape[] = {3, 40};
    struct Made *it = begin();
    struct Part *data, *scales;
    if (!it) return HURRAY_OUT_OF_MEMORY;
    begin_descriptor(&it->descriptor, 1, 0x48, 0x01, 2, shape);
    put(&it->descriptor, 2, 1);
    data = add(it, 60, HURRAY_DEVICE_CPU, HURRAY_SYNC_PRODUCER_SYNCED, HURRAY_CLASS_STANDARD);
    memset(data->memory, 0x21, 60);
    scales = add(it, 24, HURRAY_DEVICE_CPU, HURRAY_SYNC_PRODUCER_SYNCED, HURRAY_CLASS_STANDARD);
    fill(scales, 1, 6);
    put(&it->descriptor, 24, 4);
    put(&it->descriptor, 0x03, 1);
    put(&it->descriptor, 1, 1);
    put(&it->descriptor, 1, 2);
    put(&it->descriptor, 1, 4);
    put(&it->descriptor, 32, 4);
    put(&it->descriptor, 1, 4);
    put(&it->descriptor, 0xFFFFFFFF, 4);
    put(&it->descriptor, 0x03, 4);
    end(it, out);
    return HURRAY_OK;
}

/* float32 [0, 4]: no bytes, and no address. */
static int32_t make_empty(struct HurrayTensor *out) {
    static const uint64_t shape[] = {0, 4};
    struct Made *it = begin();
    if (!it) return HURRAY_OUT_OF_MEMORY;
    begin_descriptor(&it->descriptor, 0, 0x03, 0x01, 2, shape);
    put(&it->descriptor, 1, 1);
    add(it, 0, HURRAY_DEVICE_CPU, HURRAY_SYNC_PRODUCER_SYNCED, HURRAY_CLASS_STANDARD);
    end(it, out);
    return HURRAY_OK;
}

int32_t test_make(uint32_t which, struct HurrayTensor *out) {
    switch (which) {
    case MAKE_SYNCED: return make_dense(HURRAY_SYNC_PRODUCER_SYNCED, 0, 0, out);
    case MAKE_MULTI_WAIT: return make_dense(HURRAY_SYNC_EVENT, HURRAY_EVENT_MULTI_WAIT, 0, out);
    case MAKE_TIMELINE: return make_dense(HURRAY_SYNC_EVENT, HURRAY_EVENT_TIMELINE, 0, out);
    case MAKE_BINARY: return make_dense(HURRAY_SYNC_EVENT, HURRAY_EVENT_BINARY, 0, out);
    case MAKE_STREAM: return make_dense(HURRAY_SYNC_CONSUMER_STREAM, 0, 0x5EED, out);
    case MAKE_COMPOSITE: return make_composite(out);
    case MAKE_QUANTIZED: return make_quantized(out);
    case MAKE_EMPTY: return make_empty(out);
    case MAKE_NESTED: return make_nested(out);
    case MAKE_DEEP: return make_deep(9, out);
    default: return HURRAY_MISUSE;
    }
}

/* ---- A producer -------------------------------------------------------------------------------- */

struct Making {
    struct Bytes descriptor;
    const char *error;
};

static void release_producer(struct HurrayProducer *self) {
    free(self->private_data);
    self->release = NULL;
}

static int32_t describe(struct HurrayProducer *self, const uint8_t **descriptor, uint64_t *length) {
    struct Making *making = self->private_data;
    *descriptor = making->descriptor.at;
    *length = making->descriptor.length;
    return HURRAY_OK;
}

static int32_t refuse(struct Making *making, int32_t status, const char *error) {
    making->error = error;
    return status;
}

static int32_t produce(struct HurrayProducer *self, const struct HurrayRequest *request,
                       struct HurrayTensor *out) {
    struct Making *making = self->private_data;
    const uint32_t syncs = request->accepted_syncs, kinds = request->accepted_event_kinds;
    const uint64_t known =
        HURRAY_REQUEST_ALLOW_COPY | HURRAY_REQUEST_WRITABLE | HURRAY_REQUEST_MUST_COPY;
    const int any = request->device_tag == HURRAY_DEVICE_ANY;
    const int on_device = (any || request->device_tag == DEVICE) &&
                          (request->accepted_classes & HURRAY_ACCEPT_CLASS(CLASS));
    const int on_cpu = (any || request->device_tag == HURRAY_DEVICE_CPU) &&
                       (request->accepted_classes & HURRAY_ACCEPT_CLASS(HURRAY_CLASS_STANDARD));
    out->release = NULL;
    making->error = NULL;
    if (request->abi_version != HURRAY_ABI_VERSION || request->struct_size < sizeof *request)
        return refuse(making, HURRAY_UNSUPPORTED, "a request of another version");
    if (out->struct_size < sizeof *out) return refuse(making, HURRAY_MISUSE, "no room");
    if (request->flags & ~known) return refuse(making, HURRAY_UNSUPPORTED, "an unknown flag");
    if (request->flags & HURRAY_REQUEST_WRITABLE)
        return refuse(making, HURRAY_REFUSED, "the data is read-only");
    if (request->min_alignment > 64) return refuse(making, HURRAY_REFUSED, "aligned to 64");
    if (on_device && request->stream && (syncs & HURRAY_ACCEPT(HURRAY_SYNC_CONSUMER_STREAM)))
        return make_dense(HURRAY_SYNC_CONSUMER_STREAM, 0, request->stream, out);
    if (on_device && (syncs & HURRAY_ACCEPT(HURRAY_SYNC_EVENT)) &&
        (kinds & HURRAY_ACCEPT(HURRAY_EVENT_MULTI_WAIT)))
        return make_dense(HURRAY_SYNC_EVENT, HURRAY_EVENT_MULTI_WAIT, 0, out);
    if (on_cpu && (syncs & HURRAY_ACCEPT(HURRAY_SYNC_PRODUCER_SYNCED)))
        return make_dense(HURRAY_SYNC_PRODUCER_SYNCED, 0, 0, out);
    return refuse(making, HURRAY_REFUSED, "nothing that the request accepts can be had");
}

static const char *last_error(struct HurrayProducer *self) {
    struct Making *making = self->private_data;
    return making->error;
}

int32_t test_producer(struct HurrayProducer *out) {
    static const uint64_t shape[] = {3, 4};
    struct Making *making = calloc(1, sizeof *making);
    if (!making) return HURRAY_OUT_OF_MEMORY;
    begin_descriptor(&making->descriptor, 0, 0x03, 0x01, 2, shape);
    put(&making->descriptor, 1, 1);
    put_handle(making->descriptor.at + making->descriptor.length, 48, HURRAY_DEVICE_CPU, 0, 0);
    making->descriptor.length += 16;
    end_descriptor(&making->descriptor);
    memset(out, 0, sizeof *out);
    out->abi_version = HURRAY_ABI_VERSION;
    out->struct_size = sizeof *out;
    out->release = release_producer;
    out->private_data = making;
    out->describe = describe;
    out->produce = produce;
    out->last_error = last_error;
    return HURRAY_OK;
}
