/* Tensors handed over by the structs of hurray_abi.h: to and from a producer that knows that header
 * and nothing of the library. Each release is counted. */

#include <pthread.h>

#include "../../../hurray-tensor/tests/exchange/producer.c"

#include "check.h"

/* So many tensors, buffers and events were released since test_reset. */
static void released(uint64_t of_tensors, uint64_t of_buffers, uint64_t of_events)
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

static HurrayTensor made_by_another(uint32_t which)
{
    HurrayTensor made = {0};
    test_reset();
    OK(test_make(which, &made));
    return made;
}

static void every_mode_comes_in_and_is_released_once(void)
{
    const struct {
        uint32_t which;
        uint8_t mode;
        uint64_t events;
    } kinds[] = {
        {MAKE_SYNCED, HURRAY_SYNC_PRODUCER_SYNCED, 0}, {MAKE_MULTI_WAIT, HURRAY_SYNC_EVENT, 1},
        {MAKE_TIMELINE, HURRAY_SYNC_EVENT, 1},         {MAKE_BINARY, HURRAY_SYNC_EVENT, 1},
        {MAKE_STREAM, HURRAY_SYNC_CONSUMER_STREAM, 0},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        /* Looked at and never used. */
        hurray_offer *offer = NULL;
        uint8_t mode = 9;
        HurrayTensor theirs = made_by_another(kinds[i].which);
        OK(hurray_offer_take(&theirs, NULL, &offer));
        CHECK(theirs.release == NULL);
        /* A buffer that is to be waited for is moved out, and the rest released. */
        const uint64_t rest = kinds[i].mode == HURRAY_SYNC_PRODUCER_SYNCED ? 0 : 1;
        OK(hurray_offer_sync_mode(offer, 0, &mode));
        CHECK(mode == kinds[i].mode);
        REFUSED(hurray_offer_sync_mode(offer, 1, &mode), HURRAY_MISUSE, "capi.place");
        CHECK(hurray_descriptor_shape(hurray_offer_descriptor(offer))[1] == 4);
        released(rest, 0, 0);
        hurray_offer_free(offer);
        released(1, 1, kinds[i].events);

        /* Waited for. No device that could is at hand here. */
        hurray_tensor *tensor = NULL;
        theirs = made_by_another(kinds[i].which);
        if (kinds[i].mode == HURRAY_SYNC_PRODUCER_SYNCED) {
            OK(hurray_tensor_import(&theirs, NULL, &tensor));
            released(0, 0, 0);
            float value = 0;
            const uint64_t index[] = {2, 3};
            OK(hurray_tensor_element(tensor, index, 2, &value, sizeof value));
            CHECK(value == 11);
            hurray_tensor_free(tensor);
        } else {
            REFUSED(hurray_tensor_import(&theirs, NULL, &tensor), HURRAY_UNSUPPORTED,
                    "sync.device-unknown");
            CHECK(tensor == NULL);
        }
        CHECK(theirs.release == NULL);
        released(1, 1, kinds[i].events);

        /* The same by way of an offer, which is spent then. */
        theirs = made_by_another(kinds[i].which);
        OK(hurray_offer_take(&theirs, NULL, &offer));
        int32_t status = hurray_offer_acquire(offer, &tensor);
        CHECK((status == HURRAY_OK) == (kinds[i].mode == HURRAY_SYNC_PRODUCER_SYNCED));
        if (status == HURRAY_OK) {
            hurray_tensor_free(tensor);
        }
        tensor = NULL;
        released(1, 1, kinds[i].events);
        REFUSED(hurray_offer_acquire(offer, &tensor), HURRAY_MISUSE, "capi.finished");
        CHECK(hurray_offer_descriptor(offer) == NULL && tensor == NULL);
        hurray_offer_free(offer);
        released(1, 1, kinds[i].events);

        /* Handed on as it is: a third party gets event, stream and memory as they came. */
        theirs = made_by_another(kinds[i].which);
        const uint64_t address = theirs.buffers[0]->address;
        OK(hurray_offer_take(&theirs, NULL, &offer));
        HurrayTensor ours = {.struct_size = sizeof ours}, nothing = {.struct_size = sizeof nothing};
        OK(hurray_offer_export(offer, &ours));
        REFUSED(hurray_offer_export(offer, &nothing), HURRAY_MISUSE, "capi.finished");
        CHECK(nothing.release == NULL);
        hurray_offer_free(offer);
        CHECK(ours.release != NULL && ours.buffer_count == 1);
        struct HurrayBuffer *buffer = ours.buffers[0];
        CHECK(buffer->handle[13] == kinds[i].mode && buffer->address == address);
        CHECK(buffer->sync.device_tag == buffer->handle[12]);
        if (kinds[i].mode == HURRAY_SYNC_EVENT) {
            CHECK(buffer->sync.event != 0 && buffer->sync.release_event != NULL);
            test_signal(buffer->sync.event);
            OK(test_wait(buffer->sync.event, buffer->sync.event_value));
            buffer->sync.release_event(&buffer->sync);
            CHECK(buffer->sync.release_event == NULL);
            released(1, 0, 1);
        } else if (kinds[i].mode == HURRAY_SYNC_CONSUMER_STREAM) {
            CHECK(buffer->sync.stream == 0x5EED && buffer->sync.release_event == NULL);
        }
        ours.release(&ours);
        CHECK(ours.release == NULL);
        released(1, 1, kinds[i].events);
    }
}

