/* A descriptor from its parts, which encodes and decodes to the same. */

#ifndef BUILT_H
#define BUILT_H

#include "check.h"

static hurray_descriptor *built(const hurray_builder *builder)
{
    hurray_descriptor *made = NULL;
    OK(hurray_builder_build(builder, &made));

    /* What is built encodes, and decodes to the same. */
    const hurray_descriptor_ref *descriptor = hurray_descriptor_borrow(made);
    size_t length = hurray_descriptor_encoded_length(descriptor);
    unsigned char *bytes = malloc(length);
    CHECK(bytes != NULL);
    OK(hurray_descriptor_encode(descriptor, bytes, length));
    REFUSED(hurray_descriptor_encode(descriptor, bytes, length - 1), HURRAY_MISUSE,
            "capi.output-too-small");

    uint32_t announced = 0;
    OK(hurray_descriptor_length(bytes, 10, &announced));
    CHECK(announced == length);

    HurrayAccept accept = {0};
    accept.struct_size = sizeof accept;
    accept.dtypes = accept.layouts = accept.schemes = accept.devices = 0x7FFF;
    hurray_descriptor *read = NULL;
    OK(hurray_descriptor_decode(bytes, length, &accept, &read));
    CHECK(hurray_descriptor_equal(descriptor, hurray_descriptor_borrow(read)));
    hurray_descriptor_free(read);
    free(bytes);
    return made;
}

#endif
