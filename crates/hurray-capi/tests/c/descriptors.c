/* Descriptors built, encoded, decoded, and asked for every field. */

#include "built.h"

static void dense(void)
{
    const uint64_t shape[] = {2, 3};
    hurray_builder *builder = NULL;
    OK(hurray_builder_new(HURRAY_DTYPE_FLOAT32, NULL, shape, 2, &builder));
    hurray_descriptor *made = built(builder);
    hurray_builder_free(builder);

    const hurray_descriptor_ref *descriptor = hurray_descriptor_borrow(made);
    CHECK(hurray_descriptor_dtype(descriptor) == HURRAY_DTYPE_FLOAT32);
    CHECK(hurray_descriptor_version_minor(descriptor) == 0);
    CHECK(hurray_descriptor_flags(descriptor) == 0);
    CHECK(hurray_descriptor_rank(descriptor) == 2);
    CHECK(hurray_descriptor_shape(descriptor)[0] == 2);
    CHECK(hurray_descriptor_shape(descriptor)[1] == 3);
    CHECK(hurray_descriptor_element_count(descriptor) == 6);
    CHECK(!hurray_descriptor_is_dynamic(descriptor));
    CHECK(hurray_descriptor_byte_offset(descriptor) == 0);
    CHECK(hurray_descriptor_buffer_count(descriptor) == 1);
    CHECK(hurray_descriptor_data_bytes(descriptor) == 24);

    HurrayHandle handle;
    OK(hurray_descriptor_buffer(descriptor, 0, &handle));
    CHECK(handle.byte_size == 24 && handle.alignment == 64);
    CHECK(handle.device_tag == HURRAY_DEVICE_CPU && handle.reserved == 0);
    CHECK(handle.sync_mode == HURRAY_SYNC_PRODUCER_SYNCED);
    CHECK(handle.memory_class == HURRAY_CLASS_STANDARD);
    REFUSED(hurray_descriptor_buffer(descriptor, 1, &handle), HURRAY_MISUSE, "capi.place");

    HurrayLayout layout = {0};
    layout.struct_size = sizeof layout;
    OK(hurray_descriptor_layout(descriptor, &layout));
    CHECK(layout.tag == HURRAY_LAYOUT_ROW_MAJOR && layout.strides == NULL);

    HurrayLocation location;
    const uint64_t last[] = {1, 2}, outside[] = {2, 0};
    OK(hurray_descriptor_locate(descriptor, last, 2, &location));
    CHECK(location.byte == 20 && location.bit == 0 && location.is_stored == 1);
    REFUSED(hurray_descriptor_locate(descriptor, outside, 2, &location), HURRAY_MISUSE,
            "index.out-of-bounds");
    REFUSED(hurray_descriptor_locate(descriptor, last, 1, &location), HURRAY_MISUSE, "index.rank");

    /* What is not there is said not to be there. */
    uint64_t numbers[2];
    uint8_t role;
    HurrayQuantization quantization = {0};
    quantization.struct_size = sizeof quantization;
    HurrayStatistics statistics = {0};
    statistics.struct_size = sizeof statistics;
    HurrayExtensionType extension = {0};
    extension.struct_size = sizeof extension;
    HurrayTile tile;
    REFUSED(hurray_descriptor_quantization(descriptor, &quantization), HURRAY_MISUSE, "capi.absent");
    REFUSED(hurray_descriptor_shard(descriptor, numbers, numbers), HURRAY_MISUSE, "capi.absent");
    REFUSED(hurray_descriptor_statistics(descriptor, &statistics), HURRAY_MISUSE, "capi.absent");
    REFUSED(hurray_descriptor_extension_type(descriptor, &extension), HURRAY_MISUSE, "capi.absent");
    REFUSED(hurray_descriptor_member_role(descriptor, &role), HURRAY_MISUSE, "capi.absent");
    REFUSED(hurray_descriptor_tile(descriptor, 0, &tile), HURRAY_MISUSE, "capi.absent");

    hurray_descriptor *copy = NULL;
    OK(hurray_descriptor_clone(descriptor, &copy));
    hurray_descriptor_free(made);
    CHECK(hurray_descriptor_rank(hurray_descriptor_borrow(copy)) == 2);
    hurray_descriptor_free(copy);
}

