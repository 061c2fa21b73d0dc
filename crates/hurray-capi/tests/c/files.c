/* Files written, opened, mapped, looked through and verified. Takes a folder to work in. */

#include "check.h"

static char path[4096];

static hurray_descriptor *described(uint8_t dtype, const uint64_t *shape, size_t rank)
{
    hurray_builder *builder = NULL;
    hurray_descriptor *made = NULL;
    OK(hurray_builder_new(dtype, NULL, shape, rank, &builder));
    OK(hurray_builder_build(builder, &made));
    hurray_builder_free(builder);
    return made;
}

static const float matrix[] = {1, 2, 3, 4, 5, 6};
static const unsigned char flags[] = {0xA5, 0x01};

static void fill(hurray_writer *writer)
{
    const uint64_t shape[] = {2, 3}, thirteen[] = {13}, none[] = {0, 4};
    hurray_descriptor *m = described(HURRAY_DTYPE_FLOAT32, shape, 2);
    hurray_descriptor *b = described(HURRAY_DTYPE_BOOL, thirteen, 1);
    hurray_descriptor *e = described(HURRAY_DTYPE_INT64, none, 2);
    HurrayBytes buffer = {matrix, sizeof matrix};
    OK(hurray_writer_tensor(writer, "m", hurray_descriptor_borrow(m), &buffer, 1));
    buffer = (HurrayBytes){flags, sizeof flags};
    OK(hurray_writer_tensor(writer, "flags", hurray_descriptor_borrow(b), &buffer, 1));
    buffer = (HurrayBytes){NULL, 0};
    OK(hurray_writer_tensor(writer, "empty", hurray_descriptor_borrow(e), &buffer, 1));
    OK(hurray_writer_alias(writer, "tied", "m"));

    REFUSED(hurray_writer_alias(writer, "loose", "gone"), HURRAY_CORRUPT, "file.tensor.alias-key");
    REFUSED(hurray_writer_tensor(writer, "m", hurray_descriptor_borrow(e), &buffer, 1),
            HURRAY_CORRUPT, "file.index.name-duplicate");
    REFUSED(hurray_writer_tensor(writer, "x", hurray_descriptor_borrow(m), &buffer, 1),
            HURRAY_MISUSE, "file.tensor.buffer-length");
    REFUSED(hurray_writer_tensor(writer, "x", hurray_descriptor_borrow(m), NULL, 0),
            HURRAY_MISUSE, "file.tensor.buffer-count");
    hurray_descriptor_free(m);
    hurray_descriptor_free(b);
    hurray_descriptor_free(e);

    const int64_t signs[] = {-1, 2};
    const uint64_t lengths[] = {UINT64_MAX};
    const double halves[] = {0.5, 1.5};
    const uint8_t answers[] = {1, 0, 1};
    const HurrayBytes words[] = {{"a", 1}, {"", 0}, {"b\0c", 3}};
    const HurrayKeyValue values[] = {
        {.kind = HURRAY_KIND_STRING, .key = "text", .data = "caf\xC3\xA9", .length = 5},
        {.kind = HURRAY_KIND_INT64, .key = "int64", .int64 = -7},
        {.kind = HURRAY_KIND_UINT64, .key = "uint64", .uint64 = UINT64_MAX},
        {.kind = HURRAY_KIND_FLOAT64, .key = "float64", .float64 = -0.25},
        {.kind = HURRAY_KIND_BOOL, .key = "bool", .boolean = 1},
        {.kind = HURRAY_KIND_BYTES, .key = "bytes", .data = "\xFF\x00", .length = 2},
        {.kind = HURRAY_KIND_ARRAY, .element = HURRAY_KIND_INT64, .key = "signs", .data = signs,
         .length = 2},
        {.kind = HURRAY_KIND_ARRAY, .element = HURRAY_KIND_UINT64, .key = "lengths",
         .data = lengths, .length = 1},
        {.kind = HURRAY_KIND_ARRAY, .element = HURRAY_KIND_FLOAT64, .key = "halves",
         .data = halves, .length = 2},
        {.kind = HURRAY_KIND_ARRAY, .element = HURRAY_KIND_BOOL, .key = "answers",
         .data = answers, .length = 3},
        {.kind = HURRAY_KIND_ARRAY, .element = HURRAY_KIND_STRING, .key = "words", .data = words,
         .length = 3},
        {.kind = HURRAY_KIND_ARRAY, .element = HURRAY_KIND_BYTES, .key = "runs", .data = words,
         .length = 3},
        {.kind = HURRAY_KIND_ARRAY, .element = HURRAY_KIND_STRING, .key = "none"},
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        HurrayKeyValue value = values[i];
        value.struct_size = sizeof value;
        value.key_length = strlen(value.key);
        OK(hurray_writer_key_value(writer, &value));
    }
    OK(hurray_writer_text(writer, "license", "CC0"));

    HurrayKeyValue wrong = {.struct_size = sizeof wrong, .key = "k", .key_length = 1};
    wrong.kind = 8;
    REFUSED(hurray_writer_key_value(writer, &wrong), HURRAY_CORRUPT, "file.kv.reserved-tag");
    wrong.kind = HURRAY_KIND_BOOL;
    wrong.boolean = 2;
    REFUSED(hurray_writer_key_value(writer, &wrong), HURRAY_MISUSE, "capi.reserved");
    wrong.kind = HURRAY_KIND_STRING;
    wrong.data = "\xFF";
    wrong.length = 1;
    REFUSED(hurray_writer_key_value(writer, &wrong), HURRAY_MISUSE, "capi.text");
    wrong.kind = wrong.element = HURRAY_KIND_ARRAY;
    REFUSED(hurray_writer_key_value(writer, &wrong), HURRAY_CORRUPT, "file.kv.array-element-tag");
    REFUSED(hurray_writer_text(writer, "license", "again"), HURRAY_CORRUPT,
            "file.kv.key-duplicate");
}

