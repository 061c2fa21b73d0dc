/* What a careless program does that can be noticed, and files of strangers. */

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

/* ---- Structs that end where memory does ---------------------------------------------------------- */

enum { PAGE = 4096 };

/* A page, and behind it one that may not be touched. */
static unsigned char *edge(void)
{
    FILE *zeros = fopen("/dev/zero", "r");
    CHECK(zeros != NULL);
    void *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(zeros), 0);
    CHECK(pages != MAP_FAILED);
    fclose(zeros);
    CHECK(mprotect((char *)pages + PAGE, PAGE, PROT_NONE) == 0);
    return (unsigned char *)pages + PAGE;
}

static hurray_tensor *three_bytes(void)
{
    static unsigned char memory[3] = {1, 2, 3};
    hurray_builder *builder = NULL;
    hurray_tensor *tensor = NULL;
    const uint64_t shape[] = {3};
    const HurrayMemory piece = {.data = memory, .length = sizeof memory};
    OK(hurray_builder_new(HURRAY_DTYPE_UINT8, NULL, shape, 1, &builder));
    OK(hurray_tensor_build(builder, &piece, 1, &tensor));
    hurray_builder_free(builder);
    return tensor;
}

/* Runs `call` with a struct of each length that its first bytes can have. */
#define AT_THE_EDGE(Type, least, call)                                                         \
    do {                                                                                       \
        for (uint32_t size = 8; size <= sizeof(Type); size += 8) {                             \
            unsigned char *place = edge_of_memory - size;                                      \
            memset(place, 0, size);                                                            \
            memcpy(place, &size, sizeof size);                                                 \
            Type *at = (Type *)(void *)place;                                                  \
            int32_t status = (call);                                                           \
            CHECK((size >= (least)) == (status == HURRAY_OK));                                 \
            CHECK(status == HURRAY_OK || status == HURRAY_MISUSE);                             \
        }                                                                                      \
        static const uint32_t never[] = {0, 1, 7, 4097, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF};   \
        for (size_t n = 0; n < sizeof never / sizeof *never; n++) {                            \
            unsigned char *place = edge_of_memory - 8;                                         \
            memcpy(place, &never[n], sizeof never[n]);                                         \
            Type *at = (Type *)(void *)place;                                                  \
            CHECK((call) == HURRAY_MISUSE);                                                    \
        }                                                                                      \
    } while (0)

static void nothing_is_read_past_the_end(void)
{
    unsigned char *edge_of_memory = edge();
    hurray_tensor *tensor = three_bytes();
    const hurray_descriptor_ref *descriptor = hurray_tensor_descriptor(tensor);
    HurrayVerdict verdict = {.struct_size = sizeof verdict};
    AT_THE_EDGE(HurrayRule, sizeof(HurrayRule), hurray_rule_at(0, at));
    AT_THE_EDGE(HurrayVerdict, sizeof(HurrayVerdict), hurray_last_verdict(at));
    AT_THE_EDGE(HurrayAccept, sizeof(HurrayAccept), hurray_descriptor_verdict("", 0, at, &verdict));
    AT_THE_EDGE(HurrayLayout, sizeof(HurrayLayout), hurray_descriptor_layout(descriptor, at));
    AT_THE_EDGE(HurrayRegion, sizeof(HurrayRegion), hurray_tensor_region(tensor, 0, at));

    for (uint32_t size = 16; size <= sizeof(HurrayTensor); size += 8) {
        HurrayTensor *at = (HurrayTensor *)(void *)(edge_of_memory - size);
        memset(at, 0xEE, size);
        at->struct_size = size;
        CHECK((hurray_tensor_export(tensor, at) == HURRAY_OK) == (size == sizeof *at));
        CHECK((size == sizeof *at) == (at->release != NULL));
        if (at->release != NULL) {
            at->release(at);
        }
    }
    for (uint32_t size = 16; size <= sizeof(HurrayProducer); size += 8) {
        HurrayProducer *at = (HurrayProducer *)(void *)(edge_of_memory - size);
        memset(at, 0xEE, size);
        at->struct_size = size;
        CHECK((hurray_tensor_producer(tensor, at) == HURRAY_OK) == (size == sizeof *at));
        CHECK((size == sizeof *at) == (at->release != NULL));
        if (at->release != NULL) {
            at->release(at);
        }
    }
    hurray_tensor_free(tensor);
}

/* ---- Counts that cannot be true ------------------------------------------------------------------ */

