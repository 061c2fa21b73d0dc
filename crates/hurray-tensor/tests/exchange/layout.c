/* Prints where this compiler puts every field, and what every constant is. */

#include "hurray_abi.h"
/* Once more: a copy that two libraries bring along is one definition. */
#include "hurray_abi.h"

#include <stdio.h>

#define SIZE(type) printf(#type " %zu\n", sizeof(struct type))
#define AT(type, field) printf(#type "." #field " %zu\n", offsetof(struct type, field))
#define VALUE(name) printf(#name " %lld\n", (long long)(name))

int main(void) {
    SIZE(HurraySync);
    AT(HurraySync, device_tag);
    AT(HurraySync, event_kind);
    AT(HurraySync, reserved);
    AT(HurraySync, event);
    AT(HurraySync, event_value);
    AT(HurraySync, release_event);
    AT(HurraySync, event_context);
    AT(HurraySync, stream);
    AT(HurraySync, spare);

    SIZE(HurrayBuffer);
    AT(HurrayBuffer, abi_version);
    AT(HurrayBuffer, struct_size);
    AT(HurrayBuffer, release);
    AT(HurrayBuffer, private_data);
    AT(HurrayBuffer, handle);
    AT(HurrayBuffer, object);
    AT(HurrayBuffer, object_offset);
    AT(HurrayBuffer, memory);
    AT(HurrayBuffer, memory_offset);
    AT(HurrayBuffer, address);
    AT(HurrayBuffer, host);
    AT(HurrayBuffer, device_context);
    AT(HurrayBuffer, driver);
    AT(HurrayBuffer, device_ordinal);
    AT(HurrayBuffer, device_uuid);
    AT(HurrayBuffer, flags);
    AT(HurrayBuffer, queue_family);
    AT(HurrayBuffer, queue_family_to);
    AT(HurrayBuffer, sync);
    AT(HurrayBuffer, release_after);

    SIZE(HurrayTensor);
    AT(HurrayTensor, abi_version);
    AT(HurrayTensor, struct_size);
    AT(HurrayTensor, release);
    AT(HurrayTensor, private_data);
    AT(HurrayTensor, descriptor);
    AT(HurrayTensor, descriptor_length);
    AT(HurrayTensor, buffer_count);
    AT(HurrayTensor, buffers);
    AT(HurrayTensor, member_count);
    AT(HurrayTensor, members);
    AT(HurrayTensor, flags);

    SIZE(HurrayRequest);
    AT(HurrayRequest, abi_version);
    AT(HurrayRequest, struct_size);
    AT(HurrayRequest, accepted_syncs);
    AT(HurrayRequest, accepted_event_kinds);
    AT(HurrayRequest, accepted_classes);
    AT(HurrayRequest, device_tag);
    AT(HurrayRequest, reserved);
    AT(HurrayRequest, min_alignment);
    AT(HurrayRequest, device_ordinal);
    AT(HurrayRequest, device_uuid);
    AT(HurrayRequest, device_context);
    AT(HurrayRequest, driver);
    AT(HurrayRequest, stream);
    AT(HurrayRequest, queue_family);
    AT(HurrayRequest, reserved2);
    AT(HurrayRequest, flags);

    SIZE(HurrayProducer);
    AT(HurrayProducer, abi_version);
    AT(HurrayProducer, struct_size);
    AT(HurrayProducer, release);
    AT(HurrayProducer, private_data);
    AT(HurrayProducer, describe);
    AT(HurrayProducer, produce);
    AT(HurrayProducer, last_error);

    VALUE(HURRAY_ABI_VERSION);
    VALUE(HURRAY_OK);
    VALUE(HURRAY_CORRUPT);
    VALUE(HURRAY_UNSUPPORTED);
    VALUE(HURRAY_REFUSED);
    VALUE(HURRAY_PEER);
    VALUE(HURRAY_SYSTEM);
    VALUE(HURRAY_MISUSE);
    VALUE(HURRAY_PANIC);
    VALUE(HURRAY_OUT_OF_MEMORY);
    VALUE(HURRAY_DEVICE_CPU);
    VALUE(HURRAY_DEVICE_CUDA);
    VALUE(HURRAY_DEVICE_ROCM);
    VALUE(HURRAY_DEVICE_METAL);
    VALUE(HURRAY_DEVICE_VULKAN);
    VALUE(HURRAY_DEVICE_WEBGPU);
    VALUE(HURRAY_DEVICE_HEXAGON);
    VALUE(HURRAY_DEVICE_LEVEL_ZERO);
    VALUE(HURRAY_DEVICE_OPENCL);
    VALUE(HURRAY_DEVICE_ANY);
    VALUE(HURRAY_SYNC_PRODUCER_SYNCED);
    VALUE(HURRAY_SYNC_EVENT);
    VALUE(HURRAY_SYNC_CONSUMER_STREAM);
    VALUE(HURRAY_CLASS_STANDARD);
    VALUE(HURRAY_CLASS_HOST_PINNED);
    VALUE(HURRAY_CLASS_UNIFIED);
    VALUE(HURRAY_CLASS_PEER);
    VALUE(HURRAY_EVENT_NONE);
    VALUE(HURRAY_EVENT_BINARY);
    VALUE(HURRAY_EVENT_TIMELINE);
    VALUE(HURRAY_EVENT_MULTI_WAIT);
    VALUE(HURRAY_BUFFER_READ_ONLY);
    VALUE(HURRAY_BUFFER_COPIED);
    VALUE(HURRAY_BUFFER_MAY_CHANGE);
    VALUE(HURRAY_NO_QUEUE_FAMILY);
    VALUE(HURRAY_REQUEST_ALLOW_COPY);
    VALUE(HURRAY_REQUEST_WRITABLE);
    VALUE(HURRAY_REQUEST_MUST_COPY);
    VALUE(HURRAY_ACCEPT(HURRAY_SYNC_EVENT));
    VALUE(HURRAY_ACCEPT_CLASS(HURRAY_CLASS_PEER));
    VALUE(HURRAY_ACCEPT_CLASS(0xF0));
    VALUE(HURRAY_ACCEPT_CLASS(0xFE));
    return 0;
}