static void saved(void)
{
    hurray_writer *writer = NULL;
    hurray_file *file = NULL;

    /* A file that is not finished leaves nothing. */
    OK(hurray_writer_create(path, NULL, &writer));
    fill(writer);
    hurray_writer_free(writer);
    CHECK(hurray_file_open(path, NULL, &file) == HURRAY_SYSTEM && file == NULL);
    HurrayVerdict verdict = {.struct_size = sizeof verdict};
    OK(hurray_last_verdict(&verdict));
    CHECK(verdict.status == HURRAY_SYSTEM && verdict.rule == NULL && verdict.field == NULL);
    CHECK(strstr(verdict.message, path) != NULL);

    HurrayWriteOptions options = {.struct_size = sizeof options, .alignment = 8192, .sorted = 1};
    OK(hurray_writer_create(path, &options, &writer));
    fill(writer);
    OK(hurray_writer_finish(writer));
    REFUSED(hurray_writer_finish(writer), HURRAY_MISUSE, "capi.finished");
    REFUSED(hurray_writer_text(writer, "a", "b"), HURRAY_MISUSE, "capi.finished");
    hurray_writer_free(writer);

    writer = NULL;
    options.alignment = 100;
    CHECK(hurray_writer_create(path, &options, &writer) != HURRAY_OK && writer == NULL);
    options.alignment = 0;
    options.reserved[4] = 1;
    REFUSED(hurray_writer_create(path, &options, &writer), HURRAY_MISUSE, "capi.reserved");
    options.reserved[4] = 0;
    options.no_key_values = 1;
    char other[4200];
    snprintf(other, sizeof other, "%s.other", path);
    OK(hurray_writer_create(other, &options, &writer));
    REFUSED(hurray_writer_text(writer, "a", "b"), HURRAY_MISUSE,
            "file.header.writer-kv-undeclared");
    hurray_writer_free(writer);
}

static void told(void *context, uint64_t done, uint64_t total)
{
    uint64_t *last = context;
    CHECK(done >= *last && done <= total);
    *last = done == total ? UINT64_MAX : done;
}

