/* Tensors of ours, handed to whoever takes the struct, and producers of them. Memory of the program's
 * that a tensor is made of is not looked at by it until it is let go of. */

#include <pthread.h>

#include "another.h"

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

/* What a tensor says is good until it is given away: its descriptor and its memory go with it. */
static void what_a_tensor_said_ends_when_it_is_given_away(void)
{
    hurray_tensor *tensor = ours(twelve), *back = NULL;
    hurray_descriptor *kept = NULL;
    HurrayRegion region = {.struct_size = sizeof region}, again = {.struct_size = sizeof again};
    OK(hurray_tensor_region(tensor, 0, &region));
    OK(hurray_descriptor_clone(hurray_tensor_descriptor(tensor), &kept));

    HurrayTensor out = {.struct_size = sizeof out};
    OK(hurray_tensor_give(tensor, &out));
    CHECK(hurray_tensor_descriptor(tensor) == NULL);
    REFUSED(hurray_tensor_region(tensor, 0, &again), HURRAY_MISUSE, "capi.finished");
    /* The new owner has it, and lets go of it, however long the old handle is there. */
    CHECK(out.buffers[0]->host == region.host && given == 0);
    OK(hurray_tensor_import(&out, NULL, &back));
    CHECK(hurray_descriptor_equal(hurray_descriptor_borrow(kept), hurray_tensor_descriptor(back)));
    hurray_tensor_free(back);
    CHECK(given == 1);
    hurray_tensor_free(tensor);
    CHECK(given == 1 && hurray_descriptor_rank(hurray_descriptor_borrow(kept)) == 2);
    hurray_descriptor_free(kept);
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
    for (int n = 0; n < 12; n++) {
        CHECK(((const float *)out.buffers[0]->host)[n] == (float)n);
    }
    out.release(&out);
    OK(hurray_producer_take(&made, &producer));
    OK(hurray_producer_ask(producer, NULL, NULL, &offer));
    hurray_producer_free(producer);
    CHECK(given == 0);
    hurray_offer_free(offer);
    CHECK(given == 1);
}

int main(void)
{
    ours_go_out_and_are_let_go_of_once();
    what_a_tensor_said_ends_when_it_is_given_away();
    producers_are_asked();
    return 0;
}
