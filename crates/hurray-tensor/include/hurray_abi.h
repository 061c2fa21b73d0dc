/* hurray_abi.h: how a tensor is handed from one library to another inside a process.
 *
 * There is no library behind this header and nothing to link: whoever fills these structs is a
 * producer, whoever takes them is a consumer, and the two need not know each other, nor be written
 * in the same language, nor be built by the same compiler. Copy this file into your project.
 *
 * What a tensor *is* (element type, shape, layout, quantization, and for each buffer its size,
 * alignment, device, memory class and sync mode) is said by its encoded descriptor. What is here is
 * what a descriptor cannot carry: addresses and driver objects, events and streams, and who lets go
 * of what. The specification is docs/spec/10-exchange.md of the Hurray project.
 *
 * 64-bit platforms only. Driver handles are uint64_t whatever their type in C: a pointer is cast by
 * way of uintptr_t, a 64-bit handle is stored as it is.
 *
 * THE RULES OF OWNERSHIP
 *
 *  1. HurrayTensor, HurrayBuffer and HurrayProducer begin with the same four fields: abi_version,
 *     struct_size, release, private_data. These never change their meaning. A consumer that does not
 *     know the version calls `release`, and reads nothing else.
 *  2. A struct whose `release` is NULL is released: nothing else in it may be read. Whoever holds a
 *     struct whose `release` is not NULL owns what is behind it, and calls `release` exactly once.
 *  3. `release` frees everything the producer made for that struct, sets the struct's own `release`
 *     to NULL, and never frees the struct itself. It reads only the first four fields, so that it
 *     may be called with a copy, and with a copy of those fields alone. So do all callbacks of a
 *     tensor, a buffer and a producer that take the struct itself: a consumer that knows a shorter
 *     struct has no longer copy to call them with. `release_event` reads its `event_context`.
 *  4. To move a struct, copy it and set the `release` of the one copied from to NULL. Whoever copies
 *     less of it than its `struct_size` says, since a later one is longer than the one it knows,
 *     lowers `struct_size` in the copy to what was copied: the next one may know more, and reads as
 *     far as that says. The struct may lie anywhere; nothing in it points into itself.
 *  5. The outermost struct is its holder's memory. Everything that it points to is the producer's,
 *     and stays valid until it is released.
 *  6. Releasing a tensor releases each of its buffers, members and events that is neither released
 *     nor moved out. What was moved out of it stays good after it: a consumer may move single
 *     buffers or members out and release the rest at once.
 *  7. An event is released on its own, as soon as the waits for it have been issued; at the latest
 *     together with its buffer, never after it.
 *  8. Any thread may call `release`, and different structs may be released at the same time. One
 *     struct is used by one thread at a time, and the caller orders its last use of the memory
 *     before the release. A producer whose memory belongs to a device makes that device's context
 *     current by itself, and restores the caller's.
 *  9. No callback throws, unwinds, jumps out or calls back into its caller. None is called from
 *     inside a driver's own callback (a driver may forbid the calls it makes), nor while a lock is
 *     held that the caller's callbacks take.
 * 10. Between handoff and release nobody writes the bytes, and they do not move. Two flags say
 *     otherwise: where MAY_CHANGE is set somebody else can still write, and the consumer copies
 *     before it trusts; where neither that nor READ_ONLY is set the consumer may write, for then it
 *     is the only one who holds them. Quantization parameters are never written. The bytes of buffer 0 in front of the lowest
 *     element that a dense tensor reaches are promised to nobody, and are neither read nor written
 *     by the consumer: a producer whose memory begins elsewhere may have rounded its address down
 *     to a multiple of 64, and what is there is another's.
 * 11. A library stays loaded while a struct with its callbacks in it is not released.
 *
 * GROWTH
 *
 * Fields are only ever appended, which shows in `struct_size`; a consumer reads no further than the
 * smaller of the struct's size and the one it knows, and refuses a struct smaller than version 1's.
 * What is copied on has the smaller size in it (rule 4).
 * What a consumer must understand is a flag, a kind or a mode, and an unknown one is refused. So
 * `abi_version` stays 1. HurraySync is embedded and never grows.
 */