static void no_count_ends_the_program(void)
{
    hurray_tensor *tensor = three_bytes(), *other = NULL;
    const hurray_descriptor_ref *descriptor = hurray_tensor_descriptor(tensor);
    const HurrayMemory piece = {0};
    const size_t counts[] = {SIZE_MAX, SIZE_MAX / sizeof piece, SIZE_MAX / 2 / sizeof piece,
                             (size_t)1 << 56, (size_t)1 << 50, (size_t)1 << 48};
    for (size_t n = 0; n < sizeof counts / sizeof *counts; n++) {
        int32_t status = hurray_tensor_new(descriptor, &piece, counts[n], &other);
        CHECK(status == HURRAY_MISUSE || status == HURRAY_OUT_OF_MEMORY);
        CHECK(other == NULL);
    }
    const uint64_t index[] = {0};
    unsigned char byte = 0;
    const size_t most = SIZE_MAX;
    REFUSED(hurray_tensor_element(tensor, index, most, &byte, 1), HURRAY_MISUSE, "capi.length");
    REFUSED(hurray_tensor_element(tensor, index, 1, &byte, most), HURRAY_MISUSE, "capi.length");
    REFUSED(hurray_tensor_reshape(tensor, index, most / 8, &other), HURRAY_MISUSE, "capi.length");
    hurray_builder *builder = NULL;
    REFUSED(hurray_builder_new(HURRAY_DTYPE_UINT8, NULL, index, most, &builder), HURRAY_CORRUPT,
            "descriptor.rank-too-large");
    CHECK(other == NULL && builder == NULL);
    hurray_tensor_free(tensor);
}

/* ---- Handles that are spent ---------------------------------------------------------------------- */

static void what_is_spent_is_refused_and_freed_once(void)
{
    hurray_tensor *tensor = three_bytes(), *other = NULL;
    HurrayTensor out = {.struct_size = sizeof out};
    OK(hurray_tensor_give(tensor, &out));
    CHECK(hurray_tensor_descriptor(tensor) == NULL);
    HurrayRegion region = {.struct_size = sizeof region};
    HurrayTensor again = {.struct_size = sizeof again, .release = out.release};
    HurrayProducer producer = {.struct_size = sizeof producer};
    const hurray_tensor *const tensors[] = {tensor};
    hurray_composite *composite = NULL;
    void *data = NULL;
    REFUSED(hurray_tensor_region(tensor, 0, &region), HURRAY_MISUSE, "capi.finished");
    REFUSED(hurray_tensor_write(tensor, 0, &data), HURRAY_MISUSE, "capi.finished");
    REFUSED(hurray_tensor_clone(tensor, &other), HURRAY_MISUSE, "capi.finished");
    REFUSED(hurray_tensor_check_contents(tensor), HURRAY_MISUSE, "capi.finished");
    REFUSED(hurray_tensor_row_major(tensor, 0, &other), HURRAY_MISUSE, "capi.finished");
    REFUSED(hurray_tensor_give(tensor, &again), HURRAY_MISUSE, "capi.finished");
    CHECK(again.release == NULL);
    REFUSED(hurray_tensor_export(tensor, &again), HURRAY_MISUSE, "capi.finished");
    REFUSED(hurray_tensor_producer(tensor, &producer), HURRAY_MISUSE, "capi.finished");
    REFUSED(hurray_composite_new(tensors, 1, &composite), HURRAY_MISUSE, "capi.finished");
    hurray_tensor_free(tensor);

    hurray_offer *offer = NULL;
    OK(hurray_offer_take(&out, NULL, &offer));
    CHECK(out.release == NULL);
    REFUSED(hurray_offer_take(&out, NULL, &offer), HURRAY_PEER, "exchange.released");
    REFUSED(hurray_tensor_import(&out, NULL, &other), HURRAY_PEER, "exchange.released");
    REFUSED(hurray_composite_import(&out, NULL, &composite), HURRAY_PEER, "exchange.released");
    OK(hurray_offer_acquire(offer, &tensor));
    uint8_t mode = 0;
    CHECK(hurray_offer_descriptor(offer) == NULL);
    REFUSED(hurray_offer_sync_mode(offer, 0, &mode), HURRAY_MISUSE, "capi.finished");
    REFUSED(hurray_offer_acquire(offer, &other), HURRAY_MISUSE, "capi.finished");
    REFUSED(hurray_offer_export(offer, &out), HURRAY_MISUSE, "capi.finished");
    CHECK(out.release == NULL && other == NULL && composite == NULL);
    hurray_offer_free(offer);
    hurray_tensor_free(tensor);
}

/* ---- Files of strangers -------------------------------------------------------------------------- */

