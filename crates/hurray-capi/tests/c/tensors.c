/* Tensors in memory of the program's own: where it is, who lets go of it and when, and views of it.
 * Takes a folder to work in. */

#include <pthread.h>

#include "check.h"

/* How often a piece of memory was let go of. */
static void let_go(void *context)
{
    ++*(int *)context;
}

static HurrayMemory counted(void *data, size_t length, int *count)
{
    *count = 0;
    return (HurrayMemory){.data = data, .length = length, .release = let_go, .context = count};
}

static hurray_descriptor *described(uint8_t dtype, const uint64_t *shape, size_t rank)
{
    hurray_builder *builder = NULL;
    hurray_descriptor *made = NULL;
    OK(hurray_builder_new(dtype, NULL, shape, rank, &builder));
    OK(hurray_builder_build(builder, &made));
    hurray_builder_free(builder);
    return made;
}

static HurrayRegion region_of(const hurray_tensor *tensor, size_t place)
{
    HurrayRegion region = {.struct_size = sizeof region};
    OK(hurray_tensor_region(tensor, place, &region));
    return region;
}

static float element(const hurray_tensor *tensor, uint64_t row, uint64_t column)
{
    float value = -1;
    const uint64_t index[] = {row, column};
    OK(hurray_tensor_element(tensor, index, 2, &value, sizeof value));
    return value;
}

static _Alignas(64) float numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
static const uint64_t four_by_four[] = {4, 4};

static hurray_tensor *square(int *count)
{
    hurray_descriptor *descriptor = described(HURRAY_DTYPE_FLOAT32, four_by_four, 2);
    hurray_tensor *tensor = NULL;
    HurrayMemory memory = counted(numbers, sizeof numbers, count);
    OK(hurray_tensor_new(hurray_descriptor_borrow(descriptor), &memory, 1, &tensor));
    hurray_descriptor_free(descriptor);
    return tensor;
}

static void *free_elsewhere(void *tensor)
{
    hurray_tensor_free(tensor);
    return NULL;
}

static void memory_is_let_go_of_once(void)
{
    int count;
    hurray_tensor *tensor = square(&count), *share = NULL;
    /* Nothing was copied. */
    HurrayRegion region = region_of(tensor, 0);
    CHECK(region.host == numbers && region.length == sizeof numbers && region.lead == 0);
    CHECK(region.device_tag == HURRAY_DEVICE_CPU && region.flags == 0);
    CHECK(region.address == (uint64_t)(uintptr_t)numbers);
    CHECK(element(tensor, 2, 3) == 11);

    OK(hurray_tensor_clone(tensor, &share));
    CHECK(region_of(share, 0).host == numbers);
    hurray_tensor_free(tensor);
    CHECK(count == 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, free_elsewhere, share) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(count == 1);
    hurray_tensor_free(NULL);
    hurray_tensor_free((hurray_tensor *)(void *)((char *)numbers + 1));
}

static void refused_memory_is_let_go_of_too(void)
{
    int count, other;
    hurray_tensor *tensor = NULL;
    hurray_descriptor *made = described(HURRAY_DTYPE_FLOAT32, four_by_four, 2);
    const hurray_descriptor_ref *descriptor = hurray_descriptor_borrow(made);

    HurrayMemory memory = counted(numbers, sizeof numbers - 1, &count);
    REFUSED(hurray_tensor_new(descriptor, &memory, 1, &tensor), HURRAY_MISUSE, "memory.size");
    CHECK(count == 1);
    memory = counted(NULL, sizeof numbers, &count);
    REFUSED(hurray_tensor_new(descriptor, &memory, 1, &tensor), HURRAY_PEER, "memory.address-null");
    CHECK(count == 1);
    memory = counted(numbers, SIZE_MAX, &count);
    REFUSED(hurray_tensor_new(descriptor, &memory, 1, &tensor), HURRAY_PEER,
            "memory.address-beyond");
    CHECK(count == 1);
    memory = counted(numbers, sizeof numbers, &count);
    memory.flags = 8;
    REFUSED(hurray_tensor_new(descriptor, &memory, 1, &tensor), HURRAY_MISUSE, "capi.reserved");
    CHECK(count == 1);
    HurrayMemory two[] = {counted(numbers, sizeof numbers, &count), counted(numbers, 64, &other)};
    REFUSED(hurray_tensor_new(descriptor, two, 2, &tensor), HURRAY_MISUSE, "memory.count");
    CHECK(count == 1 && other == 1);
    memory = counted(numbers, sizeof numbers, &count);
    REFUSED(hurray_tensor_new(NULL, &memory, 1, &tensor), HURRAY_MISUSE, "capi.null");
    CHECK(count == 1);
    memory = counted(numbers, sizeof numbers, &count);
    REFUSED(hurray_tensor_new(descriptor, &memory, 1, NULL), HURRAY_MISUSE, "capi.null");
    CHECK(count == 1);
    CHECK(tensor == NULL);

    /* More than is asked for is fine; what is beyond is left out. */
    const uint64_t less[] = {2, 4};
    hurray_descriptor *half = described(HURRAY_DTYPE_FLOAT32, less, 2);
    memory = counted(numbers, sizeof numbers, &count);
    OK(hurray_tensor_new(hurray_descriptor_borrow(half), &memory, 1, &tensor));
    CHECK(region_of(tensor, 0).length == 32);
    hurray_tensor_free(tensor);
    CHECK(count == 1);
    hurray_descriptor_free(half);
    hurray_descriptor_free(made);
}