#ifndef HURRAY_ABI_REVISION
/* Counts the appended fields; two copies of this file in one program are one definition. */
#define HURRAY_ABI_REVISION 1

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HURRAY_ABI_VERSION 1

/* The names of Python capsules around a HurrayTensor and a HurrayProducer. The capsule's destructor
 * releases what was not moved out, and always frees the outer struct. */
#define HURRAY_TENSOR_CAPSULE "hurray_tensor_v1"
#define HURRAY_PRODUCER_CAPSULE "hurray_producer_v1"

/* ---- Status: what a callback that can fail returns -------------------------------------------- */

#define HURRAY_OK 0
/* The bytes break a rule of the format. */
#define HURRAY_CORRUPT (-1)
/* Legal, but not understood here, or by agreement only. */
#define HURRAY_UNSUPPORTED (-2)
/* Legal and understood, but it would copy, fall back, or pass a limit. */
#define HURRAY_REFUSED (-3)
/* The other side of an exchange broke its rules. */
#define HURRAY_PEER (-4)
/* The operating system or a driver said no. */
#define HURRAY_SYSTEM (-5)
/* A mistake of the calling program. */
#define HURRAY_MISUSE (-6)
/* A bug of the callee, which it caught at its edge. */
#define HURRAY_PANIC (-7)
/* Not enough memory. */
#define HURRAY_OUT_OF_MEMORY (-8)

/* ---- The format's own tags, as they stand in a handle ------------------------------------------ */

/* Byte 12 of a handle. 0xF0-0xFE are private, by agreement. */
#define HURRAY_DEVICE_CPU 0x00
#define HURRAY_DEVICE_CUDA 0x01
#define HURRAY_DEVICE_ROCM 0x02
#define HURRAY_DEVICE_METAL 0x03
#define HURRAY_DEVICE_VULKAN 0x04
#define HURRAY_DEVICE_WEBGPU 0x05
#define HURRAY_DEVICE_HEXAGON 0x06
#define HURRAY_DEVICE_LEVEL_ZERO 0x07
#define HURRAY_DEVICE_OPENCL 0x08
/* In a request only. */
#define HURRAY_DEVICE_ANY 0xFF

/* Byte 13 of a handle: how the producer ordered its writes before the handoff. */
/* It waited on the host: no event and no stream. */
#define HURRAY_SYNC_PRODUCER_SYNCED 0x00
/* It recorded an event: every stream that touches the bytes waits for it. */
#define HURRAY_SYNC_EVENT 0x01
/* It ordered the stream that the consumer declared: only that one may be used without more. */
#define HURRAY_SYNC_CONSUMER_STREAM 0x02

/* Byte 14 of a handle: who can touch the bytes without a copy. 0xF0-0xFE are private. */
#define HURRAY_CLASS_STANDARD 0x00
#define HURRAY_CLASS_HOST_PINNED 0x01
#define HURRAY_CLASS_UNIFIED 0x02
#define HURRAY_CLASS_PEER 0x03

/* ---- When the bytes are ready ------------------------------------------------------------------ */

/* No event. */
#define HURRAY_EVENT_NONE 0
/* One wait, by one stream, which other streams are then ordered after (a VkSemaphore). */
#define HURRAY_EVENT_BINARY 1
/* Any number of waits, for `event_value` or more (a timeline VkSemaphore, an MTLSharedEvent). */
#define HURRAY_EVENT_TIMELINE 2
/* Any number of waits (a CUevent, a hipEvent_t, a cl_event, a ze_event_handle_t). */
#define HURRAY_EVENT_MULTI_WAIT 3

/* An event or a stream: what the sync mode in byte 13 of the handle asks for, and nothing besides.
 *
 *   PRODUCER_SYNCED   event_kind, event, event_value, release_event and stream are all zero
 *   EVENT             event_kind, event and release_event are not zero; stream is
 *   CONSUMER_STREAM   stream is not zero; the event's fields are
 *
 * An event belongs to one buffer. Buffers that wait for the same work name a timeline or multi-wait
 * event each, and each releases its own; a binary event is never named twice. */
