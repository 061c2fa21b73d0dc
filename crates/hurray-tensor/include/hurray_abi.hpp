// hurray_abi.hpp: the structs of hurray_abi.h as C++17 owners. Optional, and nothing to link.
//
// Taking: Tensor, Buffer and Producer hold a struct that was moved to them, cannot be copied, and
// release it exactly once. Making: export_tensor() and export_producer() fill a struct whose
// callbacks run your functions. No exception crosses a callback: in `produce` it becomes a status
// and a text, in a release it ends there.

#ifndef HURRAY_ABI_HPP
#define HURRAY_ABI_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hurray_abi.h"

namespace hurray::abi {
// Libraries with different copies of this file can be in one process, where functions of one name
// are one function.
inline namespace revision_1 {

// ---- Taking ---------------------------------------------------------------------------------------

// A call answered with a status other than HURRAY_OK.
class Error : public std::runtime_error {
public:
    Error(std::int32_t status, const std::string &text) : std::runtime_error(text), status_(status) {}
    std::int32_t status() const noexcept { return status_; }

private:
    std::int32_t status_;
};

// Holds a struct with a release callback: moves it, never copies it, releases it once.
template <class Raw>
class Owned {
public:
    Owned() noexcept : raw_{} {}

    // Moves the struct out of `from`, which is released from then on. Of a longer one no more than is
    // known here; of one that is not understood no more than what releases it, for nothing else may
    // be there. `struct_size` says how much that was.
    explicit Owned(Raw *from) noexcept : raw_{} {
        constexpr std::size_t head = offsetof(Raw, private_data) + sizeof raw_.private_data;
        std::memcpy(&raw_, from, head);
        if (understood()) {
            raw_ = *from;
            cut(sizeof raw_);
        } else {
            cut(head);
        }
        from->release = nullptr;
    }

    Owned(Owned &&other) noexcept : Owned(&other.raw_) {}
    Owned &operator=(Owned &&other) noexcept {
        if (this != &other) {
            reset();
            other.move_to(&raw_);
        }
        return *this;
    }
    Owned(const Owned &) = delete;
    Owned &operator=(const Owned &) = delete;
    ~Owned() { reset(); }

    // Whether there is something to release.
    explicit operator bool() const noexcept { return raw_.release != nullptr; }

    // Releases it now.
    void reset() noexcept {
        if (raw_.release) raw_.release(&raw_);
        raw_.release = nullptr;
    }

    // Gives it away, in memory for all of the struct.
    void move_to(Raw *out) noexcept {
        cut(sizeof raw_);
        *out = raw_;
        raw_.release = nullptr;
    }

    // The struct, still owned here.
    Raw *get() noexcept { return &raw_; }
    const Raw *get() const noexcept { return &raw_; }
    Raw *operator->() noexcept { return &raw_; }
    const Raw *operator->() const noexcept { return &raw_; }

    // Whether this side knows the version, and the struct is as large as version 1's.
    bool understood() const noexcept {
        return raw_.abi_version == HURRAY_ABI_VERSION && raw_.struct_size >= sizeof(Raw);
    }

protected:
    Raw raw_;

private:
    // Whoever gets the struct reads as far as its size says.
    void cut(std::size_t size) noexcept {
        if (raw_.struct_size > size) raw_.struct_size = static_cast<std::uint32_t>(size);
    }
};

// A buffer moved out of a tensor.
class Buffer : public Owned<HurrayBuffer> {
public:
    using Owned::Owned;

    std::uint64_t size() const noexcept {
        std::uint64_t size = 0;
        for (int at = 7; at >= 0; --at) size = size << 8 | raw_.handle[at];
        return size;
    }
    std::uint8_t device() const noexcept { return raw_.handle[12]; }
    std::uint8_t sync_mode() const noexcept { return raw_.handle[13]; }
    std::uint8_t memory_class() const noexcept { return raw_.handle[14]; }

    // Says that the waits for the event are issued, or that there will be none.
    void release_event() noexcept {
        if (raw_.sync.release_event) raw_.sync.release_event(&raw_.sync);
        raw_.sync.release_event = nullptr;
    }

    // Releases the buffer behind an event or a stream of this side's, and its own event with it.
    // False: nothing changed.
    bool release_after(HurraySync *done) noexcept {
        if (!raw_.release || !raw_.release_after) return false;
        if (raw_.release_after(&raw_, done) != HURRAY_OK) return false;
        raw_.sync.release_event = nullptr;
        return true;
    }
};

class Tensor : public Owned<HurrayTensor> {
public:
    using Owned::Owned;

    // Moves a buffer out. It stays good after the tensor.
    Buffer take_buffer(std::uint64_t at) { return Buffer(checked(raw_.buffers, raw_.buffer_count, at)); }

    // Moves a member out. It stays good after its head.
    Tensor take_member(std::uint64_t at) { return Tensor(checked(raw_.members, raw_.member_count, at)); }

private:
    template <class Raw>
    static Raw *checked(Raw **all, std::uint64_t count, std::uint64_t at) {
        if (at >= count || !all || !all[at] || !all[at]->release)
            throw Error(HURRAY_MISUSE, "no such part, or it was moved out before");
        return all[at];
    }
};

class Producer : public Owned<HurrayProducer> {
public:
    using Owned::Owned;

    Tensor produce(const HurrayRequest &request) {
        HurrayTensor out{};
        out.abi_version = HURRAY_ABI_VERSION;
        out.struct_size = sizeof out;
        if (!raw_.release || !raw_.produce) throw Error(HURRAY_MISUSE, "the producer is released");
        const std::int32_t status = raw_.produce(&raw_, &request, &out);
        if (status != HURRAY_OK) {
            const char *text = raw_.last_error ? raw_.last_error(&raw_) : nullptr;
            throw Error(status, text ? text : "the producer refused");
        }
        return Tensor(&out);
    }
};

// A request that takes any device, and memory that is ready. Change what differs.
inline HurrayRequest any_request() noexcept {
    HurrayRequest request{};
    request.abi_version = HURRAY_ABI_VERSION;
    request.struct_size = sizeof request;
    request.accepted_syncs = HURRAY_ACCEPT(HURRAY_SYNC_PRODUCER_SYNCED);
    request.accepted_classes = ~std::uint64_t{0};
    request.device_tag = HURRAY_DEVICE_ANY;
    request.device_ordinal = -1;
    request.queue_family = HURRAY_NO_QUEUE_FAMILY;
    return request;
}

// ---- Making ---------------------------------------------------------------------------------------

// A buffer to hand over. Fill what the device needs in `raw`, but for the first four fields and
// what concerns releasing.
struct Source {
    HurrayBuffer raw{};
    std::function<void()> on_release;
    // In SYNC_EVENT.
    std::function<void()> on_release_event;
};

namespace detail {

// Runs it, and lets no exception out.
inline void quietly(std::function<void()> &function) noexcept {
    try {
        if (function) function();
    } catch (...) {
    }
}

struct State;

// A buffer that was handed over, and what became of it.
struct Part {
    HurrayBuffer raw{};
    State *state = nullptr;
    std::function<void()> on_release;
    std::function<void()> on_release_event;
    std::atomic<bool> event_pending{false};
};

// All that one exported tensor needs. Held by the tensor and by each of its buffers.
struct State {
    std::atomic<std::size_t> holders{1};
    std::vector<std::uint8_t> descriptor;
    std::vector<std::unique_ptr<Part>> parts;
    std::vector<HurrayBuffer *> buffers;
    std::vector<HurrayTensor> heads;
    std::vector<HurrayTensor *> members;

    ~State() {
        for (HurrayTensor &member : heads)
            if (member.release) member.release(&member);
    }

    void let_go() noexcept {
        if (holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
    }

    // Room for so much: all that can fail.
    State(std::vector<std::uint8_t> bytes, std::size_t buffer_count, std::size_t member_count)
        : descriptor(std::move(bytes)), heads(member_count) {
        for (parts.reserve(buffer_count); parts.size() < buffer_count;)
            parts.push_back(std::make_unique<Part>());
        buffers.reserve(buffer_count);
        members.reserve(member_count);
    }
};

inline void release_event(HurraySync *self) noexcept {
    auto *part = static_cast<Part *>(self->event_context);
    self->release_event = nullptr;
    if (part->event_pending.exchange(false)) quietly(part->on_release_event);
}

inline void release_buffer(HurrayBuffer *self) noexcept {
    auto *part = static_cast<Part *>(self->private_data);
    self->release = nullptr;
    if (part->event_pending.exchange(false)) quietly(part->on_release_event);
    quietly(part->on_release);
    part->state->let_go();
}

inline void release_tensor(HurrayTensor *self) noexcept {
    auto *state = static_cast<State *>(self->private_data);
    self->release = nullptr;
    for (HurrayBuffer *buffer : state->buffers)
        if (buffer->release) buffer->release(buffer);
    for (HurrayTensor *member : state->members)
        if (member->release) member->release(member);
    state->let_go();
}

template <class Make>
struct Making {
    Make make;
    std::vector<std::uint8_t> descriptor;
    std::string error;
};

template <class Make>
void release_producer(HurrayProducer *self) noexcept {
    delete static_cast<Making<Make> *>(self->private_data);
    self->release = nullptr;
}

template <class Make>
std::int32_t describe(HurrayProducer *self, const std::uint8_t **descriptor, std::uint64_t *length) noexcept {
    if (!self->release) return HURRAY_PEER;
    auto *making = static_cast<Making<Make> *>(self->private_data);
    *descriptor = making->descriptor.data();
    *length = making->descriptor.size();
    return HURRAY_OK;
}

template <class Make>
std::int32_t produce(HurrayProducer *self, const HurrayRequest *request, HurrayTensor *out) noexcept {
    out->release = nullptr;
    if (!self->release) return HURRAY_PEER;
    auto *making = static_cast<Making<Make> *>(self->private_data);
    std::int32_t status = HURRAY_PANIC;
    making->error.clear();
    try {
        try {
            if (request->abi_version != HURRAY_ABI_VERSION || request->struct_size < sizeof *request ||
                out->struct_size < sizeof *out)
                throw Error(HURRAY_UNSUPPORTED, "a request or a tensor smaller than version 1's");
            Tensor made = making->make(*request);
            made.move_to(out);
            return HURRAY_OK;
        } catch (const Error &error) {
            status = error.status();
            making->error = error.what();
        } catch (const std::bad_alloc &) {
            status = HURRAY_OUT_OF_MEMORY;
        } catch (const std::exception &error) {
            making->error = error.what();
        }
    } catch (...) {
    }
    return status;
}

template <class Make>
const char *last_error(HurrayProducer *self) noexcept {
    if (!self->release) return nullptr;
    auto *making = static_cast<Making<Make> *>(self->private_data);
    return making->error.empty() ? nullptr : making->error.c_str();
}

// Room for a tensor. Where there is none, what it was to be made of is released.
inline std::unique_ptr<State> room(std::vector<std::uint8_t> descriptor, std::vector<Source> &sources,
                                   std::size_t members) {
    try {
        return std::make_unique<State>(std::move(descriptor), sources.size(), members);
    } catch (...) {
        for (Source &source : sources) {
            if (source.raw.handle[13] == HURRAY_SYNC_EVENT) quietly(source.on_release_event);
            quietly(source.on_release);
        }
        throw;
    }
}

} // namespace detail

// A tensor that releases each of its sources once: also where it throws, for there is no memory. Its
// members were made in the same way.
inline Tensor export_tensor(std::vector<std::uint8_t> descriptor, std::vector<Source> &&sources,
                            std::vector<Tensor> members = {}) {
    auto state = detail::room(std::move(descriptor), sources, members.size());
    // From here on nothing fails.
    for (std::size_t at = 0; at < sources.size(); ++at) {
        Source &source = sources[at];
        detail::Part *part = state->parts[at].get();
        part->raw = source.raw;
        part->state = state.get();
        part->on_release.swap(source.on_release);
        part->on_release_event.swap(source.on_release_event);
        part->raw.abi_version = HURRAY_ABI_VERSION;
        part->raw.struct_size = sizeof(HurrayBuffer);
        part->raw.release = detail::release_buffer;
        part->raw.private_data = part;
        part->raw.release_after = nullptr;
        part->raw.sync.device_tag = part->raw.handle[12];
        if (part->raw.handle[13] == HURRAY_SYNC_EVENT) {
            part->raw.sync.release_event = detail::release_event;
            part->raw.sync.event_context = part;
            part->event_pending = true;
        }
        state->buffers.push_back(&part->raw);
    }
    for (std::size_t at = 0; at < members.size(); ++at) {
        members[at].move_to(&state->heads[at]);
        state->members.push_back(&state->heads[at]);
    }
    state->holders = 1 + state->buffers.size();

    HurrayTensor out{};
    out.abi_version = HURRAY_ABI_VERSION;
    out.struct_size = sizeof out;
    out.release = detail::release_tensor;
    out.descriptor = state->descriptor.data();
    out.descriptor_length = state->descriptor.size();
    out.buffer_count = state->buffers.size();
    out.buffers = state->buffers.empty() ? nullptr : state->buffers.data();
    out.member_count = state->members.size();
    out.members = state->members.empty() ? nullptr : state->members.data();
    out.private_data = state.release();
    return Tensor(&out);
}

// A producer around a function from `const HurrayRequest &` to `Tensor`, which refuses by throwing
// Error. `descriptor` is what `describe` shows.
template <class Make>
Producer export_producer(std::vector<std::uint8_t> descriptor, Make make) {
    HurrayProducer out{};
    out.abi_version = HURRAY_ABI_VERSION;
    out.struct_size = sizeof out;
    out.private_data = new detail::Making<Make>{std::move(make), std::move(descriptor), {}};
    out.release = detail::release_producer<Make>;
    out.describe = detail::describe<Make>;
    out.produce = detail::produce<Make>;
    out.last_error = detail::last_error<Make>;
    return Producer(&out);
}

} // namespace revision_1
} // namespace hurray::abi

#endif