static void strided(void)
{
    const uint64_t shape[] = {2, 4};
    const int64_t upside_down[] = {-4, 1};
    hurray_builder *builder = NULL;
    OK(hurray_builder_new(HURRAY_DTYPE_INT16, NULL, shape, 2, &builder));
    OK(hurray_builder_strides(builder, upside_down));
    OK(hurray_builder_byte_offset(builder, 8));
    HurrayHandle handle = {0};
    handle.byte_size = 16;
    handle.alignment = 128;
    OK(hurray_builder_buffers(builder, &handle, 1));

    HurrayStatistics statistics = {0};
    statistics.struct_size = sizeof statistics;
    statistics.computed_mask = HURRAY_COMPUTED_NNZ | HURRAY_COMPUTED_RANGE;
    statistics.nnz = 7;
    statistics.value_min = -1.5;
    statistics.value_max = 2.0;
    statistics.value_abs_max = 2.0;
    OK(hurray_builder_statistics(builder, &statistics));

    const uint64_t parent[] = {8, 4}, offset[] = {6, 0};
    OK(hurray_builder_shard(builder, parent, offset));
    OK(hurray_builder_member_role(builder, HURRAY_MEMBER_CORRECTION));
    REFUSED(hurray_builder_member_role(builder, 2), HURRAY_CORRUPT, "composite-member.role");

    hurray_descriptor *made = built(builder);
    const hurray_descriptor_ref *descriptor = hurray_descriptor_borrow(made);
    CHECK(hurray_descriptor_flags(descriptor) ==
          (HURRAY_HAS_SHARD | HURRAY_HAS_STATISTICS | HURRAY_HAS_MEMBER_ROLE));
    HurrayLayout layout = {0};
    layout.struct_size = sizeof layout;
    OK(hurray_descriptor_layout(descriptor, &layout));
    CHECK(layout.tag == HURRAY_LAYOUT_STRIDED && layout.strides[0] == -4 && layout.strides[1] == 1);
    OK(hurray_descriptor_buffer(descriptor, 0, &handle));
    CHECK(handle.alignment == 128);

    HurrayStatistics read = {0};
    read.struct_size = sizeof read;
    OK(hurray_descriptor_statistics(descriptor, &read));
    CHECK(read.computed_mask == statistics.computed_mask && read.nnz == 7);
    CHECK(read.value_min == -1.5 && read.value_abs_max == 2.0);

    uint64_t parent_read[2], offset_read[2];
    OK(hurray_descriptor_shard(descriptor, parent_read, offset_read));
    CHECK(memcmp(parent_read, parent, sizeof parent) == 0);
    CHECK(memcmp(offset_read, offset, sizeof offset) == 0);
    uint8_t role = 9;
    OK(hurray_descriptor_member_role(descriptor, &role));
    CHECK(role == HURRAY_MEMBER_CORRECTION);

    /* A builder goes on after building, also from a descriptor. */
    hurray_builder *again = NULL;
    OK(hurray_builder_from(descriptor, &again));
    hurray_descriptor *twin = built(again);
    CHECK(hurray_descriptor_equal(descriptor, hurray_descriptor_borrow(twin)));
    hurray_descriptor_free(twin);
    OK(hurray_builder_byte_offset(again, 17));
    hurray_descriptor *wrong = NULL;
    REFUSED(hurray_builder_build(again, &wrong), HURRAY_CORRUPT,
            "descriptor.byte-offset-beyond-buffer");
    CHECK(wrong == NULL);
    statistics.computed_mask = 1 << 6;
    OK(hurray_builder_statistics(again, &statistics));
    OK(hurray_builder_byte_offset(again, 8));
    REFUSED(hurray_builder_build(again, &wrong), HURRAY_CORRUPT, "stats.reserved-mask");
    hurray_builder_free(again);
    hurray_builder_free(builder);
    hurray_descriptor_free(made);
}