struct HurraySync {
    /* The device that the event or stream belongs to: in every mode the buffer's own tag. */
    uint8_t device_tag;
    /* HURRAY_EVENT_*. */
    uint8_t event_kind;
    /* Zero. */
    uint8_t reserved[6];
    /* The driver's event, never 0 in EVENT. */
    uint64_t event;
    /* The value to wait for, of a timeline; else 0. */
    uint64_t event_value;
    /* Releases the event: no further wait for it will be issued. Call it exactly once, with this
     * struct or a copy of it, after the waits were issued or when there will be none; not after the
     * buffer's release. It sets `release_event` to NULL in the struct it is given, and reads only
     * `event_context` there.
     *
     * Waits that were issued may still be pending: a producer whose driver forbids to destroy an
     * event then (Vulkan, Level Zero) destroys it with the buffer, which is released only after the
     * work that waited. Whether a binary event was ever waited for cannot be known: it is destroyed,
     * not signalled again. */
    void (*release_event)(struct HurraySync *self);
    /* The producer's, for release_event. */
    void *event_context;
    /* The stream that was ordered, as the consumer named it; never 0 in CONSUMER_STREAM. */
    uint64_t stream;
    /* Zero. */
    uint64_t spare[2];
};

/* ---- A buffer ---------------------------------------------------------------------------------- */

/* The consumer reads, and never writes. */
#define HURRAY_BUFFER_READ_ONLY UINT64_C(1)
/* The bytes were copied for this handoff. */
#define HURRAY_BUFFER_COPIED UINT64_C(2)
/* Somebody else can still change the bytes (a mapped file): copy them before you trust them, for a
 * byte that is read twice need not be the same; do not write. */
#define HURRAY_BUFFER_MAY_CHANGE UINT64_C(4)

/* No queue family. */
#define HURRAY_NO_QUEUE_FAMILY UINT32_C(0xFFFFFFFF)

struct HurrayBuffer {
    /* HURRAY_ABI_VERSION. */
    uint32_t abi_version;
    /* sizeof(struct HurrayBuffer), as the producer knows it, or who moved it here: rule 4. */
    uint32_t struct_size;
    /* Lets go of the memory, and of its event if that is not released. Call it exactly once, when
     * all work on the memory has completed. Reads only the first four fields. NULL: released. */
    void (*release)(struct HurrayBuffer *self);
    /* The producer's. */
    void *private_data;

    /* The 16 bytes of the buffer's entry in the descriptor, the same as there: size, alignment,
     * device tag, sync mode, memory class. */
    uint8_t handle[16];

    /* Where the bytes are; which of these a device uses is a table in the specification. Each names
     * the *first byte of the buffer*: no offset is to be added to `address` or `host`. At least one
     * of object, address and host is there unless the buffer is empty; an empty one may have none,
     * and is never dereferenced. The alignment that the handle declares holds for `address` and
     * `host`; where there is neither, for `object_offset`. */

    /* The driver's object (VkBuffer, cl_mem, MTLBuffer, WGPUBuffer), 0 if none, and where in it the
     * buffer begins, in bytes. */
    uint64_t object;
    uint64_t object_offset;
    /* The driver's allocation below it (VkDeviceMemory, CUmemGenericAllocationHandle, MTLHeap), 0 if
     * none, and where in it the buffer begins. */
    uint64_t memory;
    uint64_t memory_offset;
    /* The address by which the device reaches it, 0 if none. On the CPU: the same as `host`. */
    uint64_t address;
    /* The address by which the CPU may reach it once it is ready, else NULL. NULL for the memory
     * classes that keep the CPU out: STANDARD of every device but the CPU, and PEER. */
    void *host;

