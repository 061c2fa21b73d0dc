/* Tensors of another library: every sync mode, and everything that does not fit together. */

#include "another.h"

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

int main(void)
{
    every_mode_comes_in_and_is_released_once();
    what_does_not_fit_is_refused_and_released();
    return 0;
}