static void refused(HurrayTensor theirs, int32_t status, const char *rule, uint64_t events)
{
    hurray_offer *offer = NULL;
    REFUSED(hurray_offer_take(&theirs, NULL, &offer), status, rule);
    CHECK(offer == NULL && theirs.release == NULL);
    released(1, 1, events);
    /* Taken once, it cannot be taken again. */
    REFUSED(hurray_offer_take(&theirs, NULL, &offer), HURRAY_PEER, "exchange.released");
    released(1, 1, events);
}

/* Nothing is seen of what does not fit together, and nothing leaks. */
static void what_does_not_fit_is_refused_and_released(void)
{
    HurrayTensor theirs;

    theirs = made_by_another(MAKE_SYNCED);
    theirs.buffers[0]->sync.stream = 1;
    refused(theirs, HURRAY_PEER, "exchange.stream-unexpected", 0);
    theirs = made_by_another(MAKE_SYNCED);
    theirs.buffers[0]->sync.event = 1;
    refused(theirs, HURRAY_PEER, "exchange.event-unexpected", 0);
    theirs = made_by_another(MAKE_MULTI_WAIT);
    theirs.buffers[0]->sync.event = 0;
    refused(theirs, HURRAY_PEER, "exchange.event-missing", 1);
    theirs = made_by_another(MAKE_MULTI_WAIT);
    theirs.buffers[0]->sync.release_event = NULL;
    refused(theirs, HURRAY_PEER, "exchange.event-release", 1);
    theirs = made_by_another(MAKE_MULTI_WAIT);
    theirs.buffers[0]->sync.event_kind = 9;
    refused(theirs, HURRAY_UNSUPPORTED, "exchange.event-kind", 1);
    theirs = made_by_another(MAKE_MULTI_WAIT);
    theirs.buffers[0]->sync.device_tag = HURRAY_DEVICE_VULKAN;
    refused(theirs, HURRAY_PEER, "exchange.sync-device", 1);
    theirs = made_by_another(MAKE_STREAM);
    theirs.buffers[0]->sync.stream = 0;
    refused(theirs, HURRAY_PEER, "exchange.stream-missing", 0);
    theirs = made_by_another(MAKE_STREAM);
    theirs.buffers[0]->sync.spare[1] = 1;
    refused(theirs, HURRAY_PEER, "exchange.reserved", 0);

    theirs = made_by_another(MAKE_SYNCED);
    theirs.buffers[0]->handle[0] ^= 1;
    refused(theirs, HURRAY_PEER, "exchange.handle", 0);
    theirs = made_by_another(MAKE_SYNCED);
    theirs.buffers[0]->address += 8;
    theirs.buffers[0]->host = (char *)theirs.buffers[0]->host + 8;
    refused(theirs, HURRAY_PEER, "memory.address-misaligned", 0);
    theirs = made_by_another(MAKE_SYNCED);
    theirs.buffers[0]->address = 0;
    theirs.buffers[0]->host = NULL;
    refused(theirs, HURRAY_PEER, "memory.address-null", 0);
    theirs = made_by_another(MAKE_SYNCED);
    theirs.buffers[0]->flags = 64;
    refused(theirs, HURRAY_UNSUPPORTED, "exchange.flags", 0);
    theirs = made_by_another(MAKE_SYNCED);
    theirs.buffer_count = 2;
    theirs.buffers = (struct HurrayBuffer *[]){theirs.buffers[0], NULL};
    refused(theirs, HURRAY_PEER, "exchange.buffer-count", 0);
    theirs = made_by_another(MAKE_SYNCED);
    theirs.buffers = NULL;
    refused(theirs, HURRAY_PEER, "exchange.null", 0);
    theirs = made_by_another(MAKE_SYNCED);
    theirs.descriptor = NULL;
    refused(theirs, HURRAY_PEER, "exchange.null", 0);
    theirs = made_by_another(MAKE_SYNCED);
    theirs.descriptor_length = UINT64_MAX;
    refused(theirs, HURRAY_REFUSED, "descriptor.length-above-limit", 0);
    theirs = made_by_another(MAKE_SYNCED);
    theirs.descriptor_length -= 1;
    refused(theirs, HURRAY_CORRUPT, "descriptor.truncated", 0);
    theirs = made_by_another(MAKE_SYNCED);
    theirs.abi_version = 2;
    refused(theirs, HURRAY_UNSUPPORTED, "exchange.version", 0);
    theirs = made_by_another(MAKE_SYNCED);
    theirs.struct_size -= 8;
    refused(theirs, HURRAY_PEER, "exchange.struct-size", 0);

    /* A reserved sync mode, in the handle and in the descriptor. */
    theirs = made_by_another(MAKE_SYNCED);
    struct Made *inside = theirs.private_data;
    inside->parts[0].raw.handle[13] = 0x33;
    inside->descriptor.at[inside->descriptor.length - 3] = 0x33;
    refused(theirs, HURRAY_CORRUPT, "buffer.sync-reserved", 0);

    /* The place for the answer. */
    theirs = made_by_another(MAKE_SYNCED);
    REFUSED(hurray_offer_take(&theirs, NULL, NULL), HURRAY_MISUSE, "capi.null");
    released(1, 1, 0);
    theirs = made_by_another(MAKE_SYNCED);
    HurrayAccept accept = {.struct_size = sizeof accept, .reserved = 1};
    hurray_tensor *tensor = NULL;
    REFUSED(hurray_tensor_import(&theirs, &accept, &tensor), HURRAY_MISUSE, "capi.reserved");
    released(1, 1, 0);
}