    /* What the handles above are valid in (CUcontext, VkDevice, cl_context, ze_context_handle_t,
     * MTLDevice, WGPUDevice), 0 if the driver needs none. */
    uint64_t device_context;
    /* Where a process can hold two copies of a driver whose handles do not mix (WebGPU): the address
     * of a function of the copy in use, as the specification names it; 0: not said. */
    uint64_t driver;
    /* The device's number in this process, as its driver counts; -1: unknown. */
    int64_t device_ordinal;
    /* The device's UUID, zero if unknown. It goes before the ordinal, which libraries can count
     * differently. */
    uint8_t device_uuid[16];

    /* HURRAY_BUFFER_*. An unknown one is refused. */
    uint64_t flags;

    /* Read on Vulkan only. Exclusive sharing: the family that owned the VkBuffer, and the one to
     * which the producer has released it; where they differ, the consumer records the matching
     * acquire. Concurrent sharing: HURRAY_NO_QUEUE_FAMILY in both. */
    uint32_t queue_family;
    uint32_t queue_family_to;

    struct HurraySync sync;

    /* Releases the buffer in stream order, and its event if that is not released; or NULL. Takes, in
     * place of a host wait, an event or a stream of the consumer's on the same device (exactly one of
     * `done->event` and `done->stream`), and lets go of the memory when it is done. On HURRAY_OK it
     * has set `release` to NULL, and has moved the event out of `done` (its `release_event` is NULL):
     * the producer releases it. On an error nothing has changed hands: wait on the host, and call
     * `release`. */
    int32_t (*release_after)(struct HurrayBuffer *self, struct HurraySync *done);
};

/* ---- A tensor ---------------------------------------------------------------------------------- */

struct HurrayTensor {
    /* HURRAY_ABI_VERSION. */
    uint32_t abi_version;
    /* sizeof(struct HurrayTensor), as the producer knows it, or who moved it here: rule 4; before
     * `produce`, how much of it there is room for. */
    uint32_t struct_size;
    /* Releases the tensor with all that was not moved out of it. Reads only the first four fields.
     * NULL: released. */
    void (*release)(struct HurrayTensor *self);
    /* The producer's. */
    void *private_data;

    /* The encoded descriptor, exactly so long. Valid until release: copy it before moving buffers
     * out of the tensor and releasing the rest. */
    const uint8_t *descriptor;
    uint64_t descriptor_length;
    /* The buffers in the order of the descriptor's buffer table; NULL where there are none. */
    uint64_t buffer_count;
    struct HurrayBuffer **buffers;
    /* The members of a composite head, in order, themselves heads perhaps; NULL where there are
     * none. At most 8 heads deep. No struct is reached twice. */
    uint64_t member_count;
    struct HurrayTensor **members;
    /* Zero: none is defined. */
    uint64_t flags;
};

/* ---- Asking for a tensor ----------------------------------------------------------------------- */

/* The bit of a sync mode, an event kind, a memory class in a request. */
#define HURRAY_ACCEPT(value) (UINT32_C(1) << (value))
#define HURRAY_ACCEPT_CLASS(value) \
    (UINT64_C(1) << ((value) < 0xF0 ? (value) & 0x0F : ((value) & 0x0F) + 48))

/* A copy may be made where the request cannot be met without. Otherwise it is refused. */
#define HURRAY_REQUEST_ALLOW_COPY UINT64_C(1)
/* The consumer wants to write to buffer 0: memory that nobody else holds, or, if allowed, a copy.
 * What says where values are, or what they mean, is never written. */
#define HURRAY_REQUEST_WRITABLE UINT64_C(2)
/* A copy must be made. */
#define HURRAY_REQUEST_MUST_COPY UINT64_C(4)

