// The same consumer and producer in C++, by the owners of hurray_abi.hpp.

#include "hurray_abi.hpp"

#include "consumer.h"
#include "producer.h"

#include "bytes.h"

#include <atomic>
#include <cstdlib>

using hurray::abi::Buffer;
using hurray::abi::Error;
using hurray::abi::Producer;
using hurray::abi::Source;
using hurray::abi::Tensor;

namespace {

std::atomic<std::uint64_t> made, buffers, events, waits;

void ready(Buffer &buffer, Wait wait, std::uint64_t stream) {
    const auto mode = buffer.sync_mode();
    if (mode == HURRAY_SYNC_EVENT && wait(buffer->sync.event, buffer->sync.event_value) != HURRAY_OK)
        throw Error(HURRAY_SYSTEM, "the wait failed");
    if (mode == HURRAY_SYNC_CONSUMER_STREAM && buffer->sync.stream != stream)
        throw Error(HURRAY_PEER, "another stream than was named");
    buffer.release_event();
}

// Where the first element is in the first buffer. What is in front of it is promised to nobody.
std::uint64_t byte_offset(const Tensor &tensor) {
    std::uint32_t rank = 0;
    std::uint64_t offset = 0;
    for (int at = 3; at >= 0; --at) rank = rank << 8 | tensor->descriptor[16 + at];
    for (int at = 7; at >= 0; --at) offset = offset << 8 | tensor->descriptor[20 + 8 * rank + at];
    return offset;
}

void add_up(Tensor tensor, Wait wait, std::uint64_t stream, double &sum) {
    if (!tensor.understood()) throw Error(HURRAY_UNSUPPORTED, "an unknown version");
    if (tensor->buffer_count) {
        Buffer buffer = tensor.take_buffer(0);
        ready(buffer, wait, stream);
        const auto *first = static_cast<const unsigned char *>(buffer->host);
        float number;
        for (auto at = byte_offset(tensor); at + sizeof number <= buffer.size(); at += sizeof number) {
            std::memcpy(&number, first + at, sizeof number);
            sum += number;
        }
    }
    for (std::uint64_t at = 0; at < tensor->member_count; ++at)
        add_up(tensor.take_member(at), wait, stream, sum);
}

template <class Work>
std::int32_t answered(Work work) noexcept {
    try {
        work();
        return HURRAY_OK;
    } catch (const Error &error) {
        return error.status();
    } catch (...) {
        return HURRAY_PANIC;
    }
}

std::vector<std::uint8_t> dense(const std::uint8_t *handle) {
    const std::uint64_t shape[] = {3, 4};
    Bytes bytes;
    begin_descriptor(&bytes, 0, 0x03, 0x01, 2, shape);
    put(&bytes, 1, 1);
    std::memcpy(bytes.at + bytes.length, handle, 16);
    bytes.length += 16;
    end_descriptor(&bytes);
    return {bytes.at, bytes.at + bytes.length};
}

Tensor make(std::uint8_t sync, std::uint8_t kind, std::uint64_t stream) {
    const bool synced = sync == HURRAY_SYNC_PRODUCER_SYNCED;
    auto *numbers = static_cast<float *>(std::aligned_alloc(64, 64));
    auto *event = new std::atomic<std::uint64_t>(0);
    for (int at = 0; at < 12; ++at) numbers[at] = static_cast<float>(at);
    Source source;
    put_handle(source.raw.handle, 48, synced ? HURRAY_DEVICE_CPU : HURRAY_DEVICE_CUDA, sync,
               synced ? HURRAY_CLASS_STANDARD : HURRAY_CLASS_UNIFIED);
    source.raw.host = numbers;
    source.raw.address = reinterpret_cast<std::uintptr_t>(numbers);
    source.raw.flags = HURRAY_BUFFER_READ_ONLY;
    source.raw.sync.stream = stream;
    if (sync == HURRAY_SYNC_EVENT) {
        source.raw.sync.event_kind = kind;
        source.raw.sync.event = reinterpret_cast<std::uintptr_t>(event);
        source.raw.sync.event_value = kind == HURRAY_EVENT_TIMELINE ? 7 : 0;
    }
    source.on_release_event = [] { ++events; };
    source.on_release = [numbers, event] {
        ++buffers;
        std::free(numbers);
        delete event;
    };
    const auto descriptor = dense(source.raw.handle);
    std::vector<Source> sources;
    sources.push_back(std::move(source));
    ++made;
    return hurray::abi::export_tensor(descriptor, std::move(sources));
}

} // namespace

