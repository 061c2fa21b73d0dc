/* Every call with one NULL where something must be. The calls are written by interface.rs. */

#include "check.h"

static int seen = 0;

static void is_null_refused(void)
{
    HurrayVerdict said = {.struct_size = sizeof said};
    OK(hurray_last_verdict(&said));
    CHECK(said.status == HURRAY_MISUSE && said.rule != NULL && strcmp(said.rule, "capi.null") == 0);
    /* So that the next one cannot pass by this one's refusal. */
    HurrayRule rule = {.struct_size = sizeof rule};
    CHECK(hurray_rule_find("nothing", &rule) == HURRAY_MISUSE);
    seen++;
}

#define STATUS(call)                  \
    do {                              \
        CHECK((call) == HURRAY_MISUSE); \
        is_null_refused();            \
    } while (0)

#define VALUE(claim)       \
    do {                   \
        CHECK(claim);      \
        is_null_refused(); \
    } while (0)

static int32_t visit(void *context, const HurrayKeyValue *value)
{
    (void)context;
    (void)value;
    return 0;
}

static int32_t write_nothing(void *context, const void *bytes, size_t length)
{
    (void)context;
    (void)bytes;
    (void)length;
    return 0;
}

static HurrayTensor out_tensor = {.struct_size = sizeof out_tensor};
static HurrayProducer out_producer = {.struct_size = sizeof out_producer};

/* A tensor in a struct, as a consumer gets it. */
static HurrayTensor *handed_over(const hurray_tensor *tensor)
{
    static HurrayTensor struct_of_another = {.struct_size = sizeof struct_of_another};
    OK(hurray_tensor_export(tensor, &struct_of_another));
    return &struct_of_another;
}

static HurrayProducer *producing(const hurray_tensor *tensor)
{
    static HurrayProducer struct_of_another = {.struct_size = sizeof struct_of_another};
    OK(hurray_tensor_producer(tensor, &struct_of_another));
    return &struct_of_another;
}

int main(int count, char **arguments)
{
    char path[4096];
    CHECK(count == 2);
    snprintf(path, sizeof path, "%s/m.hrry", arguments[1]);

    uint64_t numbers[4] = {1, 1, 1, 1};
    int64_t steps[4] = {1, 1, 1, 1};
    uint32_t u32 = 0;
    uint8_t u8 = 0;
    size_t size = 0;
    void *pointer = NULL;
    unsigned char room[64] = {0};
    HurrayAccept HurrayAccept_ = {.struct_size = sizeof HurrayAccept_};
    HurrayRule HurrayRule_ = {.struct_size = sizeof HurrayRule_};
    HurrayVerdict HurrayVerdict_ = {.struct_size = sizeof HurrayVerdict_};
    HurrayLayout HurrayLayout_ = {.struct_size = sizeof HurrayLayout_, .tag = 1};
    HurrayQuantization HurrayQuantization_ = {.struct_size = sizeof HurrayQuantization_};
    HurrayStatistics HurrayStatistics_ = {.struct_size = sizeof HurrayStatistics_};
    HurrayExtensionType HurrayExtensionType_ = {.struct_size = sizeof HurrayExtensionType_};
    HurrayKeyValue HurrayKeyValue_ = {.struct_size = sizeof HurrayKeyValue_, .kind = 3};
    HurrayWriteOptions HurrayWriteOptions_ = {.struct_size = sizeof HurrayWriteOptions_};
    HurrayHandle HurrayHandle_ = {.byte_size = 1, .alignment = 64};
    HurrayBytes HurrayBytes_ = {room, 1};
    HurrayTile HurrayTile_;
    HurrayLocation HurrayLocation_;
    HurrayMemory HurrayMemory_ = {.data = room, .length = 1};
    HurrayRegion HurrayRegion_ = {.struct_size = sizeof HurrayRegion_};
    HurrayCut HurrayCut_ = {0, HURRAY_TO_END, 1};
    HurrayRequest HurrayRequest_ = {.abi_version = HURRAY_ABI_VERSION,
                                    .struct_size = sizeof HurrayRequest_};
#define HurrayTensor_ out_tensor
#define HurrayProducer_ out_producer

    hurray_descriptor *new_descriptor = NULL, *a_descriptor = NULL;
    hurray_builder *new_builder = NULL, *a_builder = NULL;
    hurray_writer *new_writer = NULL, *a_writer = NULL;
    hurray_file *new_file = NULL, *a_file = NULL;
    hurray_file_tensor *new_file_tensor = NULL, *a_file_tensor = NULL;
    hurray_tensor *new_tensor = NULL, *a_tensor = NULL;
    hurray_offer *new_offer = NULL, *a_offer = NULL;
    hurray_producer *new_producer = NULL, *a_producer = NULL;
    hurray_composite *new_composite = NULL, *a_composite = NULL;

    /* A shard of one byte, so that there is something to ask for. */
    OK(hurray_builder_new(HURRAY_DTYPE_UINT8, NULL, numbers, 1, &a_builder));
    OK(hurray_builder_shard(a_builder, numbers, (const uint64_t[]){0}));
    OK(hurray_builder_build(a_builder, &a_descriptor));
    const hurray_descriptor_ref *descriptor = hurray_descriptor_borrow(a_descriptor);

    OK(hurray_writer_create(path, NULL, &a_writer));
    OK(hurray_writer_tensor(a_writer, "m", descriptor, &HurrayBytes_, 1));
    OK(hurray_writer_finish(a_writer));
    hurray_writer_free(a_writer);
    OK(hurray_file_open(path, NULL, &a_file));
    OK(hurray_file_find(a_file, "m", &a_file_tensor));
    OK(hurray_writer_create(path, NULL, &a_writer));

    OK(hurray_file_tensor_load(a_file_tensor, &a_tensor));
    OK(hurray_offer_take(handed_over(a_tensor), NULL, &a_offer));
    OK(hurray_producer_take(producing(a_tensor), &a_producer));
    const hurray_tensor *const tensors[] = {a_tensor};
    OK(hurray_composite_new(tensors, 1, &a_composite));

/* CALLS */

    CHECK(new_descriptor == NULL && new_builder == NULL && new_writer == NULL);
    CHECK(new_file == NULL && new_file_tensor == NULL && new_tensor == NULL);
    CHECK(new_offer == NULL && new_producer == NULL && new_composite == NULL);
    hurray_composite_free(a_composite);
    hurray_producer_free(a_producer);
    hurray_offer_free(a_offer);
    hurray_tensor_free(a_tensor);
    hurray_writer_free(a_writer);
    hurray_file_tensor_free(a_file_tensor);
    hurray_file_free(a_file);
    hurray_descriptor_free(a_descriptor);
    hurray_builder_free(a_builder);
    printf("%d\n", seen);
    return 0;
}