static void opened(hurray_file *file)
{
    size_t length = 0;
    const char *name;
    CHECK(hurray_file_tensor_count(file) == 3);
    /* Sorted, as was asked for. */
    name = hurray_file_name(file, 0, &length);
    CHECK(length == 5 && memcmp(name, "empty", 5) == 0);
    name = hurray_file_name(file, 2, &length);
    CHECK(length == 1 && *name == 'm');
    CHECK(hurray_file_name(file, 3, &length) == NULL);
    CHECK(strstr(hurray_last_error(), "capi.place") != NULL);

    uint64_t last = 0;
    OK(hurray_file_verify(file, told, &last));
    CHECK(last == UINT64_MAX);
    OK(hurray_file_verify(file, NULL, NULL));

    hurray_file_tensor *tied = NULL, *first = NULL, *nobody = NULL;
    OK(hurray_file_find(file, "tied", &tied));
    OK(hurray_file_at(file, 0, &first));
    REFUSED(hurray_file_find(file, "nobody", &nobody), HURRAY_MISUSE, "file.index.unknown-name");
    REFUSED(hurray_file_at(file, 3, &nobody), HURRAY_MISUSE, "capi.place");
    CHECK(nobody == NULL);
    /* The tensors keep the file. */
    hurray_file_free(file);

    name = hurray_file_tensor_name(tied, &length);
    CHECK(length == 1 && *name == 'm');
    const hurray_descriptor_ref *descriptor = hurray_file_tensor_descriptor(tied);
    CHECK(hurray_descriptor_rank(descriptor) == 2 && hurray_descriptor_shape(descriptor)[1] == 3);
    OK(hurray_file_tensor_verify(tied));

    uint64_t offset = 0, size = 0;
    OK(hurray_file_tensor_range(tied, 0, &offset, &size));
    CHECK(offset % 8192 == 0 && size == sizeof matrix);
    REFUSED(hurray_file_tensor_range(tied, 1, &offset, &size), HURRAY_MISUSE, "capi.place");

    float read[6] = {0};
    OK(hurray_file_tensor_read(tied, 0, read, sizeof read));
    CHECK(memcmp(read, matrix, sizeof matrix) == 0);
    memset(read, 0, sizeof read);
    OK(hurray_file_tensor_read_checked(tied, 0, read, sizeof read));
    CHECK(memcmp(read, matrix, sizeof matrix) == 0);
    REFUSED(hurray_file_tensor_read(tied, 0, read, sizeof read - 1), HURRAY_MISUSE,
            "capi.output-too-small");
    REFUSED(hurray_file_tensor_read(tied, 1, read, sizeof read), HURRAY_MISUSE, "capi.place");

    OK(hurray_file_tensor_read(first, 0, NULL, 0));
    CHECK(hurray_descriptor_element_count(hurray_file_tensor_descriptor(first)) == 0);

    const void *mapped = hurray_file_tensor_mapped(tied, 0);
    CHECK(mapped == NULL || memcmp(mapped, matrix, sizeof matrix) == 0);
    CHECK(mapped == NULL || (uintptr_t)mapped % 64 == 0);
    hurray_file_tensor_free(first);
    hurray_file_tensor_free(tied);
}

struct seen {
    int count;
    int stop_at;
};

static int32_t visited(void *context, const HurrayKeyValue *value)
{
    struct seen *seen = context;
    CHECK(value->struct_size == sizeof *value && value->key != NULL);
    return ++seen->count == seen->stop_at ? 77 : 0;
}

static int32_t word(void *context, const HurrayKeyValue *value)
{
    int *count = context;
    const char *const words[] = {"a", "", "b\0c"};
    const size_t lengths[] = {1, 0, 3};
    CHECK(value->key == NULL && value->kind == HURRAY_KIND_STRING);
    CHECK(value->length == lengths[*count]);
    CHECK(memcmp(value->data, words[*count], value->length) == 0);
    ++*count;
    return 0;
}

static int32_t length_of(void *context, const HurrayKeyValue *value)
{
    CHECK(value->kind == HURRAY_KIND_UINT64);
    *(uint64_t *)context = value->uint64;
    return 0;
}

static void key_values(const hurray_file *file)
{
    /* Fourteen of ours, the alias, and the checksums of three tensors. */
    CHECK(hurray_file_key_count(file) == 14 + 1 + 3);
    struct seen seen = {0, 0};
    OK(hurray_file_each_key_value(file, visited, &seen));
    CHECK(seen.count == 18);
    seen = (struct seen){0, 2};
    CHECK(hurray_file_each_key_value(file, visited, &seen) == 77 && seen.count == 2);

    HurrayKeyValue value = {.struct_size = sizeof value};
    OK(hurray_file_key_value(file, "text", &value));
    CHECK(value.kind == HURRAY_KIND_STRING && value.length == 5);
    CHECK(memcmp(value.data, "caf\xC3\xA9", 5) == 0);
    OK(hurray_file_key_value(file, "int64", &value));
    CHECK(value.kind == HURRAY_KIND_INT64 && value.int64 == -7 && value.data == NULL);
    OK(hurray_file_key_value(file, "uint64", &value));
    CHECK(value.kind == HURRAY_KIND_UINT64 && value.uint64 == UINT64_MAX && value.int64 == 0);
    OK(hurray_file_key_value(file, "float64", &value));
    CHECK(value.kind == HURRAY_KIND_FLOAT64 && value.float64 == -0.25);
    OK(hurray_file_key_value(file, "bool", &value));
    CHECK(value.kind == HURRAY_KIND_BOOL && value.boolean == 1);
    OK(hurray_file_key_value(file, "bytes", &value));
    CHECK(value.kind == HURRAY_KIND_BYTES && value.length == 2);
    OK(hurray_file_key_value(file, "words", &value));
    CHECK(value.kind == HURRAY_KIND_ARRAY && value.element == HURRAY_KIND_STRING);
    CHECK(value.length == 3 && value.data == NULL);
    REFUSED(hurray_file_key_value(file, "nothing", &value), HURRAY_MISUSE, "capi.absent");

    int count = 0;
    OK(hurray_file_each_item(file, "words", word, &count));
    CHECK(count == 3);
    uint64_t length = 0;
    OK(hurray_file_each_item(file, "lengths", length_of, &length));
    CHECK(length == UINT64_MAX);
    count = 0;
    OK(hurray_file_each_item(file, "none", word, &count));
    CHECK(count == 0);
    REFUSED(hurray_file_each_item(file, "text", word, &count), HURRAY_MISUSE, "capi.absent");
}

