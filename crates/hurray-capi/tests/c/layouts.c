/* Every layout, built and read back, and elements found in them. */

#include "built.h"

static void of_a_square(void)
{
    const uint64_t square[] = {8, 8};
    HurrayLayout layout, read;
    hurray_builder *builder = NULL;
    OK(hurray_builder_new(HURRAY_DTYPE_UINT8, NULL, square, 2, &builder));

    /* Tiles of tiles. */
    const uint64_t coarse[] = {4, 4}, fine[] = {2, 4};
    const int64_t steps[] = {1, 2}, inside[] = {1, 2};
    HurrayTile tiles[2] = {{0}, {0}};
    tiles[0].shape = coarse;
    tiles[0].outer = HURRAY_LAYOUT_STRIDED;
    tiles[0].outer_strides = steps;
    tiles[1].shape = fine;
    tiles[1].outer = HURRAY_LAYOUT_COLUMN_MAJOR;
    layout = (HurrayLayout){.struct_size = sizeof layout,
                            .tag = HURRAY_LAYOUT_TILED,
                            .tiles = tiles,
                            .tile_count = 2,
                            .inner = HURRAY_LAYOUT_STRIDED,
                            .strides = inside};
    OK(hurray_builder_layout(builder, &layout));
    hurray_descriptor *made = built(builder);
    const hurray_descriptor_ref *descriptor = hurray_descriptor_borrow(made);
    read = (HurrayLayout){.struct_size = sizeof read};
    OK(hurray_descriptor_layout(descriptor, &read));
    CHECK(read.tag == HURRAY_LAYOUT_TILED && read.tile_count == 2 && read.tiles == NULL);
    CHECK(read.inner == HURRAY_LAYOUT_STRIDED && read.strides[1] == 2);
    HurrayTile tile;
    OK(hurray_descriptor_tile(descriptor, 0, &tile));
    CHECK(tile.outer == HURRAY_LAYOUT_STRIDED && tile.outer_strides[1] == 2 && tile.shape[0] == 4);
    OK(hurray_descriptor_tile(descriptor, 1, &tile));
    CHECK(tile.outer == HURRAY_LAYOUT_COLUMN_MAJOR && tile.outer_strides == NULL);
    REFUSED(hurray_descriptor_tile(descriptor, 2, &tile), HURRAY_MISUSE, "capi.place");
    hurray_descriptor_free(made);
    layout.inner = 9;
    REFUSED(hurray_builder_layout(builder, &layout), HURRAY_CORRUPT, "layout.tiled.inner-layout");

    const uint32_t bits[] = {3, 3};
    layout = (HurrayLayout){
        .struct_size = sizeof layout, .tag = HURRAY_LAYOUT_MORTON, .modes = bits};
    OK(hurray_builder_layout(builder, &layout));
    made = built(builder);
    OK(hurray_descriptor_layout(hurray_descriptor_borrow(made), &read));
    CHECK(read.tag == HURRAY_LAYOUT_MORTON && read.modes[0] == 3 && read.modes[1] == 3);
    hurray_descriptor_free(made);

    layout = (HurrayLayout){.struct_size = sizeof layout, .tag = HURRAY_LAYOUT_HILBERT, .order = 3};
    OK(hurray_builder_layout(builder, &layout));
    made = built(builder);
    OK(hurray_descriptor_layout(hurray_descriptor_borrow(made), &read));
    CHECK(read.tag == HURRAY_LAYOUT_HILBERT && read.order == 3);
    hurray_descriptor_free(made);

    layout = (HurrayLayout){
        .struct_size = sizeof layout, .tag = HURRAY_LAYOUT_COO, .nnz = 2, .is_sorted = 1};
    OK(hurray_builder_layout(builder, &layout));
    made = built(builder);
    descriptor = hurray_descriptor_borrow(made);
    OK(hurray_descriptor_layout(descriptor, &read));
    CHECK(read.tag == HURRAY_LAYOUT_COO && read.nnz == 2 && read.is_sorted == 1);

    /* Elements are found in the buffers, which are not trusted. */
    const uint8_t values[] = {5, 6};
    uint64_t indices[] = {0, 1, 7, 7};
    HurrayBytes buffers[] = {{values, sizeof values}, {indices, sizeof indices}};
    const uint64_t stored[] = {7, 7}, missing[] = {3, 3};
    HurrayLocation location;
    OK(hurray_descriptor_locate_in(descriptor, stored, 2, buffers, 2, &location));
    CHECK(location.is_stored == 1 && location.byte == 1);
    OK(hurray_descriptor_locate_in(descriptor, missing, 2, buffers, 2, &location));
    CHECK(location.is_stored == 0);
    REFUSED(hurray_descriptor_locate(descriptor, stored, 2, &location), HURRAY_MISUSE,
            "index.no-address");
    OK(hurray_descriptor_check_contents(descriptor, buffers, 2));
    indices[3] = 8;
    REFUSED(hurray_descriptor_check_contents(descriptor, buffers, 2), HURRAY_CORRUPT,
            "sparse.coo.out-of-bounds");
    hurray_descriptor_free(made);

    layout = (HurrayLayout){.struct_size = sizeof layout, .tag = HURRAY_LAYOUT_CSR, .nnz = 3};
    OK(hurray_builder_layout(builder, &layout));
    made = built(builder);
    OK(hurray_descriptor_layout(hurray_descriptor_borrow(made), &read));
    CHECK(read.tag == HURRAY_LAYOUT_CSR && read.nnz == 3);
    hurray_descriptor_free(made);

    layout = (HurrayLayout){.struct_size = sizeof layout, .tag = 0x20};
    OK(hurray_builder_layout(builder, &layout));
    hurray_descriptor *wrong = NULL;
    REFUSED(hurray_builder_build(builder, &wrong), HURRAY_UNSUPPORTED, "layout.unknown-tag");

    const char agreed[] = "agreed";
    layout = (HurrayLayout){.struct_size = sizeof layout,
                            .tag = 0xF1,
                            .private_id = 42,
                            .private_data = agreed,
                            .private_length = sizeof agreed};
    OK(hurray_builder_layout(builder, &layout));
    HurrayHandle handle = {.byte_size = 64, .alignment = 64};
    OK(hurray_builder_buffers(builder, &handle, 1));
    made = built(builder);
    OK(hurray_descriptor_layout(hurray_descriptor_borrow(made), &read));
    CHECK(read.tag == 0xF1 && read.private_id == 42 && read.private_length == sizeof agreed);
    CHECK(memcmp(read.private_data, agreed, sizeof agreed) == 0);
    hurray_descriptor_free(made);
    hurray_builder_free(builder);
}