/* What a consumer can take. Borrowed for the one call. */
struct HurrayRequest {
    /* HURRAY_ABI_VERSION. */
    uint32_t abi_version;
    /* sizeof(struct HurrayRequest), as the consumer knows it. */
    uint32_t struct_size;
    /* HURRAY_ACCEPT(HURRAY_SYNC_*) of each mode. */
    uint32_t accepted_syncs;
    /* HURRAY_ACCEPT(HURRAY_EVENT_*) of each kind. */
    uint32_t accepted_event_kinds;
    /* HURRAY_ACCEPT_CLASS(HURRAY_CLASS_*) of each class. */
    uint64_t accepted_classes;
    /* The device the data is wanted on, and the stream is of; HURRAY_DEVICE_ANY. */
    uint8_t device_tag;
    /* Zero. */
    uint8_t reserved[3];
    /* The least alignment of every buffer that is not empty, in bytes; 0: any. */
    uint32_t min_alignment;
    /* Which of these devices: its number, -1 for any; its UUID, zero for any. */
    int64_t device_ordinal;
    uint8_t device_uuid[16];
    /* The context the consumer works in, and its driver, as in a buffer; 0: any. */
    uint64_t device_context;
    uint64_t driver;
    /* The stream to be ordered, for CONSUMER_STREAM. While `produce` runs, the stream is the
     * producer's to put work on. A default stream is named by its explicit handle; 0 is no stream. */
    uint64_t stream;
    /* Read on Vulkan only: the queue family that will use the data, HURRAY_NO_QUEUE_FAMILY for any. */
    uint32_t queue_family;
    /* Zero. */
    uint32_t reserved2;
    /* HURRAY_REQUEST_*. An unknown one is refused. */
    uint64_t flags;
};

/* Stands for one tensor, and hands it out as often as asked. Used by one thread at a time. */
struct HurrayProducer {
    /* HURRAY_ABI_VERSION. */
    uint32_t abi_version;
    /* sizeof(struct HurrayProducer), as its maker knows it, or who moved it here: rule 4. */
    uint32_t struct_size;
    /* Releases the producer; tensors that it handed out stay good. Reads only the first four fields.
     * NULL: released. */
    void (*release)(struct HurrayProducer *self);
    /* The producer's. */
    void *private_data;

    /* Shows the descriptor before anything is handed out, as far as it is known: devices, classes
     * and sync modes in it may come out otherwise. Valid until the next call on `self`. May be
     * NULL. */
    int32_t (*describe)(struct HurrayProducer *self, const uint8_t **descriptor, uint64_t *length);
    /* Fills `out`, whose `struct_size` says how much room there is, and then how much was filled; or
     * refuses. Nothing else in `out` need be set before. On an error `out->release` is NULL, and
     * nothing is owed. Meets the request or refuses it; to wait on the
     * host in place of recording an event is to meet it, to copy unasked is not. */
    int32_t (*produce)(struct HurrayProducer *self, const struct HurrayRequest *request,
                       struct HurrayTensor *out);
    /* What the last call on `self` failed at, in UTF-8 with a NUL at its end, or NULL. Valid until
     * the next call on `self`. May be NULL. */
    const char *(*last_error)(struct HurrayProducer *self);
};

/* ---- That your compiler lays them out as everybody else's -------------------------------------- */