/* Wherever the memory begins, it is described from the multiple of 64 below. */
static void memory_may_begin_anywhere(void)
{
    int count, other;
    hurray_builder *builder = NULL;
    hurray_tensor *tensor = NULL;
    const uint64_t shape[] = {2, 3};
    const int64_t upside_down[] = {-3, 1};
    OK(hurray_builder_new(HURRAY_DTYPE_FLOAT32, NULL, shape, 2, &builder));
    OK(hurray_builder_strides(builder, upside_down));
    OK(hurray_builder_byte_offset(builder, 12));
    HurrayMemory memory = counted(numbers + 5, 24, &count);
    OK(hurray_tensor_build(builder, &memory, 1, &tensor));

    HurrayRegion region = region_of(tensor, 0);
    CHECK(region.lead == 20 && region.length == 44);
    CHECK((const char *)region.host + region.lead == (const char *)(numbers + 5));
    CHECK(hurray_descriptor_byte_offset(hurray_tensor_descriptor(tensor)) == 32);
    CHECK(element(tensor, 0, 0) == 8 && element(tensor, 1, 2) == 7);
    HurrayLocation location;
    const uint64_t first[] = {0, 0};
    OK(hurray_descriptor_locate(hurray_tensor_descriptor(tensor), first, 2, &location));
    CHECK((const char *)region.host + location.byte == (const char *)(numbers + 8));
    hurray_tensor_free(tensor);
    CHECK(count == 1);
    tensor = NULL;

    /* But not where there is no offset to say so. */
    HurrayQuantization scheme = {.struct_size = sizeof scheme,
                                 .scheme = HURRAY_SCHEME_PER_CHANNEL,
                                 .scales = 1,
                                 .zero_points = HURRAY_NO_BUFFER};
    hurray_builder *quantized = NULL;
    OK(hurray_builder_new(HURRAY_DTYPE_INT8, NULL, shape, 2, &quantized));
    OK(hurray_builder_quantization(quantized, &scheme));
    HurrayMemory two[] = {counted(numbers, 6, &count), counted(numbers + 1, 8, &other)};
    CHECK(hurray_tensor_build(quantized, two, 2, &tensor) != HURRAY_OK && tensor == NULL);
    CHECK(count == 1 && other == 1);
    two[0] = counted(numbers, 6, &count);
    two[1] = counted(numbers + 1, 8, &other);
    OK(hurray_tensor_build(quantized, (HurrayMemory[]){{numbers + 2, 6, 0, NULL, NULL},
                                                       {numbers, 8, 0, NULL, NULL}},
                           2, &tensor));
    CHECK(hurray_tensor_check_contents(tensor) != HURRAY_OK);
    CHECK(strstr(hurray_last_error(), "quant.per-channel") != NULL);
    hurray_tensor_free(tensor);
    hurray_builder_free(quantized);
    hurray_builder_free(builder);
}

