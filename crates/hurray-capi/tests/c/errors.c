/* What a program is told when something is wrong, and the structs by which it asks. */

#include <pthread.h>

#include "check.h"

static void *elsewhere(void *nothing)
{
    (void)nothing;
    CHECK(strcmp(hurray_last_error(), "") == 0);
    HurrayVerdict verdict = {.struct_size = sizeof verdict};
    OK(hurray_last_verdict(&verdict));
    CHECK(verdict.status == HURRAY_OK && verdict.rule == NULL && *verdict.message == 0);
    REFUSED(hurray_rule_find("no.such-rule", NULL), HURRAY_MISUSE, "capi.null");
    return NULL;
}

static void last_errors_are_each_threads_own(void)
{
    pthread_t thread;
    CHECK(strcmp(hurray_last_error(), "") == 0);
    HurrayRule rule = {.struct_size = sizeof rule};
    REFUSED(hurray_rule_find("no.such-rule", &rule), HURRAY_MISUSE, "capi.unknown-rule");
    CHECK(pthread_create(&thread, NULL, elsewhere, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(strstr(hurray_last_error(), "capi.unknown-rule") != NULL);
    /* A call that succeeds leaves it. */
    OK(hurray_rule_find("descriptor.magic", &rule));
    CHECK(strstr(hurray_last_error(), "capi.unknown-rule") != NULL);
}

static void rules_are_explained(void)
{
    HurrayRule rule = {.struct_size = sizeof rule};
    OK(hurray_rule_find("descriptor.magic", &rule));
    CHECK(strcmp(rule.id, "descriptor.magic") == 0 && strcmp(rule.page, "02") == 0);
    CHECK(strcmp(rule.fault, "corrupt") == 0 && strcmp(rule.meaning, "magic is not HRRY") == 0);
    size_t count = hurray_rule_count();
    CHECK(count > 300);
    for (size_t place = 0; place < count; place++) {
        HurrayRule each = {.struct_size = sizeof each}, found = {.struct_size = sizeof found};
        OK(hurray_rule_at(place, &each));
        OK(hurray_rule_find(each.id, &found));
        CHECK(found.id == each.id && found.meaning == each.meaning);
        CHECK(*each.meaning != 0 && *each.page != 0 && *each.fault != 0);
    }
    REFUSED(hurray_rule_at(count, &rule), HURRAY_MISUSE, "capi.place");
    /* Its texts are good for ever. */
    CHECK(strcmp(rule.id, "descriptor.magic") == 0);
    CHECK(strcmp(hurray_status_name(HURRAY_OK), "HURRAY_OK") == 0);
    CHECK(strcmp(hurray_status_name(HURRAY_PEER), "HURRAY_PEER") == 0);
    CHECK(hurray_status_name(1) == NULL);
    CHECK(hurray_c_abi_version() == HURRAY_C_ABI_VERSION && strlen(hurray_version()) >= 5);
}

static void any_bytes_get_a_verdict(void)
{
    HurrayVerdict verdict = {.struct_size = sizeof verdict};
    const char gguf[] = "GGUF file";
    OK(hurray_descriptor_verdict(gguf, strlen(gguf), NULL, &verdict));
    CHECK(verdict.status == HURRAY_CORRUPT && verdict.offset == 0);
    CHECK(strcmp(verdict.rule, "descriptor.magic") == 0 && strcmp(verdict.field, "magic") == 0);
    CHECK(strcmp(verdict.fault, "corrupt") == 0 && strstr(verdict.message, "GGUF") != NULL);
    OK(hurray_descriptor_verdict(NULL, 0, NULL, &verdict));
    CHECK(verdict.status == HURRAY_CORRUPT && verdict.rule != NULL);
    OK(hurray_file_verdict(gguf, strlen(gguf), NULL, &verdict));
    CHECK(verdict.status == HURRAY_CORRUPT);
    CHECK(strncmp(verdict.rule, "file.header.", 12) == 0);
    REFUSED(hurray_descriptor_verdict(NULL, 1, NULL, &verdict), HURRAY_MISUSE, "capi.null");
    REFUSED(hurray_descriptor_verdict(gguf, SIZE_MAX, NULL, &verdict), HURRAY_MISUSE,
            "capi.length");

    /* A good one. */
    hurray_builder *builder = NULL;
    hurray_descriptor *made = NULL;
    const uint64_t shape[] = {3};
    OK(hurray_builder_new(HURRAY_DTYPE_INT8, NULL, shape, 1, &builder));
    OK(hurray_builder_build(builder, &made));
    unsigned char bytes[128];
    size_t length = hurray_descriptor_encoded_length(hurray_descriptor_borrow(made));
    OK(hurray_descriptor_encode(hurray_descriptor_borrow(made), bytes, sizeof bytes));
    OK(hurray_descriptor_verdict(bytes, length, NULL, &verdict));
    CHECK(verdict.status == HURRAY_OK && verdict.rule == NULL && verdict.field == NULL);
    CHECK(verdict.fault == NULL && verdict.meaning == NULL && *verdict.message == 0);
    hurray_descriptor_free(made);
    hurray_builder_free(builder);
}

static void structs_say_how_long_they_are(void)
{
    struct {
        HurrayVerdict known;
        uint64_t later[2];
    } newer = {{0}, {7, 7}};
    const char nothing[] = "";

    /* One that was never set up. */
    HurrayVerdict verdict = {0};
    REFUSED(hurray_descriptor_verdict(nothing, 0, NULL, &verdict), HURRAY_MISUSE,
            "capi.struct-size");
    verdict.struct_size = 0xCCCCCCCC;
    REFUSED(hurray_descriptor_verdict(nothing, 0, NULL, &verdict), HURRAY_MISUSE,
            "capi.struct-size");

    /* A program that knows more than the library is told how much was filled. */
    newer.known.struct_size = sizeof newer;
    OK(hurray_descriptor_verdict(nothing, 0, NULL, &newer.known));
    CHECK(newer.known.struct_size == sizeof newer.known);
    CHECK(newer.later[0] == 7 && newer.later[1] == 7 && newer.known.rule != NULL);

    /* And may ask for nothing that the library does not know. */
    struct {
        HurrayAccept known;
        uint64_t later[2];
    } asks = {{0}, {0, 0}};
    asks.known.struct_size = sizeof asks;
    verdict.struct_size = sizeof verdict;
    OK(hurray_descriptor_verdict(nothing, 0, &asks.known, &verdict));
    asks.later[1] = 1;
    REFUSED(hurray_descriptor_verdict(nothing, 0, &asks.known, &verdict), HURRAY_UNSUPPORTED,
            "capi.struct-newer");

    HurrayAccept accept = {.struct_size = sizeof accept, .reserved = 1};
    REFUSED(hurray_descriptor_verdict(nothing, 0, &accept, &verdict), HURRAY_MISUSE,
            "capi.reserved");
    accept.reserved = 0;
    accept.layouts = 0x8000;
    REFUSED(hurray_descriptor_verdict(nothing, 0, &accept, &verdict), HURRAY_MISUSE,
            "capi.reserved");
}

static void pointers_are_looked_at(void)
{
    char room[sizeof(HurrayVerdict) + 8] = {0};
    char *odd = room;
    while ((uintptr_t)odd % 8 != 1) {
        odd++;
    }
    REFUSED(hurray_last_verdict((HurrayVerdict *)(void *)odd), HURRAY_MISUSE, "capi.misaligned");
    REFUSED(hurray_last_verdict(NULL), HURRAY_MISUSE, "capi.null");
    CHECK(hurray_descriptor_rank(NULL) == 0);
    CHECK(strstr(hurray_last_error(), "capi.null") != NULL);
    hurray_builder *builder = NULL;
    const uint64_t shape[] = {1, 2};
    const uint64_t *off = (const uint64_t *)(const void *)((const char *)shape + 1);
    REFUSED(hurray_builder_new(HURRAY_DTYPE_INT8, NULL, off, 1, &builder), HURRAY_MISUSE,
            "capi.misaligned");
    CHECK(hurray_dtype_from_name("\xFF") == 0);
    CHECK(strstr(hurray_last_error(), "capi.text") != NULL);
}

int main(void)
{
    last_errors_are_each_threads_own();
    rules_are_explained();
    any_bytes_get_a_verdict();
    structs_say_how_long_they_are();
    pointers_are_looked_at();
    return 0;
}