extern "C" {

void test_reset(void) {
    made = buffers = events = waits = 0;
}

void test_counts(Counts *out) {
    *out = {made, made, buffers, events, waits};
}

int32_t test_make(uint32_t which, HurrayTensor *out) {
    return answered([=] {
        switch (which) {
        case MAKE_SYNCED: return make(HURRAY_SYNC_PRODUCER_SYNCED, 0, 0).move_to(out);
        case MAKE_MULTI_WAIT: return make(HURRAY_SYNC_EVENT, HURRAY_EVENT_MULTI_WAIT, 0).move_to(out);
        case MAKE_TIMELINE: return make(HURRAY_SYNC_EVENT, HURRAY_EVENT_TIMELINE, 0).move_to(out);
        case MAKE_BINARY: return make(HURRAY_SYNC_EVENT, HURRAY_EVENT_BINARY, 0).move_to(out);
        case MAKE_STREAM: return make(HURRAY_SYNC_CONSUMER_STREAM, 0, 0x5EED).move_to(out);
        default: throw Error(HURRAY_MISUSE, "not made in C++");
        }
    });
}

int32_t test_producer(HurrayProducer *out) {
    return answered([=] {
        std::uint8_t handle[16];
        put_handle(handle, 48, HURRAY_DEVICE_CPU, 0, 0);
        auto produce = [](const HurrayRequest &request) {
            if (request.flags & HURRAY_REQUEST_WRITABLE)
                throw Error(HURRAY_REFUSED, "the data is read-only");
            if (request.min_alignment > 64) throw std::runtime_error("thrown, and caught at the edge");
            if (request.accepted_syncs & HURRAY_ACCEPT(HURRAY_SYNC_PRODUCER_SYNCED))
                return make(HURRAY_SYNC_PRODUCER_SYNCED, 0, 0);
            throw Error(HURRAY_REFUSED, "nothing that the request accepts can be had");
        };
        hurray::abi::export_producer(dense(handle), produce).move_to(out);
    });
}

void test_signal(uint64_t event) {
    *reinterpret_cast<std::atomic<std::uint64_t> *>(event) = 7;
}

int32_t test_wait(uint64_t event, uint64_t value) {
    ++waits;
    const auto reached = reinterpret_cast<std::atomic<std::uint64_t> *>(event)->load();
    return reached >= (value ? value : 1) ? HURRAY_OK : HURRAY_SYSTEM;
}

int32_t test_consume(HurrayTensor *tensor, Wait wait, uint64_t stream, double *sum) {
    if (!tensor->release) return HURRAY_MISUSE;
    return answered([=] { add_up(Tensor(tensor), wait, stream, *sum); });
}

int32_t test_consume_apart(HurrayTensor *tensor, Wait wait, uint64_t stream, double *sum) {
    return test_consume(tensor, wait, stream, sum);
}

int32_t test_release_truncated(const HurrayTensor *tensor) {
    // Of a struct that is not understood there may be the first four fields alone.
    const std::size_t length = offsetof(HurrayTensor, descriptor);
    void *copy = std::malloc(length);
    if (!copy) return HURRAY_OUT_OF_MEMORY;
    std::memcpy(copy, tensor, length);
    auto *head = static_cast<HurrayTensor *>(copy);
    head->struct_size = static_cast<std::uint32_t>(length);
    Tensor taken(head);
    const bool was_taken = taken && !taken.understood() && !head->release;
    taken.reset();
    std::free(copy);
    return !was_taken || taken ? HURRAY_PEER : HURRAY_OK;
}
}