static void who_may_write_is_known(void)
{
    int count;
    void *data = NULL;
    hurray_tensor *tensor = square(&count), *share = NULL;
    OK(hurray_tensor_write(tensor, 0, &data));
    CHECK(data == numbers);
    REFUSED(hurray_tensor_write(tensor, 1, &data), HURRAY_MISUSE, "capi.place");
    OK(hurray_tensor_clone(tensor, &share));
    data = NULL;
    REFUSED(hurray_tensor_write(tensor, 0, &data), HURRAY_REFUSED, "memory.shared");
    CHECK(data == NULL);
    hurray_tensor_free(share);
    OK(hurray_tensor_write(tensor, 0, &data));
    hurray_tensor_free(tensor);
    CHECK(count == 1);

    hurray_descriptor *descriptor = described(HURRAY_DTYPE_FLOAT32, four_by_four, 2);
    HurrayMemory memory = counted(numbers, sizeof numbers, &count);
    memory.flags = HURRAY_BUFFER_READ_ONLY;
    OK(hurray_tensor_new(hurray_descriptor_borrow(descriptor), &memory, 1, &tensor));
    REFUSED(hurray_tensor_write(tensor, 0, &data), HURRAY_REFUSED, "memory.read-only");
    CHECK(region_of(tensor, 0).flags == HURRAY_BUFFER_READ_ONLY);
    hurray_tensor_free(tensor);
    CHECK(count == 1);

    /* What others can still change is never taken for granted. */
    memory = counted(numbers, sizeof numbers, &count);
    memory.flags = HURRAY_BUFFER_MAY_CHANGE;
    OK(hurray_tensor_new(hurray_descriptor_borrow(descriptor), &memory, 1, &tensor));
    CHECK(region_of(tensor, 0).flags == (HURRAY_BUFFER_READ_ONLY | HURRAY_BUFFER_MAY_CHANGE));
    float value;
    const uint64_t index[] = {0, 0};
    REFUSED(hurray_tensor_element(tensor, index, 2, &value, sizeof value), HURRAY_REFUSED,
            "memory.may-change");
    hurray_tensor_free(tensor);
    CHECK(count == 1);

    /* Memory of the library's own. */
    OK(hurray_tensor_zeroed(hurray_descriptor_borrow(descriptor), &tensor));
    OK(hurray_tensor_write(tensor, 0, &data));
    CHECK((uintptr_t)data % 64 == 0);
    CHECK(element(tensor, 3, 3) == 0);
    ((float *)data)[15] = 42;
    CHECK(element(tensor, 3, 3) == 42);
    hurray_tensor_free(tensor);
    hurray_descriptor_free(descriptor);
}

static void empty_tensors_have_no_address(void)
{
    int count;
    const uint64_t none[] = {0, 4};
    hurray_tensor *tensor = NULL;
    hurray_descriptor *descriptor = described(HURRAY_DTYPE_FLOAT32, none, 2);
    HurrayMemory memory = counted(NULL, 0, &count);
    OK(hurray_tensor_new(hurray_descriptor_borrow(descriptor), &memory, 1, &tensor));
    CHECK(region_of(tensor, 0).length == 0 && region_of(tensor, 0).lead == 0);
    hurray_tensor_free(tensor);
    CHECK(count == 1);
    hurray_descriptor_free(descriptor);
}

static void views_share_the_memory(void)
{
    int count;
    hurray_tensor *tensor = square(&count), *part = NULL, *view = NULL;
    const HurrayCut cuts[] = {{1, 3, 1}, {0, HURRAY_TO_END, -2}};
    OK(hurray_tensor_slice(tensor, cuts, 2, &part));
    CHECK(element(part, 0, 0) == 7 && element(part, 0, 1) == 5 && element(part, 1, 1) == 9);
    int64_t strides[2] = {0};
    OK(hurray_descriptor_strides(hurray_tensor_descriptor(part), strides));
    CHECK(strides[0] == 4 && strides[1] == -2);
    const char *host = region_of(part, 0).host;
    CHECK(host >= (const char *)numbers && host < (const char *)(numbers + 16));

    /* The view outlives the tensor. */
    hurray_tensor_free(tensor);
    CHECK(count == 0 && element(part, 1, 0) == 11);
    const size_t turned[] = {1, 0}, twice[] = {0, 0};
    OK(hurray_tensor_permute(part, turned, 2, &view));
    CHECK(element(view, 1, 0) == 5);
    hurray_tensor_free(view);
    view = NULL;
    REFUSED(hurray_tensor_permute(part, twice, 2, &view), HURRAY_MISUSE, "view.axes");
    OK(hurray_tensor_index(part, 0, 1, &view));
    CHECK(hurray_descriptor_rank(hurray_tensor_descriptor(view)) == 1);
    float value;
    const uint64_t first[] = {0};
    OK(hurray_tensor_element(view, first, 1, &value, sizeof value));
    CHECK(value == 11);
    hurray_tensor_free(view);
    view = NULL;
    const uint64_t line[] = {4}, taller[] = {3, 2, 2};
    REFUSED(hurray_tensor_reshape(part, line, 1, &view), HURRAY_REFUSED, "view.reshape");
    OK(hurray_tensor_row_major(part, 0, &view));
    CHECK(element(view, 0, 1) == 5 && region_of(view, 0).host != host);
    hurray_tensor *reshaped = NULL;
    OK(hurray_tensor_reshape(view, line, 1, &reshaped));
    CHECK(region_of(reshaped, 0).host == region_of(view, 0).host);
    hurray_tensor_free(reshaped);
    hurray_tensor_free(view);
    view = NULL;

    OK(hurray_tensor_broadcast(part, taller, 3, &view));
    CHECK(hurray_descriptor_element_count(hurray_tensor_descriptor(view)) == 12);
    hurray_tensor *copy = NULL;
    REFUSED(hurray_tensor_row_major(view, 20, &copy), HURRAY_REFUSED, "view.expands");
    OK(hurray_tensor_row_major(view, 48, &copy));
    hurray_tensor_free(copy);
    hurray_tensor_free(view);
    hurray_tensor_free(part);
    CHECK(count == 1);
}