static int given;

static void count_release(void *context)
{
    (void)context;
    given++;
}

static hurray_tensor *ours(float *numbers)
{
    const uint64_t shape[] = {3, 4};
    hurray_builder *builder = NULL;
    hurray_tensor *tensor = NULL;
    given = 0;
    OK(hurray_builder_new(HURRAY_DTYPE_FLOAT32, NULL, shape, 2, &builder));
    HurrayMemory memory = {.data = numbers, .length = 48, .release = count_release};
    OK(hurray_tensor_build(builder, &memory, 1, &tensor));
    hurray_builder_free(builder);
    return tensor;
}

static void *release_elsewhere(void *tensor)
{
    HurrayTensor *moved = tensor;
    moved->release(moved);
    return NULL;
}

static _Alignas(64) float twelve[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

static void ours_go_out_and_are_let_go_of_once(void)
{
    hurray_tensor *tensor = ours(twelve);
    HurrayTensor first = {.struct_size = sizeof first}, second = {.struct_size = sizeof second};
    OK(hurray_tensor_export(tensor, &first));
    OK(hurray_tensor_export(tensor, &second));
    CHECK(first.abi_version == HURRAY_ABI_VERSION && first.struct_size == sizeof first);
    CHECK(first.buffer_count == 1 && first.buffers[0]->host == twelve);
    CHECK(first.buffers[0]->flags == HURRAY_BUFFER_READ_ONLY);
    hurray_descriptor *descriptor = NULL;
    OK(hurray_descriptor_decode(first.descriptor, first.descriptor_length, NULL, &descriptor));
    CHECK(hurray_descriptor_equal(hurray_descriptor_borrow(descriptor),
                                  hurray_tensor_descriptor(tensor)));
    hurray_descriptor_free(descriptor);
    hurray_tensor_free(tensor);
    CHECK(given == 0);
    first.release(&first);
    CHECK(first.release == NULL && given == 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, release_elsewhere, &second) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(given == 1);

    /* Out and in again: nothing is copied on the way. */
    tensor = ours(twelve);
    hurray_tensor *back = NULL;
    OK(hurray_tensor_export(tensor, &first));
    OK(hurray_tensor_import(&first, NULL, &back));
    HurrayRegion region = {.struct_size = sizeof region};
    OK(hurray_tensor_region(back, 0, &region));
    CHECK(region.host == twelve && region.flags == HURRAY_BUFFER_READ_ONLY);
    hurray_tensor_free(tensor);
    CHECK(given == 0);
    hurray_tensor_free(back);
    CHECK(given == 1);

    /* Given away whole, it may be written to. */
    tensor = ours(twelve);
    OK(hurray_tensor_give(tensor, &first));
    CHECK(first.buffers[0]->flags == 0);
    REFUSED(hurray_tensor_give(tensor, &second), HURRAY_MISUSE, "capi.finished");
    REFUSED(hurray_tensor_export(tensor, &second), HURRAY_MISUSE, "capi.finished");
    CHECK(second.release == NULL && hurray_tensor_descriptor(tensor) == NULL);
    hurray_tensor_free(tensor);
    CHECK(given == 0);
    OK(hurray_tensor_import(&first, NULL, &back));
    void *data = NULL;
    OK(hurray_tensor_write(back, 0, &data));
    CHECK(data == twelve);
    hurray_tensor_free(back);
    CHECK(given == 1);

    /* Unless somebody else holds a share. */
    tensor = ours(twelve);
    hurray_tensor *share = NULL;
    OK(hurray_tensor_clone(tensor, &share));
    OK(hurray_tensor_give(tensor, &first));
    CHECK(first.buffers[0]->flags == HURRAY_BUFFER_READ_ONLY);
    hurray_tensor_free(tensor);
    first.release(&first);
    CHECK(given == 0);
    hurray_tensor_free(share);
    CHECK(given == 1);

    /* No room. */
    tensor = ours(twelve);
    first.struct_size = 8;
    first.release = release_tensor;
    REFUSED(hurray_tensor_export(tensor, &first), HURRAY_MISUSE, "capi.struct-size");
    CHECK(first.release == NULL);
    hurray_tensor_free(tensor);
    CHECK(given == 1);
}

static void producers_are_asked(void)
{
    HurrayProducer theirs = {0};
    hurray_producer *producer = NULL;
    hurray_offer *offer = NULL;
    test_reset();
    OK(test_producer(&theirs));
    OK(hurray_producer_take(&theirs, &producer));
    CHECK(theirs.release == NULL);

    hurray_descriptor *described = NULL;
    OK(hurray_producer_describe(producer, NULL, &described));
    CHECK(hurray_descriptor_rank(hurray_descriptor_borrow(described)) == 2);
    hurray_descriptor_free(described);

    OK(hurray_producer_ask(producer, NULL, NULL, &offer));
    hurray_offer_free(offer);
    released(1, 1, 0);

    HurrayRequest request = {.abi_version = HURRAY_ABI_VERSION,
                             .struct_size = sizeof request,
                             .accepted_syncs = HURRAY_ACCEPT(HURRAY_SYNC_EVENT) |
                                               HURRAY_ACCEPT(HURRAY_SYNC_PRODUCER_SYNCED),
                             .accepted_event_kinds = HURRAY_ACCEPT(HURRAY_EVENT_MULTI_WAIT),
                             .accepted_classes = UINT64_MAX,
                             .device_tag = HURRAY_DEVICE_ANY,
                             .device_ordinal = -1,
                             .queue_family = HURRAY_NO_QUEUE_FAMILY};
    uint8_t mode = 9;
    OK(hurray_producer_ask(producer, &request, NULL, &offer));
    OK(hurray_offer_sync_mode(offer, 0, &mode));
    CHECK(mode == HURRAY_SYNC_EVENT);
    hurray_producer_free(producer);
    hurray_offer_free(offer);
    released(2, 2, 1);

    OK(test_producer(&theirs));
    OK(hurray_producer_take(&theirs, &producer));
    offer = NULL;
    request.flags = HURRAY_REQUEST_WRITABLE;
    REFUSED(hurray_producer_ask(producer, &request, NULL, &offer), HURRAY_REFUSED,
            "exchange.produce-refused");
    CHECK(strcmp(hurray_producer_last_error(producer), "the data is read-only") == 0);
    request.flags = 1 << 20;
    CHECK(hurray_producer_ask(producer, &request, NULL, &offer) != HURRAY_OK);
    CHECK(strstr(hurray_last_error(), "exchange.flags") != NULL && offer == NULL);
    hurray_producer_free(producer);
    REFUSED(hurray_producer_take(&theirs, &producer), HURRAY_PEER, "exchange.released");

    /* And one of ours. */
    hurray_tensor *tensor = ours(twelve);
    HurrayProducer made = {.struct_size = sizeof made};
    OK(hurray_tensor_producer(tensor, &made));
    hurray_tensor_free(tensor);
    request.flags = 0;
    HurrayTensor out = {.struct_size = sizeof out};
    OK(made.produce(&made, &request, &out));
    CHECK(out.buffers[0]->host == twelve && out.buffers[0]->flags == HURRAY_BUFFER_READ_ONLY);
    out.release(&out);
    request.flags = HURRAY_REQUEST_WRITABLE;
    CHECK(made.produce(&made, &request, &out) == HURRAY_REFUSED && out.release == NULL);
    CHECK(strstr(made.last_error(&made), "exchange.request-writable") != NULL);
    request.flags = HURRAY_REQUEST_WRITABLE | HURRAY_REQUEST_ALLOW_COPY;
    OK(made.produce(&made, &request, &out));
    CHECK(out.buffers[0]->host != twelve && out.buffers[0]->flags == HURRAY_BUFFER_COPIED);
    CHECK(memcmp(out.buffers[0]->host, twelve, sizeof twelve) == 0);
    out.release(&out);
    OK(hurray_producer_take(&made, &producer));
    OK(hurray_producer_ask(producer, NULL, NULL, &offer));
    hurray_producer_free(producer);
    CHECK(given == 0);
    hurray_offer_free(offer);
    CHECK(given == 1);
}

static void composites_go_both_ways(void)
{
    HurrayTensor theirs = made_by_another(MAKE_COMPOSITE);
    hurray_composite *composite = NULL, *again = NULL;
    OK(hurray_composite_import(&theirs, NULL, &composite));
    CHECK(theirs.release == NULL && hurray_composite_count(composite) == 3);
    hurray_tensor *tensors[3] = {NULL, NULL, NULL};
    for (size_t place = 0; place < 3; place++) {
        OK(hurray_composite_tensor(composite, place, &tensors[place]));
    }
    hurray_tensor *none = NULL;
    REFUSED(hurray_composite_tensor(composite, 3, &none), HURRAY_MISUSE, "capi.place");
    hurray_composite_free(composite);
    float value = 0;
    const uint64_t index[] = {0, 3};
    OK(hurray_tensor_element(tensors[2], index, 2, &value, sizeof value));
    CHECK(value == 7);

    const hurray_tensor *const in_order[] = {tensors[0], tensors[1], tensors[2]};
    const hurray_tensor *const torn[] = {tensors[0], tensors[1]};
    REFUSED(hurray_composite_new(torn, 2, &again), HURRAY_CORRUPT, "composite.torn");
    CHECK(again == NULL);
    OK(hurray_composite_new(in_order, 3, &again));
    HurrayTensor out = {.struct_size = sizeof out};
    OK(hurray_composite_export(again, &out));
    CHECK(out.member_count == 2 && out.buffer_count == 0);
    hurray_composite_free(again);
    for (size_t place = 0; place < 3; place++) {
        hurray_tensor_free(tensors[place]);
    }
    /* A head is no tensor by itself. */
    hurray_tensor *head = NULL;
    REFUSED(hurray_tensor_import(&out, NULL, &head), HURRAY_MISUSE, "exchange.composite");
    CHECK(head == NULL && out.release == NULL);
    released(3, 2, 0);

    /* Several buffers, and none. */
    theirs = made_by_another(MAKE_QUANTIZED);
    hurray_tensor *quantized = NULL;
    OK(hurray_tensor_import(&theirs, NULL, &quantized));
    OK(hurray_tensor_check_contents(quantized));
    hurray_tensor_free(quantized);
    released(1, 2, 0);
    theirs = made_by_another(MAKE_EMPTY);
    OK(hurray_tensor_import(&theirs, NULL, &quantized));
    hurray_tensor_free(quantized);
    released(1, 1, 0);
}

static void nested_composites_come_in_whole(void)
{
    HurrayTensor theirs = made_by_another(MAKE_NESTED);
    hurray_composite *composite = NULL;
    struct Counts counts;
    test_counts(&counts);
    OK(hurray_composite_import(&theirs, NULL, &composite));
    CHECK(hurray_composite_count(composite) == counts.made);
    hurray_composite_free(composite);
    test_counts(&counts);
    CHECK(counts.tensors == counts.made);
    /* A plain tensor is one without members. */
    theirs = made_by_another(MAKE_SYNCED);
    OK(hurray_composite_import(&theirs, NULL, &composite));
    CHECK(hurray_composite_count(composite) == 1);
    hurray_composite_free(composite);
    released(1, 1, 0);
}

static void a_composite_goes_through_a_file(const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/composite.hrry", folder);
    HurrayTensor theirs = made_by_another(MAKE_COMPOSITE);
    hurray_composite *composite = NULL, *loaded = NULL;
    hurray_writer *writer = NULL;
    hurray_file *file = NULL;
    const char *const names[] = {"whole", "upper", "lower"};
    OK(hurray_composite_import(&theirs, NULL, &composite));
    OK(hurray_writer_create(path, NULL, &writer));
    for (size_t place = 0; place < 3; place++) {
        hurray_tensor *tensor = NULL;
        OK(hurray_composite_tensor(composite, place, &tensor));
        OK(hurray_writer_put(writer, names[place], tensor));
        hurray_tensor_free(tensor);
    }
    OK(hurray_writer_finish(writer));
    hurray_writer_free(writer);
    hurray_composite_free(composite);
    released(3, 2, 0);
    OK(hurray_file_open(path, NULL, &file));
    OK(hurray_composite_load(file, "whole", &loaded));
    hurray_file_free(file);
    CHECK(hurray_composite_count(loaded) == 3);
    hurray_composite_free(loaded);
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    every_mode_comes_in_and_is_released_once();
    what_does_not_fit_is_refused_and_released();
    ours_go_out_and_are_let_go_of_once();
    producers_are_asked();
    composites_go_both_ways();
    nested_composites_come_in_whole();
    a_composite_goes_through_a_file(arguments[1]);
    return 0;
}