static int is_a_status(int32_t status)
{
    return status != HURRAY_PANIC && status != HURRAY_OUT_OF_MEMORY &&
           hurray_status_name(status) != NULL;
}

static int32_t see(void *context, const HurrayKeyValue *value)
{
    (void)value;
    return ++*(int *)context < 100 ? 0 : 1;
}

static void look_through(const char *path, int32_t (*open)(const char *, const HurrayAccept *,
                                                           hurray_file **))
{
    static unsigned char bytes[PAGE];
    hurray_file *file = NULL;
    if (!is_a_status(open(path, NULL, &file)) || file == NULL) {
        CHECK(file == NULL);
        return;
    }
    CHECK(is_a_status(hurray_file_verify(file, NULL, NULL)));
    int seen = 0;
    hurray_file_each_key_value(file, see, &seen);
    size_t count = hurray_file_tensor_count(file);
    for (size_t place = 0; place <= count && place < 20; place++) {
        hurray_file_tensor *found = NULL;
        hurray_tensor *loaded = NULL;
        hurray_composite *composite = NULL;
        size_t length = 0;
        hurray_file_name(file, place, &length);
        if (hurray_file_at(file, place, &found) != HURRAY_OK) {
            continue;
        }
        for (size_t buffer = 0; buffer < 3; buffer++) {
            const unsigned char *mapped = hurray_file_tensor_mapped(found, buffer);
            uint64_t offset = 0, size = 0;
            if (hurray_file_tensor_range(found, buffer, &offset, &size) == HURRAY_OK &&
                mapped != NULL && size > 0) {
                bytes[0] ^= mapped[0] ^ mapped[size - 1];
            }
            CHECK(is_a_status(hurray_file_tensor_read(found, buffer, bytes, sizeof bytes)));
            CHECK(is_a_status(hurray_file_tensor_read_checked(found, buffer, bytes, sizeof bytes)));
        }
        CHECK(is_a_status(hurray_file_tensor_verify(found)));
        CHECK(is_a_status(hurray_composite_load(file, "head", &composite)));
        int32_t status = hurray_file_tensor_load(found, &loaded);
        CHECK(is_a_status(status) && (status == HURRAY_OK) == (loaded != NULL));
        hurray_file_tensor_free(found);
        if (loaded != NULL) {
            const uint64_t index[] = {0, 0};
            HurrayTensor out = {.struct_size = sizeof out};
            uint64_t element[2];
            CHECK(is_a_status(hurray_tensor_element(loaded, index, 2, element, sizeof element)));
            CHECK(is_a_status(hurray_tensor_check_contents(loaded)));
            /* A head does not go out without its members. */
            status = hurray_tensor_export(loaded, &out);
            CHECK(status == HURRAY_OK || strstr(hurray_last_error(), "[exchange.composite]") != NULL);
            hurray_tensor_free(loaded);
            loaded = NULL;
            if (status == HURRAY_OK) {
                CHECK(is_a_status(hurray_tensor_import(&out, NULL, &loaded)));
            }
            CHECK(out.release == NULL);
            hurray_tensor_free(loaded);
        }
        hurray_composite_free(composite);
    }
    hurray_file_free(file);
}

static void put(hurray_writer *writer, const char *name, const uint64_t *shape, size_t rank,
                const HurrayLayout *layout)
{
    static unsigned char room[1024];
    HurrayBytes pieces[3];
    hurray_builder *builder = NULL;
    hurray_descriptor *made = NULL;
    OK(hurray_builder_new(HURRAY_DTYPE_UINT8, NULL, shape, rank, &builder));
    if (layout != NULL) {
        OK(hurray_builder_layout(builder, layout));
    }
    OK(hurray_builder_build(builder, &made));
    const hurray_descriptor_ref *descriptor = hurray_descriptor_borrow(made);
    size_t count = hurray_descriptor_buffer_count(descriptor);
    CHECK(count <= 3);
    for (size_t place = 0; place < count; place++) {
        HurrayHandle handle;
        OK(hurray_descriptor_buffer(descriptor, place, &handle));
        pieces[place] = (HurrayBytes){room, handle.byte_size};
    }
    OK(hurray_writer_tensor(writer, name, descriptor, pieces, count));
    hurray_descriptor_free(made);
    hurray_builder_free(builder);
}