static void narrow_elements_are_whole_numbers(void)
{
    int count;
    const unsigned char packed[] = {0xC5, 0x03};
    const uint64_t three[] = {3}, second[] = {1}, outside[] = {3};
    hurray_builder *builder = NULL;
    hurray_tensor *tensor = NULL;
    OK(hurray_builder_new(HURRAY_DTYPE_UINT4, NULL, three, 1, &builder));
    HurrayMemory memory = counted((void *)(uintptr_t)packed, sizeof packed, &count);
    memory.flags = HURRAY_BUFFER_READ_ONLY;
    OK(hurray_tensor_build(builder, &memory, 1, &tensor));
    uint32_t value = UINT32_MAX;
    OK(hurray_tensor_element(tensor, second, 1, &value, sizeof value));
    CHECK(value == 12);
    REFUSED(hurray_tensor_element(tensor, second, 1, &value, 0), HURRAY_MISUSE,
            "capi.output-too-small");
    REFUSED(hurray_tensor_element(tensor, outside, 1, &value, sizeof value), HURRAY_MISUSE,
            "index.out-of-bounds");
    unsigned char wide[32];
    memset(wide, 0xFF, sizeof wide);
    OK(hurray_tensor_element(tensor, second, 1, wide, sizeof wide));
    CHECK(wide[0] == 12 && wide[15] == 0 && wide[16] == 0 && wide[31] == 0);
    hurray_tensor_free(tensor);
    hurray_builder_free(builder);
    CHECK(count == 1);
}

static void tensors_go_through_files(const char *folder)
{
    char path[4096];
    int count;
    snprintf(path, sizeof path, "%s/alive.hrry", folder);
    hurray_tensor *tensor = square(&count), *loaded = NULL, *odd = NULL;
    const HurrayCut lower[] = {{1, 4, 1}};
    OK(hurray_tensor_slice(tensor, lower, 1, &odd));
    hurray_writer *writer = NULL;
    OK(hurray_writer_create(path, NULL, &writer));
    OK(hurray_writer_put(writer, "square", tensor));
    OK(hurray_writer_put(writer, "odd", odd));
    OK(hurray_writer_finish(writer));
    hurray_writer_free(writer);
    hurray_tensor_free(odd);

    hurray_file *file = NULL;
    hurray_file_tensor *in_file = NULL;
    OK(hurray_file_map(path, NULL, &file));
    OK(hurray_file_verify(file, NULL, NULL));
    OK(hurray_file_find(file, "square", &in_file));
    const void *mapped = hurray_file_tensor_mapped(in_file, 0);
    OK(hurray_file_tensor_load(in_file, &loaded));
    hurray_file_tensor_free(in_file);
    OK(hurray_file_find(file, "odd", &in_file));
    hurray_file_free(file);
    /* Not copied where it is mapped, and still there when the file is closed. */
    HurrayRegion region = region_of(loaded, 0);
    CHECK(mapped == NULL || region.host == mapped);
    CHECK(region.flags & HURRAY_BUFFER_READ_ONLY || mapped == NULL);
    CHECK(element(loaded, 3, 1) == 13);
    hurray_tensor_free(loaded);
    OK(hurray_file_tensor_load(in_file, &loaded));
    CHECK(element(loaded, 0, 0) == 4);
    hurray_tensor_free(loaded);
    hurray_file_tensor_free(in_file);
    hurray_tensor_free(tensor);
    CHECK(count == 1);
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    memory_is_let_go_of_once();
    refused_memory_is_let_go_of_too();
    memory_may_begin_anywhere();
    who_may_write_is_known();
    empty_tensors_have_no_address();
    views_share_the_memory();
    narrow_elements_are_whole_numbers();
    tensors_go_through_files(arguments[1]);
    return 0;
}