static void quantized(void)
{
    const uint64_t shape[] = {2, 64};
    hurray_builder *builder = NULL;
    OK(hurray_builder_new(HURRAY_DTYPE_INT4, NULL, shape, 2, &builder));
    HurrayQuantization schemes[] = {
        {.scheme = HURRAY_SCHEME_PER_TENSOR, .scale = 0.5F, .zero_point = -3},
        {.scheme = HURRAY_SCHEME_PER_CHANNEL, .axis = 0, .scales = 1, .zero_points = 2},
        {.scheme = HURRAY_SCHEME_PER_BLOCK,
         .axis = 1,
         .block_size = 32,
         .scales = 1,
         .zero_points = HURRAY_NO_BUFFER,
         .scale_type = HURRAY_DTYPE_FLOAT16},
        {.scheme = HURRAY_SCHEME_MXFP, .axis = 1, .block_size = 32, .scales = 1},
        {.scheme = 0xF2, .version = 7, .flags = 9, .payload = "sealed", .payload_length = 6},
    };
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        HurrayQuantization *scheme = &schemes[i];
        scheme->struct_size = sizeof *scheme;
        OK(hurray_builder_quantization(builder, scheme));
        hurray_descriptor *made = built(builder);
        HurrayQuantization read = {.struct_size = sizeof read};
        OK(hurray_descriptor_quantization(hurray_descriptor_borrow(made), &read));
        CHECK(read.scheme == scheme->scheme && read.axis == scheme->axis);
        CHECK(read.block_size == scheme->block_size && read.scales == scheme->scales);
        CHECK(read.zero_points == scheme->zero_points && read.scale == scheme->scale);
        CHECK(read.zero_point == scheme->zero_point && read.scale_type == scheme->scale_type);
        CHECK(read.payload_length == scheme->payload_length);
        CHECK(read.payload_length == 0 || memcmp(read.payload, "sealed", 6) == 0);
        CHECK(hurray_descriptor_flags(hurray_descriptor_borrow(made)) == HURRAY_HAS_QUANTIZATION);
        hurray_descriptor_free(made);
    }
    hurray_descriptor *wrong = NULL;
    HurrayQuantization zero = {.struct_size = sizeof zero, .scheme = HURRAY_SCHEME_PER_TENSOR};
    OK(hurray_builder_quantization(builder, &zero));
    REFUSED(hurray_builder_build(builder, &wrong), HURRAY_CORRUPT, "quant.per-tensor.scale-zero");
    hurray_builder_free(builder);
}

