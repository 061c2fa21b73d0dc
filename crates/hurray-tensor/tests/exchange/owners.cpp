// The owners of hurray_abi.hpp: structs that are longer than they know, calls that are refused, and
// no memory. For checkers of memory to run. Linked so that `operator new` asks this program first.

#include "hurray_abi.hpp"

#include "middle.h"
#include "producer.h"

#include <cstdio>
#include <cstdlib>

using hurray::abi::Buffer;
using hurray::abi::Error;
using hurray::abi::Producer;
using hurray::abi::Source;
using hurray::abi::Tensor;

namespace {

int failures;

void expect(const char *what, bool is_so) {
    if (is_so) return;
    std::printf("%s\n", what);
    ++failures;
}

// Which call of `operator new` from here finds no memory; 0: none.
int fails_at;

} // namespace

extern "C" void *__real__Znwm(std::size_t size);
extern "C" void *__wrap__Znwm(std::size_t size);
void *__wrap__Znwm(std::size_t size) {
    if (fails_at && --fails_at == 0) throw std::bad_alloc();
    return __real__Znwm(size);
}

namespace {

// ---- Longer structs ---------------------------------------------------------------------------------

// A struct of a time to come: a field was appended.
template <class Raw>
struct Longer {
    Raw known;
    std::uint64_t added;
};

// Exactly as much memory as the struct needs, so that a checker sees who reads further.
template <class Raw>
Raw *room() {
    auto *out = static_cast<Raw *>(std::calloc(1, sizeof(Raw)));
    if (!out) std::abort();
    return out;
}

// From somebody who knows the longer struct, through somebody who does not, to somebody who does.
template <class Raw, class Middle>
void passed_on(const char *what, const Raw &made, Middle middle) {
    auto *longer = room<Longer<Raw>>();
    longer->known = made;
    longer->known.struct_size = sizeof *longer;
    longer->added = 7;
    Raw *out = room<Raw>();
    out->struct_size = sizeof *out;
    middle(&longer->known, out);
    expect(what, longer->known.release == nullptr && out->release != nullptr);
    std::free(longer);

    Longer<Raw> read{};
    std::memcpy(&read, out, out->struct_size < sizeof read ? out->struct_size : sizeof read);
    expect(what, read.known.struct_size == sizeof(Raw) && read.added == 0);
    std::free(out);
    read.known.release(&read.known);
    expect(what, read.known.release == nullptr);
}

void longer_structs_go_through_owners() {
    HurrayTensor tensor;
    HurrayProducer producer;
    Counts counts;
    test_reset();
    test_make(MAKE_SYNCED, &tensor);
    passed_on("a longer tensor", tensor, middle_tensor);
    test_make(MAKE_SYNCED, &tensor);
    passed_on("a longer tensor that is produced", tensor,
              [](HurrayTensor *from, HurrayTensor *out) { middle_produce(from, out); });
    test_make(MAKE_SYNCED, &tensor);
    HurrayBuffer buffer = *tensor.buffers[0];
    tensor.buffers[0]->release = nullptr;
    tensor.release(&tensor);
    passed_on("a longer buffer", buffer, middle_buffer);
    test_producer(&producer);
    passed_on("a longer producer", producer, middle_producer);
    test_counts(&counts);
    expect("all of them released once", counts.tensors == 3 && counts.buffers == 3);
}

// What is not understood has the first four fields alone, wherever it goes.
void unknown_versions_are_only_released() {
    HurrayTensor tensor;
    test_reset();
    test_make(MAKE_SYNCED, &tensor);
    tensor.abi_version = 2;
    Tensor taken(&tensor);
    expect("what is not understood is cut short",
           taken->struct_size == offsetof(HurrayTensor, descriptor) && !taken.understood());
    taken.reset();
    Counts counts;
    test_counts(&counts);
    expect("what is not understood is released", counts.tensors == 1 && counts.buffers == 1);
}

// ---- Releasing in stream order --------------------------------------------------------------------------

void where_release_after_fails_nothing_changed() {
    HurrayTensor tensor;
    Counts counts;
    test_reset();
    test_make(MAKE_MULTI_WAIT, &tensor);
    Tensor taken(&tensor);
    Buffer buffer = taken.take_buffer(0);
    taken.reset();
    HurraySync done{};
    done.device_tag = HURRAY_DEVICE_VULKAN;
    expect("another device is refused", !buffer.release_after(&done));
    test_counts(&counts);
    expect("the event is still there", buffer && buffer->sync.release_event && counts.events == 0);
    test_signal(buffer->sync.event);
    expect("and can be waited for", test_wait(buffer->sync.event, 0) == HURRAY_OK);

    done.device_tag = HURRAY_DEVICE_CUDA;
    done.stream = 0x5EED;
    expect("a stream is taken", buffer.release_after(&done));
    test_counts(&counts);
    expect("the buffer is released, and its event", counts.events == 1 && counts.buffers == 1);
    expect("and nothing is left of it", !buffer && !buffer->sync.release_event);
    expect("twice is refused", !buffer.release_after(&done));
}

// ---- No memory ------------------------------------------------------------------------------------------

Source counted(std::uint8_t sync, int *released, int *events) {
    Source source;
    source.raw.handle[12] = HURRAY_DEVICE_CUDA;
    source.raw.handle[13] = sync;
    source.on_release = [released] { ++*released; };
    source.on_release_event = [events] { ++*events; };
    return source;
}

void each_source_is_released_once_where_there_is_no_memory() {
    bool is_made = false;
    int tries = 0;
    for (; !is_made && tries < 100; ++tries) {
        int released[3] = {0, 0, 0}, events[3] = {0, 0, 0};
        std::vector<Source> of_the_member, sources;
        of_the_member.push_back(counted(HURRAY_SYNC_PRODUCER_SYNCED, &released[2], &events[2]));
        std::vector<Tensor> members;
        members.push_back(hurray::abi::export_tensor({1, 2, 3}, std::move(of_the_member)));
        sources.push_back(counted(HURRAY_SYNC_EVENT, &released[0], &events[0]));
        sources.push_back(counted(HURRAY_SYNC_PRODUCER_SYNCED, &released[1], &events[1]));
        std::vector<std::uint8_t> descriptor(64);
        fails_at = tries + 1;
        try {
            Tensor tensor = hurray::abi::export_tensor(std::move(descriptor), std::move(sources), std::move(members));
            is_made = true;
            expect("nothing is released before", released[0] + released[1] + released[2] + events[0] == 0);
        } catch (const std::bad_alloc &) {
        }
        fails_at = 0;
        for (int count : released) expect("each source is released once", count == 1);
        expect("and each event", events[0] == 1 && events[1] == 0 && events[2] == 0);
    }
    expect("memory was refused, and then not", is_made && tries > 5);
}

// ---- Producers that are released ------------------------------------------------------------------------

void a_released_producer_makes_nothing() {
    Producer producer = hurray::abi::export_producer({}, [](const HurrayRequest &) -> Tensor {
        throw Error(HURRAY_PANIC, "it was asked");
    });
    HurrayProducer raw = *producer.get();
    const HurrayRequest request = hurray::abi::any_request();
    producer.reset();
    raw.release = nullptr;

    HurrayTensor out{};
    out.struct_size = sizeof out;
    out.release = [](HurrayTensor *) { std::abort(); };
    expect("it refuses", raw.produce(&raw, &request, &out) == HURRAY_PEER);
    expect("and nothing is there", out.release == nullptr);
    const std::uint8_t *descriptor = nullptr;
    std::uint64_t length = 0;
    expect("it describes nothing", raw.describe(&raw, &descriptor, &length) == HURRAY_PEER);
    expect("and has no words", raw.last_error(&raw) == nullptr);
}

} // namespace

int main() {
    longer_structs_go_through_owners();
    unknown_versions_are_only_released();
    where_release_after_fails_nothing_changed();
    each_source_is_released_once_where_there_is_no_memory();
    a_released_producer_makes_nothing();
    std::printf("%d failures\n", failures);
    return failures != 0;
}