/* A file with a bit of everything. */
static size_t sample(const char *path, unsigned char **bytes)
{
    hurray_writer *writer = NULL;
    const uint64_t shape[] = {4, 5};
    const HurrayLayout coo = {
        .struct_size = sizeof coo, .tag = HURRAY_LAYOUT_COO, .nnz = 1, .is_sorted = 1};
    const HurrayLayout head = {.struct_size = sizeof head,
                               .tag = HURRAY_LAYOUT_COMPOSITE,
                               .composition = HURRAY_COMPOSITION_GROUP,
                               .member_count = 2};
    OK(hurray_writer_create(path, NULL, &writer));
    put(writer, "dense", shape, 2, NULL);
    put(writer, "sparse", shape, 2, &coo);
    put(writer, "head", shape, 2, &head);
    put(writer, "first", shape, 2, NULL);
    put(writer, "second", shape, 1, NULL);
    OK(hurray_writer_alias(writer, "other", "dense"));
    OK(hurray_writer_text(writer, "test.key", "a word"));
    OK(hurray_writer_finish(writer));
    hurray_writer_free(writer);
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL && fseek(file, 0, SEEK_END) == 0);
    long length = ftell(file);
    CHECK(length > 0 && fseek(file, 0, SEEK_SET) == 0);
    *bytes = malloc((size_t)length);
    CHECK(*bytes != NULL && fread(*bytes, 1, (size_t)length, file) == (size_t)length);
    fclose(file);
    return (size_t)length;
}

static void write_file(const char *path, const unsigned char *bytes, size_t length)
{
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL && fwrite(bytes, 1, length, file) == length);
    CHECK(fclose(file) == 0);
}

static void files_of_strangers_get_an_answer(const char *folder)
{
    char path[PAGE], broken[PAGE];
    unsigned char *bytes = NULL;
    snprintf(path, sizeof path, "%s/good.hrry", folder);
    snprintf(broken, sizeof broken, "%s/broken.hrry", folder);
    size_t length = sample(path, &bytes);
    look_through(path, hurray_file_open);
    look_through(path, hurray_file_map);
    size_t tried = 0;
    HurrayVerdict verdict = {.struct_size = sizeof verdict};
    for (size_t place = 0; place < length; place++) {
        /* Of padding, a few bytes are enough. */
        if (bytes[place] == 0 && place % 61 != 0) {
            continue;
        }
        static const unsigned char changes[] = {0x01, 0xFF};
        for (size_t n = 0; n < sizeof changes; n++) {
            bytes[place] ^= changes[n];
            OK(hurray_file_verdict(bytes, length, NULL, &verdict));
            CHECK(is_a_status(verdict.status));
            write_file(broken, bytes, length);
            look_through(broken, n % 2 ? hurray_file_map : hurray_file_open);
            tried++;
            bytes[place] ^= changes[n];
        }
    }
    for (size_t shorter = 0; shorter < length; shorter += shorter < 200 ? 7 : 331) {
        write_file(broken, bytes, shorter);
        look_through(broken, shorter % 2 ? hurray_file_map : hurray_file_open);
        tried++;
    }
    CHECK(tried > 500);
    free(bytes);
    CHECK(unlink(broken) == 0);
    hurray_file *file = NULL;
    CHECK(hurray_file_open(folder, NULL, &file) == HURRAY_SYSTEM);
    CHECK(hurray_file_map(folder, NULL, &file) == HURRAY_SYSTEM);
    CHECK(hurray_file_open(broken, NULL, &file) == HURRAY_SYSTEM && file == NULL);
}

/* ---- Threads ------------------------------------------------------------------------------------- */

static void *fail_often(void *number)
{
    char id[32];
    snprintf(id, sizeof id, "no.rule-%d", *(int *)number);
    HurrayRule rule = {.struct_size = sizeof rule};
    for (int n = 0; n < 2000; n++) {
        CHECK(hurray_rule_find(id, &rule) == HURRAY_MISUSE);
        const char *first = hurray_last_error();
        CHECK(first == hurray_last_error() && strstr(first, "capi.unknown-rule") != NULL);
        CHECK(hurray_rule_find("\xFF\xFE", &rule) == HURRAY_MISUSE);
        CHECK(strstr(hurray_last_error(), "capi.text") != NULL);
    }
    return NULL;
}

static void each_thread_fails_for_itself(void)
{
    pthread_t threads[4];
    int numbers[4] = {0, 1, 2, 3};
    for (int n = 0; n < 4; n++) {
        CHECK(pthread_create(&threads[n], NULL, fail_often, &numbers[n]) == 0);
    }
    for (int n = 0; n < 4; n++) {
        CHECK(pthread_join(threads[n], NULL) == 0);
    }
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    nothing_is_read_past_the_end();
    no_count_ends_the_program();
    what_is_spent_is_refused_and_freed_once();
    each_thread_fails_for_itself();
    files_of_strangers_get_an_answer(arguments[1]);
    return 0;
}