static void unusual_types(void)
{
    hurray_builder *builder = NULL;
    hurray_descriptor *made;

    OK(hurray_builder_new(HURRAY_DTYPE_COMPLEX64, NULL, NULL, 0, &builder));
    made = built(builder);
    CHECK(hurray_descriptor_rank(hurray_descriptor_borrow(made)) == 0);
    CHECK(hurray_descriptor_element_count(hurray_descriptor_borrow(made)) == 1);
    hurray_descriptor_free(made);
    hurray_builder_free(builder);

    const uint64_t six[] = {5};
    OK(hurray_builder_new(HURRAY_DTYPE_FLOAT6_E3M2, NULL, six, 1, &builder));
    made = built(builder);
    HurrayLocation location;
    const uint64_t third[] = {2};
    OK(hurray_descriptor_locate(hurray_descriptor_borrow(made), third, 1, &location));
    CHECK(location.byte == 1 && location.bit == 4);
    hurray_descriptor_free(made);
    hurray_builder_free(builder);

    HurrayExtensionType ours = {.struct_size = sizeof ours,
                                .bit_width = 8,
                                .is_float = 1,
                                .sign_bits = 1,
                                .exponent_bits = 3,
                                .mantissa_bits = 4,
                                .exponent_bias = 3,
                                .has_nan = 1};
    OK(hurray_builder_new(0xF7, &ours, six, 1, &builder));
    made = built(builder);
    HurrayExtensionType read = {.struct_size = sizeof read};
    OK(hurray_descriptor_extension_type(hurray_descriptor_borrow(made), &read));
    CHECK(memcmp(&read, &ours, sizeof read) == 0);
    CHECK(hurray_descriptor_dtype(hurray_descriptor_borrow(made)) == 0xF7);
    CHECK(hurray_descriptor_flags(hurray_descriptor_borrow(made)) == HURRAY_HAS_EXTENSION_TYPE);
    hurray_descriptor_free(made);
    hurray_builder_free(builder);
    builder = NULL;
    ours.bit_width = 7;
    REFUSED(hurray_builder_new(0xF7, &ours, six, 1, &builder), HURRAY_CORRUPT,
            "ext-type.sub-byte-width");
    REFUSED(hurray_builder_new(0x47, NULL, six, 1, &builder), HURRAY_CORRUPT, "type.reserved-tag");
    REFUSED(hurray_builder_new(0xF7, NULL, six, 1, &builder), HURRAY_UNSUPPORTED,
            "type.private-tag");
    REFUSED(hurray_builder_new(HURRAY_DTYPE_INT8, NULL, six, SIZE_MAX, &builder), HURRAY_CORRUPT,
            "descriptor.rank-too-large");
    CHECK(builder == NULL);

    CHECK(strcmp(hurray_dtype_name(HURRAY_DTYPE_BFLOAT16), "bfloat16") == 0);
    CHECK(hurray_dtype_name(0xF7) == NULL && hurray_dtype_name(0) == NULL);
    CHECK(hurray_dtype_from_name("float4_e2m1") == HURRAY_DTYPE_FLOAT4_E2M1);
    CHECK(hurray_dtype_from_name("float5") == 0);
    CHECK(hurray_dtype_bits(HURRAY_DTYPE_FLOAT6_E2M3) == 6 && hurray_dtype_bits(0x47) == 0);
}

static void dynamic(void)
{
    const uint64_t shape[] = {HURRAY_DYNAMIC, 4}, sizes[] = {4, 4};
    HurrayHandle handle = {.byte_size = 64, .alignment = 64};
    hurray_builder *builder = NULL;
    OK(hurray_builder_new(HURRAY_DTYPE_FLOAT32, NULL, shape, 2, &builder));
    OK(hurray_builder_buffers(builder, &handle, 1));
    hurray_descriptor *made = built(builder), *resolved = NULL;
    const hurray_descriptor_ref *descriptor = hurray_descriptor_borrow(made);
    CHECK(hurray_descriptor_is_dynamic(descriptor));
    CHECK(hurray_descriptor_element_count(descriptor) == UINT64_MAX);
    OK(hurray_descriptor_resolve(descriptor, sizes, 1, &resolved));
    CHECK(hurray_descriptor_element_count(hurray_descriptor_borrow(resolved)) == 16);
    hurray_descriptor_free(resolved);
    resolved = NULL;
    REFUSED(hurray_descriptor_resolve(descriptor, sizes, 2, &resolved), HURRAY_MISUSE,
            "descriptor.dynamic-count");
    const uint64_t more[] = {5};
    REFUSED(hurray_descriptor_resolve(descriptor, more, 1, &resolved), HURRAY_CORRUPT,
            "layout.buffer-too-small");
    CHECK(resolved == NULL);
    handle.sync_mode = HURRAY_SYNC_EVENT;
    REFUSED(hurray_builder_buffers(builder, &handle, 1), HURRAY_CORRUPT, "buffer.cpu-sync");
    handle.sync_mode = 0;
    handle.reserved = 1;
    REFUSED(hurray_builder_buffers(builder, &handle, 1), HURRAY_CORRUPT, "buffer.reserved-byte");
    hurray_descriptor_free(made);
    hurray_builder_free(builder);
}

int main(void)
{
    dense();
    strided();
    quantized();
    unusual_types();
    dynamic();
    return 0;
}