#if defined(__cplusplus) && (__cplusplus >= 201103L || (defined(_MSC_VER) && _MSC_VER >= 1900))
#define HURRAY_ASSERT(name, truth) static_assert(truth, #name)
#elif !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define HURRAY_ASSERT(name, truth) _Static_assert(truth, #name)
#else
#define HURRAY_ASSERT(name, truth) typedef char hurray_assert_##name[(truth) ? 1 : -1]
#endif
#define HURRAY_AT(type, field, offset) \
    HURRAY_ASSERT(type##_##field, offsetof(struct type, field) == (offset))

HURRAY_ASSERT(needs_64_bits, sizeof(void *) == 8 && sizeof(void (*)(void)) == 8);
HURRAY_ASSERT(HurraySync, sizeof(struct HurraySync) == 64);
HURRAY_ASSERT(HurrayBuffer, sizeof(struct HurrayBuffer) == 216);
HURRAY_ASSERT(HurrayTensor, sizeof(struct HurrayTensor) == 80);
HURRAY_ASSERT(HurrayRequest, sizeof(struct HurrayRequest) == 96);
HURRAY_ASSERT(HurrayProducer, sizeof(struct HurrayProducer) == 48);

HURRAY_AT(HurraySync, event_kind, 1);
HURRAY_AT(HurraySync, reserved, 2);
HURRAY_AT(HurraySync, event, 8);
HURRAY_AT(HurraySync, event_value, 16);
HURRAY_AT(HurraySync, release_event, 24);
HURRAY_AT(HurraySync, event_context, 32);
HURRAY_AT(HurraySync, stream, 40);
HURRAY_AT(HurraySync, spare, 48);

HURRAY_AT(HurrayBuffer, struct_size, 4);
HURRAY_AT(HurrayBuffer, release, 8);
HURRAY_AT(HurrayBuffer, private_data, 16);
HURRAY_AT(HurrayBuffer, handle, 24);
HURRAY_AT(HurrayBuffer, object, 40);
HURRAY_AT(HurrayBuffer, object_offset, 48);
HURRAY_AT(HurrayBuffer, memory, 56);
HURRAY_AT(HurrayBuffer, memory_offset, 64);
HURRAY_AT(HurrayBuffer, address, 72);
HURRAY_AT(HurrayBuffer, host, 80);
HURRAY_AT(HurrayBuffer, device_context, 88);
HURRAY_AT(HurrayBuffer, driver, 96);
HURRAY_AT(HurrayBuffer, device_ordinal, 104);
HURRAY_AT(HurrayBuffer, device_uuid, 112);
HURRAY_AT(HurrayBuffer, flags, 128);
HURRAY_AT(HurrayBuffer, queue_family, 136);
HURRAY_AT(HurrayBuffer, queue_family_to, 140);
HURRAY_AT(HurrayBuffer, sync, 144);
HURRAY_AT(HurrayBuffer, release_after, 208);

HURRAY_AT(HurrayTensor, struct_size, 4);
HURRAY_AT(HurrayTensor, release, 8);
HURRAY_AT(HurrayTensor, private_data, 16);
HURRAY_AT(HurrayTensor, descriptor, 24);
HURRAY_AT(HurrayTensor, descriptor_length, 32);
HURRAY_AT(HurrayTensor, buffer_count, 40);
HURRAY_AT(HurrayTensor, buffers, 48);
HURRAY_AT(HurrayTensor, member_count, 56);
HURRAY_AT(HurrayTensor, members, 64);
HURRAY_AT(HurrayTensor, flags, 72);

HURRAY_AT(HurrayRequest, struct_size, 4);
HURRAY_AT(HurrayRequest, accepted_syncs, 8);
HURRAY_AT(HurrayRequest, accepted_event_kinds, 12);
HURRAY_AT(HurrayRequest, accepted_classes, 16);
HURRAY_AT(HurrayRequest, device_tag, 24);
HURRAY_AT(HurrayRequest, reserved, 25);
HURRAY_AT(HurrayRequest, min_alignment, 28);
HURRAY_AT(HurrayRequest, device_ordinal, 32);
HURRAY_AT(HurrayRequest, device_uuid, 40);
HURRAY_AT(HurrayRequest, device_context, 56);
HURRAY_AT(HurrayRequest, driver, 64);
HURRAY_AT(HurrayRequest, stream, 72);
HURRAY_AT(HurrayRequest, queue_family, 80);
HURRAY_AT(HurrayRequest, reserved2, 84);
HURRAY_AT(HurrayRequest, flags, 88);

HURRAY_AT(HurrayProducer, struct_size, 4);
HURRAY_AT(HurrayProducer, release, 8);
HURRAY_AT(HurrayProducer, private_data, 16);
HURRAY_AT(HurrayProducer, describe, 24);
HURRAY_AT(HurrayProducer, produce, 32);
HURRAY_AT(HurrayProducer, last_error, 40);

#undef HURRAY_AT
#undef HURRAY_ASSERT

#ifdef __cplusplus
}
#endif

#elif HURRAY_ABI_REVISION < 1
#error "an older copy of hurray_abi.h was included first: include this one before it"
#endif