static void a_changed_byte_is_noticed(void)
{
    hurray_file *file = NULL;
    hurray_file_tensor *tensor = NULL;
    uint64_t offset = 0, size = 0;
    OK(hurray_file_open(path, NULL, &file));
    OK(hurray_file_find(file, "m", &tensor));
    OK(hurray_file_tensor_range(tensor, 0, &offset, &size));
    FILE *bytes = fopen(path, "r+b");
    CHECK(bytes != NULL && fseek(bytes, (long)offset, SEEK_SET) == 0);
    CHECK(fputc(0x5A, bytes) == 0x5A && fclose(bytes) == 0);

    float read[6];
    OK(hurray_file_tensor_read(tensor, 0, read, sizeof read));
    REFUSED(hurray_file_tensor_read_checked(tensor, 0, read, sizeof read), HURRAY_CORRUPT,
            "file.tensor.checksum-mismatch");
    REFUSED(hurray_file_tensor_verify(tensor), HURRAY_CORRUPT, "file.tensor.checksum-mismatch");
    REFUSED(hurray_file_verify(file, NULL, NULL), HURRAY_CORRUPT, "file.tensor.checksum-mismatch");
    CHECK(strstr(hurray_last_error(), "\"m\"") != NULL);
    hurray_file_tensor_free(tensor);
    hurray_file_free(file);
}

struct memory {
    unsigned char *bytes;
    size_t length, limit;
};

static int32_t keep(void *context, const void *bytes, size_t length)
{
    struct memory *memory = context;
    if (memory->length + length > memory->limit) {
        return 5;
    }
    memory->bytes = realloc(memory->bytes, memory->length + length + 1);
    CHECK(memory->bytes != NULL);
    memcpy(memory->bytes + memory->length, bytes, length);
    memory->length += length;
    return 0;
}

static void to_a_function(void)
{
    struct memory memory = {NULL, 0, SIZE_MAX / 2};
    hurray_writer *writer = NULL;
    OK(hurray_writer_to(keep, &memory, NULL, &writer));
    fill(writer);
    OK(hurray_writer_finish(writer));
    hurray_writer_free(writer);

    HurrayVerdict verdict = {.struct_size = sizeof verdict};
    OK(hurray_file_verdict(memory.bytes, memory.length, NULL, &verdict));
    CHECK(verdict.status == HURRAY_OK);
    memory.bytes[12] ^= 0xFF;
    OK(hurray_file_verdict(memory.bytes, memory.length, NULL, &verdict));
    CHECK(verdict.status == HURRAY_CORRUPT && verdict.rule != NULL);

    /* What it does not take ends the file. */
    memory.length = 0;
    memory.limit = 1000;
    OK(hurray_writer_to(keep, &memory, NULL, &writer));
    fill(writer);
    CHECK(hurray_writer_finish(writer) == HURRAY_SYSTEM);
    CHECK(strstr(hurray_last_error(), "answered 5") != NULL);
    hurray_writer_free(writer);
    free(memory.bytes);
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    snprintf(path, sizeof path, "%s/tensors.hrry", arguments[1]);
    saved();

    hurray_file *file = NULL;
    OK(hurray_file_open(path, NULL, &file));
    CHECK(!hurray_file_is_mapped(file) && hurray_file_map_refusal(file) == NULL);
    key_values(file);
    opened(file);

    OK(hurray_file_map(path, NULL, &file));
    CHECK(hurray_file_is_mapped(file) != (hurray_file_map_refusal(file) != NULL));
    key_values(file);
    opened(file);

    HurrayAccept strict = {.struct_size = sizeof strict, .index_bytes = 16};
    file = NULL;
    REFUSED(hurray_file_open(path, &strict, &file), HURRAY_REFUSED, "file.index.above-limit");
    CHECK(file == NULL);

    to_a_function();
    a_changed_byte_is_noticed();
    return 0;
}
