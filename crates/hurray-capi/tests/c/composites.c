/* Composites, by the exchange structs and through files. Takes a folder to work in. */

#include "another.h"

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
    composites_go_both_ways();
    nested_composites_come_in_whole();
    a_composite_goes_through_a_file(arguments[1]);
    return 0;
}