static void of_a_cube(void)
{
    HurrayLayout layout, read = {.struct_size = sizeof read};
    HurrayLocation location;
    hurray_builder *builder = NULL;
    hurray_descriptor *made, *wrong = NULL;
    const hurray_descriptor_ref *descriptor;
    const uint64_t cube[] = {4, 4, 4};
    OK(hurray_builder_new(HURRAY_DTYPE_FLOAT16, NULL, cube, 3, &builder));
    const uint32_t modes[] = {2, 0, 1};
    layout = (HurrayLayout){
        .struct_size = sizeof layout, .tag = HURRAY_LAYOUT_CSF, .nnz = 1, .modes = modes};
    OK(hurray_builder_layout(builder, &layout));
    made = built(builder);
    OK(hurray_descriptor_layout(hurray_descriptor_borrow(made), &read));
    CHECK(read.tag == HURRAY_LAYOUT_CSF && read.modes[0] == 2 && read.nnz == 1);
    hurray_descriptor_free(made);

    layout = (HurrayLayout){.struct_size = sizeof layout,
                            .tag = HURRAY_LAYOUT_BLOCK_PAGED,
                            .page_size = 2,
                            .num_pages = 3,
                            .num_seqs = 1,
                            .kv_role = HURRAY_KV_VALUE,
                            .layer_index = HURRAY_NO_LAYER};
    OK(hurray_builder_layout(builder, &layout));
    made = built(builder);
    descriptor = hurray_descriptor_borrow(made);
    OK(hurray_descriptor_layout(descriptor, &read));
    CHECK(read.page_size == 2 && read.num_pages == 3 && read.num_seqs == 1);
    CHECK(read.kv_role == HURRAY_KV_VALUE && read.layer_index == HURRAY_NO_LAYER);
    uint16_t pool[3 * 2 * 4 * 4] = {0};
    const uint32_t table[] = {2, 0}, pointers[] = {0, 2};
    HurrayBytes paged[] = {{pool, sizeof pool}, {table, sizeof table}, {pointers, sizeof pointers}};
    OK(hurray_descriptor_locate_token(descriptor, 0, 3, 1, 2, paged, 3, &location));
    CHECK(location.byte == (1 * 16 + 1 * 4 + 2) * 2);
    REFUSED(hurray_descriptor_locate_token(descriptor, 0, 4, 0, 0, paged, 3, &location),
            HURRAY_MISUSE, "index.out-of-bounds");
    hurray_descriptor_free(made);
    layout.kv_role = 3;
    REFUSED(hurray_builder_layout(builder, &layout), HURRAY_CORRUPT, "layout.block-paged.kv-role");

    layout = (HurrayLayout){.struct_size = sizeof layout,
                            .tag = HURRAY_LAYOUT_COMPOSITE,
                            .composition = HURRAY_COMPOSITION_OVERLAY,
                            .combine = HURRAY_COMBINE_ADD,
                            .member_count = 2};
    OK(hurray_builder_layout(builder, &layout));
    made = built(builder);
    OK(hurray_descriptor_layout(hurray_descriptor_borrow(made), &read));
    CHECK(read.composition == HURRAY_COMPOSITION_OVERLAY && read.combine == HURRAY_COMBINE_ADD);
    CHECK(read.member_count == 2);
    CHECK(hurray_descriptor_buffer_count(hurray_descriptor_borrow(made)) == 0);
    hurray_descriptor_free(made);
    layout.combine = 0;
    OK(hurray_builder_layout(builder, &layout));
    REFUSED(hurray_builder_build(builder, &wrong), HURRAY_CORRUPT, "layout.composite.combine-op");
    hurray_builder_free(builder);
}

int main(void)
{
    of_a_square();
    of_a_cube();
    return 0;
}
