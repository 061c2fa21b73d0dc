/* hurray.h: Hurray tensors from C. Link with libhurray.
 *
 * Made by `cargo xtask header` from the sources of hurray-capi; change those.
 *
 * A descriptor says what a tensor's bytes are: element type, shape, layout, quantization, and of each
 * buffer its size, alignment, device, memory class and sync mode. This library decodes, checks, builds
 * and encodes descriptors, reads and writes files of tensors, and keeps tensors in memory. The structs
 * by which a tensor goes to a library that knows nothing of this one are in hurray_abi.h.
 *
 * NAMES
 *
 * A type in lower case (hurray_file) is opaque: you hold a pointer to one, and a call that ends with
 * _free ends it, once; for NULL, and a pointer that is not aligned for one, it does nothing. A type
 * that ends with _ref is borrowed: somebody else owns it, and there is no call to free it. A type in
 * CamelCase (HurrayVerdict) is a struct of yours. So hurray_tensor is this library's, and HurrayTensor the
 * struct by which one leaves it or comes in.
 *
 * A call that says that it spends an object leaves you to free it; until then it is good for nothing
 * else, and other calls refuse it ("capi.finished"). What was borrowed from it, such as a tensor's
 * descriptor, and what it said of its memory end with that: take a copy before, or ask the new owner.
 *
 * ERRORS
 *
 * A call that can fail answers with a status: HURRAY_OK, which is 0, or a negative number that says
 * whose fault it is (the table is in hurray_abi.h). hurray_last_error() then says in a sentence what
 * was wrong, and hurray_last_verdict() gives the parts of it: the rule that was broken, where, what the
 * rule means. Both are about the last call on this thread that failed; a call that succeeds leaves them
 * as they are, but may end their texts. A call that gives a number or a pointer instead of a status
 * gives 0 or NULL where it fails. Where a call fails, nothing it was to fill or to make is there.
 *
 * Nothing unwinds out of this library: a bug in it becomes HURRAY_PANIC. It never ends the process,
 * except where the system gives it no memory for its own small structs.
 *
 * POINTERS
 *
 * NULL where something must be is an error and not a crash, and so is a pointer that is not aligned for
 * its type. What else a pointer promises is for you to keep: that what it leads to is alive, is as long
 * as you say, and is not changed by others while the call lasts. Arrays without elements may be NULL.
 * What is passed in is not needed after the call, unless the call says so. What a call fills need not
 * hold anything before, except struct_size.
 *
 * Text that goes in ends with a zero byte and is UTF-8; paths are as the system has them. Text that
 * comes out ends with a zero byte unless there is a length beside it: names and keys may have zero
 * bytes inside.
 *
 * THREADS
 *
 * Any number of threads may use an object at once in calls that take a const pointer to it, and no call
 * that takes another one, such as _free, may run meanwhile. Any thread may free.
 *
 * STABILITY
 *
 * A program that was built with this header runs with every later library for which
 * hurray_c_abi_version() gives the same number: calls are added and never removed or changed, numbers
 * keep their meaning, and structs only grow at the end. That is what struct_size is for: set it to
 * sizeof the struct before you pass it. A library that knows less of a struct than you do refuses one
 * in which the rest is not zero, and after filling one has set struct_size to how much it filled.
 * Structs without struct_size never grow. Set what you do not use to zero: HurrayLayout layout = {0}.
 */

#ifndef HURRAY_H
#define HURRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hurray_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct HurrayTensor HurrayTensor;
typedef struct HurrayRequest HurrayRequest;
typedef struct HurrayProducer HurrayProducer;

/* ---- The format's own tags ----------------------------------------------------------------------- */

// Devices, sync modes and memory classes are in hurray_abi.h. 0xF0-0xFE are private tags, by
// agreement.

// A size that is not known yet.
#define HURRAY_DYNAMIC UINT64_MAX
// `layer_index` of a layout where the layer of the model is not said.
#define HURRAY_NO_LAYER UINT32_MAX
// `zero_points` of a symmetric scheme, which has none.
#define HURRAY_NO_BUFFER UINT32_MAX
// `end` of a range that goes to the end of its dimension.
#define HURRAY_TO_END UINT64_MAX

// Element types.
#define HURRAY_DTYPE_FLOAT16 0x01
#define HURRAY_DTYPE_BFLOAT16 0x02
#define HURRAY_DTYPE_FLOAT32 0x03
#define HURRAY_DTYPE_FLOAT64 0x04
#define HURRAY_DTYPE_INT8 0x10
#define HURRAY_DTYPE_UINT8 0x11
#define HURRAY_DTYPE_INT16 0x12
#define HURRAY_DTYPE_UINT16 0x13
#define HURRAY_DTYPE_INT32 0x14
#define HURRAY_DTYPE_UINT32 0x15
#define HURRAY_DTYPE_INT64 0x16
#define HURRAY_DTYPE_UINT64 0x17
#define HURRAY_DTYPE_BOOL 0x20
#define HURRAY_DTYPE_FLOAT8_E4M3 0x40
#define HURRAY_DTYPE_FLOAT8_E5M2 0x41
#define HURRAY_DTYPE_FLOAT8_E8M0 0x42
#define HURRAY_DTYPE_FLOAT4_E2M1 0x43
#define HURRAY_DTYPE_FLOAT6_E2M3 0x44
#define HURRAY_DTYPE_FLOAT6_E3M2 0x45
#define HURRAY_DTYPE_FLOAT128 0x46
#define HURRAY_DTYPE_INT4 0x48
#define HURRAY_DTYPE_UINT4 0x49
#define HURRAY_DTYPE_INT2 0x4A
#define HURRAY_DTYPE_UINT2 0x4B
#define HURRAY_DTYPE_COMPLEX64 0x50
#define HURRAY_DTYPE_COMPLEX128 0x51

// Layouts.
#define HURRAY_LAYOUT_ROW_MAJOR 0x01
#define HURRAY_LAYOUT_COLUMN_MAJOR 0x02
#define HURRAY_LAYOUT_STRIDED 0x03
#define HURRAY_LAYOUT_TILED 0x04
#define HURRAY_LAYOUT_MORTON 0x05
#define HURRAY_LAYOUT_COO 0x06
#define HURRAY_LAYOUT_CSR 0x07
#define HURRAY_LAYOUT_CSC 0x08
#define HURRAY_LAYOUT_CSF 0x09
#define HURRAY_LAYOUT_BLOCK_PAGED 0x0A
#define HURRAY_LAYOUT_COMPOSITE 0x0B
#define HURRAY_LAYOUT_HILBERT 0x40

// Which half of a cache the pages of a block-paged tensor hold.
#define HURRAY_KV_KEY 0x00
#define HURRAY_KV_VALUE 0x01
#define HURRAY_KV_FUSED 0x02

// How the members of a composite make it.
#define HURRAY_COMPOSITION_PARTITION 0x01
#define HURRAY_COMPOSITION_OVERLAY 0x02
#define HURRAY_COMPOSITION_GROUP 0x03

// How the members of an overlay are combined.
#define HURRAY_COMBINE_REPLACE 0x01
#define HURRAY_COMBINE_ADD 0x02

// The part that a member of an overlay plays.
#define HURRAY_MEMBER_CORRECTION 0x00
#define HURRAY_MEMBER_BASE 0x01

// Quantization schemes.
#define HURRAY_SCHEME_PER_TENSOR 0x01
#define HURRAY_SCHEME_PER_CHANNEL 0x02
#define HURRAY_SCHEME_PER_BLOCK 0x03
#define HURRAY_SCHEME_NF4 0x04
#define HURRAY_SCHEME_MXFP 0x05

// Which optional sections a descriptor has, bit by bit.
#define HURRAY_HAS_QUANTIZATION 0x01
#define HURRAY_HAS_SHARD 0x02
#define HURRAY_HAS_EXTENSION_TYPE 0x04
#define HURRAY_HAS_STATISTICS 0x08
#define HURRAY_HAS_MEMBER_ROLE 0x10

// Which statistics were computed, bit by bit.
#define HURRAY_COMPUTED_NNZ 0x01
#define HURRAY_COMPUTED_SPARSITY_RATIO 0x02
#define HURRAY_COMPUTED_RANGE 0x04
#define HURRAY_COMPUTED_MOMENTS 0x08
#define HURRAY_COMPUTED_NM 0x10
#define HURRAY_COMPUTED_NAN_INF 0x20

// Kinds of values under a file's keys.
#define HURRAY_KIND_STRING 0x01
#define HURRAY_KIND_INT64 0x02
#define HURRAY_KIND_UINT64 0x03
#define HURRAY_KIND_FLOAT64 0x04
#define HURRAY_KIND_BOOL 0x05
#define HURRAY_KIND_BYTES 0x06
#define HURRAY_KIND_ARRAY 0x07

/* ---- What the library keeps for you -------------------------------------------------------------- */

// A descriptor that is yours: end it with `hurray_descriptor_free`. Calls that look at one take a
// `hurray_descriptor_ref`, which `hurray_descriptor_borrow` gives.
typedef struct hurray_descriptor hurray_descriptor;

// A descriptor that is somebody else's, to be looked at: a `hurray_descriptor`'s, a tensor's. It
// is good for as long as its owner is, and never freed.
typedef struct hurray_descriptor_ref hurray_descriptor_ref;

// The parts of a new descriptor, used by one thread at a time. Without
// `hurray_builder_buffers` the buffer table is made of host buffers of the least size that the
// layout and the quantization allow. What a part breaks is seen when the descriptor is built.
typedef struct hurray_builder hurray_builder;

// A tensor: a descriptor with the memory it speaks of, checked as a pair. It is a share: the
// memory is let go when the last share in it is freed. Any number of threads may use one at once,
// and different ones may be freed by different threads.
typedef struct hurray_tensor hurray_tensor;

// A tensor of another library, checked, whose bytes may have to be waited for: what there is to wait
// for is the sync mode of each buffer. Freeing it lets go of memory and events unused.
typedef struct hurray_offer hurray_offer;

// A producer of another library, used by one thread at a time. What it handed out stays good when it
// is freed.
typedef struct hurray_producer hurray_producer;

// A composite: a head without memory and its members, which may be heads themselves, checked to make
// a whole. Any number of threads may use one at once.
typedef struct hurray_composite hurray_composite;

// An open file. Any number of threads may use it at once. What was taken out of it stays good after
// `hurray_file_free`.
typedef struct hurray_file hurray_file;

// A tensor of a file: its descriptor read and checked, its bytes not yet. It keeps the file open.
// Any number of threads may use it at once.
typedef struct hurray_file_tensor hurray_file_tensor;

// A file being written, used by one thread at a time. It holds the index and the key-values, and no
// tensor.
typedef struct hurray_writer hurray_writer;

/* ---- The library --------------------------------------------------------------------------------- */

// The version of this interface. It is 1 for as long as a program built with an older
// `hurray.h` runs with a newer library.
#define HURRAY_C_ABI_VERSION 1

// `HURRAY_C_ABI_VERSION` of the library that runs. It may know more calls and longer structs
// than the header that a program was built with, never fewer where the number is the same.
uint32_t hurray_c_abi_version(void);

// The version of the library, such as "0.1.0". Good for ever.
const char *hurray_version(void);

// The name of a status, such as "HURRAY_CORRUPT"; NULL where no status has that number. Good for
// ever.
const char *hurray_status_name(int32_t status);

// What the last call on this thread that failed has to say: a sentence in UTF-8, empty where
// none failed. Good until the next call on this thread.
const char *hurray_last_error(void);

/* ---- Rules --------------------------------------------------------------------------------------- */

// A rule: what a reader checks, under an id that is never renamed nor used again. All of its
// texts are good for ever.
typedef struct HurrayRule {
    // `sizeof(HurrayRule)`; set it before the call.
    uint32_t struct_size;
    // Zero.
    uint32_t reserved;
    // Its id, such as "descriptor.magic".
    const char *id;
    // The page of the specification that it is from, such as "02".
    const char *page;
    // Whose fault a breach is: "corrupt", "unsupported", "refused", "peer" or "misuse".
    const char *fault;
    // What a breach means, as half a sentence.
    const char *meaning;
} HurrayRule;

// How many rules there are.
size_t hurray_rule_count(void);

// The rule at `place`, from 0; they are grouped by page.
int32_t hurray_rule_at(size_t place, HurrayRule *rule);

// The rule with that id.
int32_t hurray_rule_find(const char *id, HurrayRule *rule);

/* ---- What a reader accepts ----------------------------------------------------------------------- */

// What a reader accepts beyond the format's own tags, and its limits. Wherever one is asked for,
// NULL stands for no private tag and the default limits.
//
// Of each kind of private tag, bit n stands for the tag 0xF0 + n, with n from 0 to 14. A limit of
// 0 is the default one.
typedef struct HurrayAccept {
    // `sizeof(HurrayAccept)`.
    uint32_t struct_size;
    // The longest descriptor, in bytes.
    uint32_t descriptor_bytes;
    // The longest key-value section of a file, in bytes.
    uint64_t kv_bytes;
    // The longest index of a file, in bytes.
    uint64_t index_bytes;
    // How many steps, for each member, may be taken to prove that a partition covers its head.
    uint64_t composite_work;
    // The most members of one composite.
    uint32_t composite_members;
    // Private element types.
    uint16_t dtypes;
    // Private layouts.
    uint16_t layouts;
    // Private quantization schemes.
    uint16_t schemes;
    // Private devices, with their private memory classes.
    uint16_t devices;
    // Private composition rules.
    uint16_t compositions;
    // Zero.
    uint16_t reserved;
} HurrayAccept;

/* ---- Verdicts ------------------------------------------------------------------------------------ */

// What a reader has to say about bytes, or what the last call that failed has to say.
typedef struct HurrayVerdict {
    // `sizeof(HurrayVerdict)`; set it before the call.
    uint32_t struct_size;
    // HURRAY_OK, or why not.
    int32_t status;
    // Where the field starts, in bytes from the start of the input.
    uint64_t offset;
    // The id of the broken rule, such as "descriptor.magic". NULL where no rule was broken: all is
    // well, or the system said no. Good for ever.
    const char *rule;
    // Whose fault it is: "corrupt", "unsupported", "refused", "peer" or "misuse"; NULL where no rule
    // was broken. Good for ever.
    const char *fault;
    // What a breach of the rule means, as half a sentence; NULL where none was broken. Good for
    // ever.
    const char *meaning;
    // The field, as the specification calls it; NULL where no rule was broken. Good until the next
    // call on this thread.
    const char *field;
    // All of it as a sentence, with what was found and what was expected; empty where all is
    // well. Good until the next call on this thread.
    const char *message;
} HurrayVerdict;

// Judges a descriptor, which is all of `bytes`. The call succeeds whatever the verdict is.
// `accept` may be NULL.
int32_t hurray_descriptor_verdict(const void *bytes,
                                  size_t length,
                                  const HurrayAccept *accept,
                                  HurrayVerdict *verdict);

// Judges a file, which is all of `bytes`, down to its padding, its checksums and its index arrays.
// The call succeeds whatever the verdict is. `accept` may be NULL.
int32_t hurray_file_verdict(const void *bytes,
                            size_t length,
                            const HurrayAccept *accept,
                            HurrayVerdict *verdict);

// What the last call on this thread that failed has to say, part by part.
int32_t hurray_last_verdict(HurrayVerdict *verdict);

/* ---- Element types ------------------------------------------------------------------------------- */

// What the bits of a private element type are.
typedef struct HurrayExtensionType {
    // sizeof(HurrayExtensionType).
    uint32_t struct_size;
    // Bits of an element: 1, 2, 4 or whole bytes.
    uint32_t bit_width;
    // What is subtracted from a float's exponent.
    uint32_t exponent_bias;
    // 0 for an integer, 1 for a float.
    uint8_t is_float;
    // Of an integer: 1 where it has a sign.
    uint8_t is_signed;
    // Of a float: 0 or 1.
    uint8_t sign_bits;
    // Of a float.
    uint8_t exponent_bits;
    // Of a float.
    uint8_t mantissa_bits;
    // Of a float: 1 where some codes are NaN.
    uint8_t has_nan;
    // Of a float: 1 where some codes are infinite.
    uint8_t has_inf;
    // Zero.
    uint8_t reserved[5];
} HurrayExtensionType;

// The name of an element type, such as "float32"; NULL for tags that have none, as private ones.
// Good for ever.
const char *hurray_dtype_name(uint8_t dtype);

// The tag of the element type with that name; 0, which is none, where no type has it.
uint8_t hurray_dtype_from_name(const char *name);

// The bits of one element of a type; 0 where the format names no such type.
uint32_t hurray_dtype_bits(uint8_t dtype);

/* ---- Buffers ------------------------------------------------------------------------------------- */

// One entry of a buffer table, as the format lays it out on a little-endian machine. It never
// grows.
typedef struct HurrayHandle {
    // The buffer's length in bytes; 0 is an empty buffer.
    uint64_t byte_size;
    // The alignment that its address is guaranteed to have, in bytes: a power of two, and 64 or
    // more unless the buffer is empty.
    uint32_t alignment;
    // HURRAY_DEVICE_*.
    uint8_t device_tag;
    // HURRAY_SYNC_*.
    uint8_t sync_mode;
    // HURRAY_CLASS_*.
    uint8_t memory_class;
    // Zero.
    uint8_t reserved;
} HurrayHandle;

// Bytes in memory. It never grows.
typedef struct HurrayBytes {
    // Where they start; may be NULL where there are none.
    const void *data;
    // How many they are.
    size_t length;
} HurrayBytes;

/* ---- Descriptors --------------------------------------------------------------------------------- */

// How long the descriptor is that begins with these bytes, of which there are 10 at least.
int32_t hurray_descriptor_length(const void *prefix, size_t length, uint32_t *descriptor_length);

// Reads a descriptor, which is all of `bytes`, and checks every rule that the format has for it.
// Nothing of `bytes` is needed afterwards. `accept` may be NULL.
int32_t hurray_descriptor_decode(const void *bytes,
                                 size_t length,
                                 const HurrayAccept *accept,
                                 hurray_descriptor **descriptor);

// Ends a descriptor; NULL is nothing.
void hurray_descriptor_free(hurray_descriptor *descriptor);

// The same descriptor, to be looked at.
const hurray_descriptor_ref *hurray_descriptor_borrow(const hurray_descriptor *descriptor);

// A descriptor of your own that says the same.
int32_t hurray_descriptor_clone(const hurray_descriptor_ref *descriptor,
                                hurray_descriptor **copy);

// The same tensor with its dynamic dimensions known: one size for each of them, in order.
int32_t hurray_descriptor_resolve(const hurray_descriptor_ref *descriptor,
                                  const uint64_t *sizes,
                                  size_t count,
                                  hurray_descriptor **resolved);

// The length of the encoded descriptor, in bytes; 0 for NULL.
size_t hurray_descriptor_encoded_length(const hurray_descriptor_ref *descriptor);

// Writes the encoded descriptor, for which `hurray_descriptor_encoded_length` bytes are enough.
// Where there is less room nothing is written.
int32_t hurray_descriptor_encode(const hurray_descriptor_ref *descriptor,
                                 void *bytes,
                                 size_t capacity);

// Whether two descriptors say the same; false where one of them is NULL.
bool hurray_descriptor_equal(const hurray_descriptor_ref *descriptor,
                             const hurray_descriptor_ref *other);

/* ---- What a descriptor says ---------------------------------------------------------------------- */

// Advice about the values of a tensor, never relied on. A field counts where its bit of the mask
// is set.
typedef struct HurrayStatistics {
    // sizeof(HurrayStatistics).
    uint32_t struct_size;
    // Which fields were computed: HURRAY_COMPUTED_*.
    uint32_t computed_mask;
    // Elements that are not zero.
    uint64_t nnz;
    // The share of zeros, 0 to 1.
    double sparsity_ratio;
    // The least value.
    double value_min;
    // The greatest value.
    double value_max;
    // The greatest magnitude.
    double value_abs_max;
    // The mean.
    double value_mean;
    // The population standard deviation.
    double value_stddev;
    // N of an N:M sparsity.
    uint8_t nm_n;
    // M of it.
    uint8_t nm_m;
    // 1 where some value is NaN, else 0.
    uint8_t has_nan;
    // 1 where some value is infinite, else 0.
    uint8_t has_inf;
    // Zero.
    uint8_t reserved[4];
} HurrayStatistics;

// The minor version of the format that the descriptor was written in; the major one is 1.
uint8_t hurray_descriptor_version_minor(const hurray_descriptor_ref *descriptor);

// Which optional sections there are: HURRAY_HAS_*.
uint32_t hurray_descriptor_flags(const hurray_descriptor_ref *descriptor);

// The element type: HURRAY_DTYPE_*, or a private tag.
uint8_t hurray_descriptor_dtype(const hurray_descriptor_ref *descriptor);

// What the bits of a private element type are. Refused ("capi.absent") for the types that the
// format names.
int32_t hurray_descriptor_extension_type(const hurray_descriptor_ref *descriptor,
                                         HurrayExtensionType *extension);

// The number of dimensions, 0 for a scalar.
size_t hurray_descriptor_rank(const hurray_descriptor_ref *descriptor);

// One size for each dimension, outermost first; HURRAY_DYNAMIC where one is not known yet. Good
// for as long as the descriptor is.
const uint64_t *hurray_descriptor_shape(const hurray_descriptor_ref *descriptor);

// The number of elements: 1 for a scalar, 0 where some dimension is 0. UINT64_MAX where a
// dimension is dynamic, or the count needs more than 64 bits.
uint64_t hurray_descriptor_element_count(const hurray_descriptor_ref *descriptor);

// Whether some dimension is not known yet.
bool hurray_descriptor_is_dynamic(const hurray_descriptor_ref *descriptor);

// Where element [0, .., 0] starts in buffer 0, in bytes.
uint64_t hurray_descriptor_byte_offset(const hurray_descriptor_ref *descriptor);

// The number of buffers.
size_t hurray_descriptor_buffer_count(const hurray_descriptor_ref *descriptor);

// The sum of all buffers' sizes in bytes, UINT64_MAX where it is more than that.
uint64_t hurray_descriptor_data_bytes(const hurray_descriptor_ref *descriptor);

// Buffer `place` of the table, from 0: the layout's own buffers come first, then those of the
// quantization.
int32_t hurray_descriptor_buffer(const hurray_descriptor_ref *descriptor,
                                 size_t place,
                                 HurrayHandle *handle);

// Which box of a larger tensor it is: that tensor's shape, and where the box starts in it, a
// number for each dimension. Refused ("capi.absent") where it is none.
int32_t hurray_descriptor_shard(const hurray_descriptor_ref *descriptor,
                                uint64_t *parent_shape,
                                uint64_t *offset);

// The part it plays in an overlay: HURRAY_MEMBER_*. Refused ("capi.absent") where it plays none.
int32_t hurray_descriptor_member_role(const hurray_descriptor_ref *descriptor, uint8_t *role);

// Advice about the values. Refused ("capi.absent") where there is none.
int32_t hurray_descriptor_statistics(const hurray_descriptor_ref *descriptor,
                                     HurrayStatistics *statistics);

/* ---- Layouts ------------------------------------------------------------------------------------- */

// One record of a tiled layout. It never grows.
typedef struct HurrayTile {
    // The size of a tile in each dimension.
    const uint64_t *shape;
    // Where `outer` is HURRAY_LAYOUT_STRIDED: a step in tiles for each dimension. Else NULL.
    const int64_t *outer_strides;
    // The order of the tiles in their grid: HURRAY_LAYOUT_ROW_MAJOR, _COLUMN_MAJOR or _STRIDED.
    uint8_t outer;
    // Zero.
    uint8_t reserved[7];
} HurrayTile;

// Where the elements of a tensor lie. Which fields count is decided by the tag; the others are
// zero in an answer, and not looked at in a question.
typedef struct HurrayLayout {
    // sizeof(HurrayLayout).
    uint32_t struct_size;
    // HURRAY_LAYOUT_*, or a private tag.
    uint8_t tag;
    // COO: 1 where the entries are sorted by index, else 0.
    uint8_t is_sorted;
    // Block-paged: HURRAY_KV_*.
    uint8_t kv_role;
    // Block-paged: 1 where the block table holds uint64_t, 0 where it holds uint32_t.
    uint8_t wide_indices;
    // Composite: HURRAY_COMPOSITION_*, or a private rule.
    uint8_t composition;
    // Composite: HURRAY_COMBINE_* of an overlay; else 0, or as a private rule wants it.
    uint8_t combine;
    // Tiled: the order inside the smallest tile, HURRAY_LAYOUT_ROW_MAJOR, _COLUMN_MAJOR or
    // _STRIDED.
    uint8_t inner;
    // Zero.
    uint8_t reserved;
    // Hilbert: bits for each coordinate.
    uint32_t order;
    // Strided: a step in elements for each dimension. Tiled with strided insides: the same
    // inside the smallest tile.
    const int64_t *strides;
    // Morton: bits for each dimension. CSF: which dimension each level stores.
    const uint32_t *modes;
    // COO, CSR, CSC, CSF: the number of stored entries.
    uint64_t nnz;
    // Block-paged: pages in the pool.
    uint64_t num_pages;
    // Block-paged: tokens in a page.
    uint32_t page_size;
    // Block-paged: sequences in the block table.
    uint32_t num_seqs;
    // Block-paged: the layer of the model, HURRAY_NO_LAYER where it is not said.
    uint32_t layer_index;
    // Composite: how many of the tensors that follow are its members.
    uint32_t member_count;
    // Tiled, in a question: the records, the coarsest first. In an answer NULL:
    // hurray_descriptor_tile gives them one by one.
    const HurrayTile *tiles;
    // Tiled: how many records there are.
    size_t tile_count;
    // Private: which layout it is.
    uint64_t private_id;
    // Private: what belongs to it.
    const void *private_data;
    // Private: how many bytes that is.
    size_t private_length;
} HurrayLayout;

// Where the elements lie. Arrays are good for as long as the descriptor is.
int32_t hurray_descriptor_layout(const hurray_descriptor_ref *descriptor, HurrayLayout *layout);

// A step in elements for each dimension of a row-major, column-major or strided tensor: `rank`
// numbers. Refused ("capi.absent") for other layouts, where a dimension is not known, and where a
// step needs more than 64 bits.
int32_t hurray_descriptor_strides(const hurray_descriptor_ref *descriptor, int64_t *strides);

// Record `place` of a tiled layout, from 0, the coarsest first. Its arrays are good for as long as
// the descriptor is. Refused ("capi.absent") where the layout is another one.
int32_t hurray_descriptor_tile(const hurray_descriptor_ref *descriptor,
                               size_t place,
                               HurrayTile *tile);

/* ---- Quantization -------------------------------------------------------------------------------- */

// How stored codes become values. Which fields count is decided by the scheme; the others are
// zero in an answer, and not looked at in a question. Buffers are named by their place in the
// buffer table.
typedef struct HurrayQuantization {
    // sizeof(HurrayQuantization).
    uint32_t struct_size;
    // HURRAY_SCHEME_*, or a private tag.
    uint8_t scheme;
    // The version of a private scheme; that of the others is 1.
    uint8_t version;
    // The flags of a private scheme. In an answer also those of the others.
    uint16_t flags;
    // All but per-tensor: the dimension that has its own scale at each index or block.
    uint32_t axis;
    // Per-block, NF4, MXFP: elements in a block.
    uint32_t block_size;
    // All but per-tensor: the buffer of scales.
    uint32_t scales;
    // Per-channel, per-block: the buffer of zero points; HURRAY_NO_BUFFER is symmetric.
    uint32_t zero_points;
    // Per-tensor: the scale.
    float scale;
    // Per-tensor: the zero point.
    int32_t zero_point;
    // Per-block: the type of the scales.
    uint8_t scale_type;
    // Zero.
    uint8_t reserved[7];
    // Private: what belongs to the scheme.
    const void *payload;
    // Private: how many bytes that is.
    size_t payload_length;
} HurrayQuantization;

// How codes become values. Refused ("capi.absent") where the tensor is not quantized. The payload
// is good for as long as the descriptor is.
int32_t hurray_descriptor_quantization(const hurray_descriptor_ref *descriptor,
                                       HurrayQuantization *quantization);

/* ---- Where an element lies ----------------------------------------------------------------------- */

// Where an element lies in buffer 0. It spans its type's bits from there upward, into the next
// byte where they do not fit in this one. It never grows.
typedef struct HurrayLocation {
    // Bytes from the start of the buffer.
    uint64_t byte;
    // The element's lowest bit inside that byte, 0 for types of whole bytes.
    uint8_t bit;
    // 1 where the element is stored; 0 where a sparse tensor leaves it out, for it is zero.
    uint8_t is_stored;
    // Zero.
    uint8_t reserved[6];
} HurrayLocation;

// Where the element at `index`, `rank` numbers, of a dense tensor lies. Layouts whose addresses
// are in their buffers are refused ("index.no-address").
int32_t hurray_descriptor_locate(const hurray_descriptor_ref *descriptor,
                                 const uint64_t *index,
                                 size_t rank,
                                 HurrayLocation *location);

// Where the element at `index` lies, for any layout but block-paged and private ones. `buffers`
// are the tensor's, in table order; they are not trusted: what is out of place is refused.
int32_t hurray_descriptor_locate_in(const hurray_descriptor_ref *descriptor,
                                    const uint64_t *index,
                                    size_t rank,
                                    const HurrayBytes *buffers,
                                    size_t buffer_count,
                                    HurrayLocation *location);

// Where element (`head`, `dim`) of token `token` of sequence `sequence` lies in the page pool of a
// block-paged tensor. How many tokens a sequence has is not in the format: it is the caller who
// knows.
int32_t hurray_descriptor_locate_token(const hurray_descriptor_ref *descriptor,
                                       uint32_t sequence,
                                       uint64_t token,
                                       uint64_t head,
                                       uint64_t dim,
                                       const HurrayBytes *buffers,
                                       size_t buffer_count,
                                       HurrayLocation *location);

// Checks what the bytes of the buffers must be: index arrays in bounds and in order, scales and
// zero points in range. Dense tensors without parameter buffers have nothing to check.
int32_t hurray_descriptor_check_contents(const hurray_descriptor_ref *descriptor,
                                         const HurrayBytes *buffers,
                                         size_t buffer_count);

/* ---- New descriptors ----------------------------------------------------------------------------- */

// Starts a descriptor: row-major until told otherwise. `dtype` is HURRAY_DTYPE_*, or a private tag
// with its record; else `extension` is NULL. HURRAY_DYNAMIC in `shape` is a size that is not known
// yet. End the builder with `hurray_builder_free`.
int32_t hurray_builder_new(uint8_t dtype,
                           const HurrayExtensionType *extension,
                           const uint64_t *shape,
                           size_t rank,
                           hurray_builder **builder);

// Starts a descriptor that says all that another one says.
int32_t hurray_builder_from(const hurray_descriptor_ref *descriptor, hurray_builder **builder);

// Ends a builder; NULL is nothing.
void hurray_builder_free(hurray_builder *builder);

// Where the elements lie. Nothing of the struct is needed afterwards.
int32_t hurray_builder_layout(hurray_builder *builder, const HurrayLayout *layout);

// Where the elements lie: a step in elements for each dimension, negative and 0 too.
int32_t hurray_builder_strides(hurray_builder *builder, const int64_t *strides);

// Where element [0, .., 0] starts in buffer 0, in bytes.
int32_t hurray_builder_byte_offset(hurray_builder *builder, uint64_t byte_offset);

// The buffer table: the layout's own buffers, then those of the quantization.
int32_t hurray_builder_buffers(hurray_builder *builder,
                               const HurrayHandle *handles,
                               size_t count);

// How codes become values.
int32_t hurray_builder_quantization(hurray_builder *builder,
                                    const HurrayQuantization *quantization);

// Which box of a larger tensor it is: that tensor's shape, and where the box starts in it, a
// number for each dimension.
int32_t hurray_builder_shard(hurray_builder *builder,
                             const uint64_t *parent_shape,
                             const uint64_t *offset);

// Advice about the values.
int32_t hurray_builder_statistics(hurray_builder *builder, const HurrayStatistics *statistics);

// The part it plays in an overlay: HURRAY_MEMBER_*.
int32_t hurray_builder_member_role(hurray_builder *builder, uint8_t role);

// The descriptor that the parts make, checked as if it were read. The builder stays as it is, to be
// used again or freed.
int32_t hurray_builder_build(const hurray_builder *builder, hurray_descriptor **descriptor);

/* ---- Tensors ------------------------------------------------------------------------------------- */

// Host memory of a caller's for one buffer of a tensor. It never grows.
//
// Whoever hands it over promises, until `release` is called: `length` bytes are at `data`, stay
// there, hold something (none is uninitialised), and may be read from any thread; with no flag set
// they may be written to from any thread as well. Nobody else writes to them, unless
// HURRAY_BUFFER_MAY_CHANGE is set; nor reads them, unless that or HURRAY_BUFFER_READ_ONLY is.
typedef struct HurrayMemory {
    // Where it starts; may be NULL where it is empty.
    void *data;
    // How many bytes there are.
    size_t length;
    // HURRAY_BUFFER_READ_ONLY, so that nobody is ever let write to it; HURRAY_BUFFER_MAY_CHANGE,
    // where somebody else may write to it meanwhile. Others are refused.
    uint64_t flags;
    // Lets go of it: called once, with `context`, by whatever thread uses it last, and unwinds
    // nothing. NULL for memory that stays, and of which all this holds, for as long as the program
    // runs.
    void (*release)(void *context);
    // Yours.
    void *context;
} HurrayMemory;

// Where a buffer of a tensor is.
typedef struct HurrayRegion {
    // sizeof(HurrayRegion); set it before the call.
    uint32_t struct_size;
    // HURRAY_DEVICE_*.
    uint8_t device_tag;
    // HURRAY_CLASS_*.
    uint8_t memory_class;
    // Zero.
    uint8_t reserved[2];
    // Where the CPU finds the first byte, NULL where it may not look: what a location counts from.
    // The bytes before `lead` are not the tensor's, and never to be read.
    const void *host;
    // The buffer's length in bytes, `lead` included.
    uint64_t length;
    // How many bytes at the start are not the tensor's: memory that begins behind a multiple of 64
    // is described from there, and `byte_offset` steps over them. 0 to 63.
    uint64_t lead;
    // HURRAY_BUFFER_READ_ONLY, HURRAY_BUFFER_MAY_CHANGE.
    uint64_t flags;
    // The address of a device, or of the host; 0 where there is none.
    uint64_t address;
    // The driver's object that holds the memory; 0 where there is none.
    uint64_t object;
    // From `address`, or from the start of `object`, to the first byte.
    uint64_t offset;
    // The driver's context; 0 where there is none.
    uint64_t context;
    // Which device of its kind, in this process; -1 where it is not known.
    int64_t ordinal;
    // The device's own number; zero where it is not known.
    uint8_t uuid[16];
} HurrayRegion;

// A tensor in your memory, one piece for each buffer of the descriptor, in table order and as long
// as it says, or longer. Nothing is copied.
//
// By this call you promise of each piece what `HurrayMemory` asks for. The memory is taken whatever
// the answer: where it is refused it is released at once. (But a `count` above 65535 is not
// believed, and nothing is looked at: "capi.length".) The descriptor counts from the multiple of 64
// at or below the first byte: for memory that begins elsewhere, `hurray_tensor_build` works that out.
int32_t hurray_tensor_new(const hurray_descriptor_ref *descriptor,
                          const HurrayMemory *memory,
                          size_t count,
                          hurray_tensor **tensor);

// A tensor in your memory, one piece for each buffer, in table order, of the type, shape, layout and
// quantization that the builder has; its buffer table is made from the memory, and what the builder
// says of one is not looked at. Nothing is copied.
//
// By this call you promise of each piece what `HurrayMemory` asks for. The memory is taken whatever
// the answer: where it is refused it is released at once. (But a `count` above 65535 is not
// believed, and nothing is looked at: "capi.length".) A dense tensor may begin at any address; its
// byte offset counts from there, and in the descriptor from the multiple of 64 below. Index arrays,
// scales and zero points begin at a multiple of 64.
int32_t hurray_tensor_build(const hurray_builder *builder,
                            const HurrayMemory *memory,
                            size_t count,
                            hurray_tensor **tensor);

// A tensor in memory of the library's own, aligned as the descriptor says and zeroed, to be filled by
// way of `hurray_tensor_write`. The descriptor is of host memory.
int32_t hurray_tensor_zeroed(const hurray_descriptor_ref *descriptor, hurray_tensor **tensor);

// Another share in a tensor.
int32_t hurray_tensor_clone(const hurray_tensor *tensor, hurray_tensor **copy);

// Ends a share in a tensor; NULL is nothing. The last one lets go of the memory.
void hurray_tensor_free(hurray_tensor *tensor);

// What the tensor is. Good until the tensor is given away or freed.
const hurray_descriptor_ref *hurray_tensor_descriptor(const hurray_tensor *tensor);

// Where buffer `place` is, from 0. What it points to is good until the tensor is given away or
// freed.
int32_t hurray_tensor_region(const hurray_tensor *tensor,
                             size_t place,
                             HurrayRegion *region);

// Where buffer `place` starts, as in `hurray_tensor_region`, to be written to: of memory that may be
// written to, and that no other share is in ("memory.read-only", "memory.shared" where that is not
// so). Write until the tensor is next used, and not before `lead`.
int32_t hurray_tensor_write(hurray_tensor *tensor, size_t place, void **data);

// Checks what the memory must hold: index arrays in bounds and in order, scales and zero points in
// range. Tensors out of files, and those of other libraries, were looked at when they were taken.
int32_t hurray_tensor_check_contents(const hurray_tensor *tensor);

/* ---- Elements, parts and turns ------------------------------------------------------------------- */

// Which indices of a dimension are taken. It never grows.
typedef struct HurrayCut {
    // The first of the range.
    uint64_t start;
    // The first behind the range; HURRAY_TO_END for all that are left.
    uint64_t end;
    // From one that is taken to the next, never 0. A negative step takes them from the last of the
    // range backwards.
    int64_t step;
} HurrayCut;

// The element at `index`, of `rank` numbers, of any layout but block-paged, composite and private
// ones: its bits as they lie in memory, of a quantized tensor its code, zeros where a sparse tensor
// does not store it. An element narrower than `size` bytes is followed by zeros.
int32_t hurray_tensor_element(const hurray_tensor *tensor,
                              const uint64_t *index,
                              size_t rank,
                              void *value,
                              size_t size);

// The elements inside some ranges, one for each dimension from the first on; dimensions without a
// range are taken whole. The result shares the memory, as those of all calls in this section do that
// do not say otherwise. They are there for row-major, column-major and strided tensors.
int32_t hurray_tensor_slice(const hurray_tensor *tensor,
                            const HurrayCut *cuts,
                            size_t count,
                            hurray_tensor **view);

// The elements at `index` along an axis, which is no more.
int32_t hurray_tensor_index(const hurray_tensor *tensor,
                            size_t axis,
                            uint64_t index,
                            hurray_tensor **view);

// The dimensions in another order: the first of the result is dimension `axes[0]`.
int32_t hurray_tensor_permute(const hurray_tensor *tensor,
                              const size_t *axes,
                              size_t count,
                              hurray_tensor **view);

// The same elements in index order, in another shape, where no element has to move ("view.reshape"
// where one has).
int32_t hurray_tensor_reshape(const hurray_tensor *tensor,
                              const uint64_t *shape,
                              size_t rank,
                              hurray_tensor **view);

// Repeated to a larger shape, without memory for it: axes of size 1 are repeated, and new ones come
// in front.
int32_t hurray_tensor_broadcast(const hurray_tensor *tensor,
                                const uint64_t *shape,
                                size_t rank,
                                hurray_tensor **view);

// A copy: the same tensor, row-major in memory of its own. It takes no more than `most` bytes
// ("view.expands" where it would); with `most` 0, no more than the buffer that the elements are in,
// which is too little for sparse and broadcast tensors.
int32_t hurray_tensor_row_major(const hurray_tensor *tensor, uint64_t most, hurray_tensor **copy);

/* ---- Handing tensors over, and taking them ------------------------------------------------------- */

// Hands a share in a tensor to whoever takes the struct, to be read. The tensor stays yours. Set
// `out->struct_size` to sizeof(HurrayTensor) before the call; what is in `out` then is
// released by its `release`, exactly once. What was in `out` before is written over, and is never
// released where it was a tensor. Where the call fails, `out->release` is NULL.
int32_t hurray_tensor_export(const hurray_tensor *tensor, HurrayTensor *out);

// Hands a tensor over whole, and spends it: where no other share is in the memory, and it may be
// written to and begins at a multiple of 64, the consumer may write. As `hurray_tensor_export`
// besides.
int32_t hurray_tensor_give(hurray_tensor *tensor, HurrayTensor *out);

// Takes a tensor out of a struct and checks all of it: versions and sizes, its descriptor, each
// handle against the descriptor's, addresses, and the sync mode of each buffer against what comes
// with it. Then it waits, on the host, for what there is to wait for, and checks what index arrays,
// scales and zero points say, where the CPU may look at them.
//
// `from->release` is NULL afterwards whatever the answer: what is refused is released. Waiting for
// events and streams takes a device of the kind: without one it is refused ("sync.device-unknown"),
// and `hurray_offer_take` is the call to hand such a tensor on. `accept` may be NULL.
int32_t hurray_tensor_import(HurrayTensor *from, const HurrayAccept *accept, hurray_tensor **tensor);

// As `hurray_tensor_import`, without waiting. `accept` may be NULL.
int32_t hurray_offer_take(HurrayTensor *from, const HurrayAccept *accept, hurray_offer **offer);

// Ends an offer; NULL is nothing. Memory and events that are still in it are let go of.
void hurray_offer_free(hurray_offer *offer);

// What is offered. Its handles say how the memory is once it has been waited for. Good until the
// offer is spent or freed.
const hurray_descriptor_ref *hurray_offer_descriptor(const hurray_offer *offer);

// What there is to wait for before buffer `place` may be touched: HURRAY_SYNC_*.
int32_t hurray_offer_sync_mode(const hurray_offer *offer, size_t place, uint8_t *mode);

// Waits on the host for all of it, and spends the offer. The events are released then; where it
// fails, the memory too.
int32_t hurray_offer_acquire(hurray_offer *offer, hurray_tensor **tensor);

// Hands an offer on as it is, its events with it, and spends it. As `hurray_tensor_export` besides.
int32_t hurray_offer_export(hurray_offer *offer, HurrayTensor *out);

/* ---- Producers ----------------------------------------------------------------------------------- */

// Makes a producer that hands out shares in a tensor, to be read; and copies in host memory where a
// request asks for one, or allows one and wants to write. The tensor stays yours. Set
// `out->struct_size` to sizeof(HurrayProducer) before the call; where it fails,
// `out->release` is NULL.
int32_t hurray_tensor_producer(const hurray_tensor *tensor, HurrayProducer *out);

// Takes a producer out of a struct. `from->release` is NULL afterwards whatever the answer: what is
// refused is released.
int32_t hurray_producer_take(HurrayProducer *from, hurray_producer **producer);

// Ends a producer; NULL is nothing.
void hurray_producer_free(hurray_producer *producer);

// What it will hand out, as far as it says that before: devices, classes and sync modes may come out
// otherwise. Refused ("capi.absent") where it says nothing. `accept` may be NULL.
int32_t hurray_producer_describe(hurray_producer *producer,
                                 const HurrayAccept *accept,
                                 hurray_descriptor **descriptor);

// Asks for the tensor, checks all of it, also that it is as asked, and takes it over. `request` may be
// NULL: data that is ready, on any device, without a copy. `accept` may be NULL.
int32_t hurray_producer_ask(hurray_producer *producer,
                            const HurrayRequest *request,
                            const HurrayAccept *accept,
                            hurray_offer **offer);

// What the producer said its last call failed at, in its own words; NULL where it said nothing. Good
// until the producer is next used.
const char *hurray_producer_last_error(const hurray_producer *producer);

/* ---- Composites ---------------------------------------------------------------------------------- */

// A composite of a head and its members in order, each nested head before its own. It holds shares of
// its own in them.
int32_t hurray_composite_new(const hurray_tensor *const *tensors,
                             size_t count,
                             hurray_composite **composite);

// The composite whose head has that name in a file, with all its members, as `hurray_file_tensor_load`
// loads each; of a tensor that is no head, itself without members.
int32_t hurray_composite_load(const hurray_file *file,
                              const char *name,
                              hurray_composite **composite);

// Takes a composite out of a struct, checks all of it, and waits for it: see `hurray_tensor_import`. A
// plain tensor is a composite without members. `accept` may be NULL.
int32_t hurray_composite_import(HurrayTensor *from,
                                const HurrayAccept *accept,
                                hurray_composite **composite);

// Hands shares in all of a composite to whoever takes the struct, to be read. As
// `hurray_tensor_export` besides.
int32_t hurray_composite_export(const hurray_composite *composite, HurrayTensor *out);

// How many tensors it has: its head, its members, and theirs.
size_t hurray_composite_count(const hurray_composite *composite);

// A share in tensor `place`, from 0, in the order of `hurray_composite_new`.
int32_t hurray_composite_tensor(const hurray_composite *composite,
                                size_t place,
                                hurray_tensor **tensor);

// Ends a composite; NULL is nothing. Shares that were taken out of it stay good.
void hurray_composite_free(hurray_composite *composite);

/* ---- Files --------------------------------------------------------------------------------------- */

// Is told how many bytes of a file are done, and of how many.
typedef void (*HurrayProgress)(void *context, uint64_t done, uint64_t total);

// Opens a file by reading. Whatever happens to the file meanwhile, reading it gives bytes or an
// error. `accept` may be NULL.
int32_t hurray_file_open(const char *path, const HurrayAccept *accept, hurray_file **file);

// Maps a file. Where the system refuses to map it, it is read instead, and `hurray_file_is_mapped`
// says so. `accept` may be NULL.
//
// By calling this you promise that the file does not change while it is open: that nobody writes
// to it, nor cuts it short. Cutting a mapped file short ends the process with a signal where the
// lost part is touched. A file that is replaced and never written over, as hurray_writer_finish
// and most careful programs do it, is safe to map: the mapping keeps the file that was opened.
int32_t hurray_file_map(const char *path, const HurrayAccept *accept, hurray_file **file);

// Closes a file; NULL is nothing. Tensors that were taken out of it stay good: the last of them
// closes it.
void hurray_file_free(hurray_file *file);

// Whether the file is mapped, so that its tensors' bytes are reached without a copy.
bool hurray_file_is_mapped(const hurray_file *file);

// Why the system would not map the file, where it was asked to; else NULL. Good until the file is
// freed.
const char *hurray_file_map_refusal(const hurray_file *file);

// The number of tensors, aliases not counted.
size_t hurray_file_tensor_count(const hurray_file *file);

// The name of tensor `place`, from 0, in the order of the index: UTF-8 with no zero byte behind it,
// and `length` bytes long. Good for as long as the file is open.
const char *hurray_file_name(const hurray_file *file, size_t place, size_t *length);

// The tensor with that name, or that an alias of that name stands for. Its descriptor is read and
// checked, and none of its bytes. End it with `hurray_file_tensor_free`.
int32_t hurray_file_find(const hurray_file *file, const char *name, hurray_file_tensor **tensor);

// Tensor `place`, from 0, in the order of the index. As `hurray_file_find`.
int32_t hurray_file_at(const hurray_file *file, size_t place, hurray_file_tensor **tensor);

// Checks everything: each tensor, the contents of index and parameter buffers, checksums, padding,
// composites. `progress`, which may be NULL, is told on the way how far it is.
int32_t hurray_file_verify(const hurray_file *file, HurrayProgress progress, void *context);

/* ---- Tensors of a file --------------------------------------------------------------------------- */

// Ends a tensor of a file; NULL is nothing.
void hurray_file_tensor_free(hurray_file_tensor *tensor);

// The tensor's own name, also where it was found by an alias: UTF-8 with no zero byte behind it,
// and `length` bytes long. Good for as long as the tensor is.
const char *hurray_file_tensor_name(const hurray_file_tensor *tensor, size_t *length);

// What the tensor is. Good for as long as the tensor is.
const hurray_descriptor_ref *hurray_file_tensor_descriptor(const hurray_file_tensor *tensor);

// Where buffer `buffer`, from 0, lies in the file: its offset and its length, in bytes.
int32_t hurray_file_tensor_range(const hurray_file_tensor *tensor,
                                 size_t buffer,
                                 uint64_t *offset,
                                 uint64_t *length);

// The bytes of a buffer where they lie, without a copy. NULL where the file is read and not mapped.
// Good for as long as the tensor is.
const void *hurray_file_tensor_mapped(const hurray_file_tensor *tensor, size_t buffer);

// Copies the bytes of a buffer to `bytes`, where there is room for `capacity` of them. They are not
// compared with a checksum.
int32_t hurray_file_tensor_read(const hurray_file_tensor *tensor,
                                size_t buffer,
                                void *bytes,
                                size_t capacity);

// The same, compared with the buffer's checksum where the file has one. On an error the bytes are
// not to be used.
int32_t hurray_file_tensor_read_checked(const hurray_file_tensor *tensor,
                                        size_t buffer,
                                        void *bytes,
                                        size_t capacity);

// The tensor in memory: of a mapped file without a copy, read-only, and good after the file was closed;
// else read. Its index arrays, scales and zero points are checked, its data is not compared with a
// checksum. End it with `hurray_tensor_free`.
int32_t hurray_file_tensor_load(const hurray_file_tensor *tensor, hurray_tensor **loaded);

// Checks the tensor: its checksums, where the file has them, and what its index and parameter
// buffers hold.
int32_t hurray_file_tensor_verify(const hurray_file_tensor *tensor);

/* ---- Key-values ---------------------------------------------------------------------------------- */

// A key with its value. Which fields hold the value is decided by its kind; the others are zero in
// an answer, and not looked at in a question.
typedef struct HurrayKeyValue {
    // sizeof(HurrayKeyValue).
    uint32_t struct_size;
    // HURRAY_KIND_*.
    uint8_t kind;
    // An array: the kind of its items, any but HURRAY_KIND_ARRAY.
    uint8_t element;
    // HURRAY_KIND_BOOL: 0 or 1.
    uint8_t boolean;
    // Zero.
    uint8_t reserved;
    // The key, in UTF-8; NULL in an item of an array.
    const char *key;
    // How many bytes the key has. There need be no zero byte behind it.
    size_t key_length;
    // HURRAY_KIND_INT64.
    int64_t int64;
    // HURRAY_KIND_UINT64.
    uint64_t uint64;
    // HURRAY_KIND_FLOAT64.
    double float64;
    // HURRAY_KIND_STRING: the text, in UTF-8 with no zero byte behind it. HURRAY_KIND_BYTES: the
    // bytes. HURRAY_KIND_ARRAY in a question: int64_t, uint64_t, double, uint8_t (0 or 1) or struct
    // HurrayBytes, by the kind of the items; in an answer NULL: hurray_file_each_item gives them.
    const void *data;
    // A string or bytes: how many bytes. An array: how many items.
    size_t length;
} HurrayKeyValue;

// Is shown key-values one by one, each good for as long as the call lasts. It answers 0 to go on,
// and anything else to stop, which the call that shows them then answers too.
typedef int32_t (*HurrayVisit)(void *context, const HurrayKeyValue *value);

// The number of keys.
size_t hurray_file_key_count(const hurray_file *file);

// The value of a key. Refused ("capi.absent") where the file has no such key. Its texts are good
// for as long as the file is open.
int32_t hurray_file_key_value(const hurray_file *file, const char *key, HurrayKeyValue *value);

// Shows every key with its value, in the order in which they were written.
int32_t hurray_file_each_key_value(const hurray_file *file, HurrayVisit visit, void *context);

// Shows every item of an array. Refused ("capi.absent") where the file has no such key, or its value
// is no array.
int32_t hurray_file_each_item(const hurray_file *file,
                              const char *key,
                              HurrayVisit visit,
                              void *context);

/* ---- Writing files ------------------------------------------------------------------------------- */

// How a file is written. Wherever one is asked for, NULL stands for a struct of zeros.
typedef struct HurrayWriteOptions {
    // sizeof(HurrayWriteOptions).
    uint32_t struct_size;
    // Every buffer starts at a multiple of this: a power of two from 4096 to 2 MiB. 0 is 4096.
    uint32_t alignment;
    // 1 to leave out the checksum of each buffer.
    uint8_t no_checksums;
    // 1 for a file that will have no key-values: no checksums and no aliases either.
    uint8_t no_key_values;
    // 1 to sort the index by the bytes of the names; else it is in the order of the file.
    uint8_t sorted;
    // Zero.
    uint8_t reserved[5];
    // How many tensors there will be; 0 where that is not known.
    uint64_t tensor_count;
} HurrayWriteOptions;

// Takes the next bytes of a file. It answers 0, or anything else where it cannot take them, and the
// call that wrote them fails.
typedef int32_t (*HurrayWrite)(void *context, const void *bytes, size_t length);

// Starts a file that will be at `path`. Until `hurray_writer_finish` nothing is there, or what was
// there before. `options` may be NULL. End the writer with `hurray_writer_free`.
int32_t hurray_writer_create(const char *path,
                             const HurrayWriteOptions *options,
                             hurray_writer **writer);

// Starts a file that goes to a function, in one pass from its first byte to its last: to a pipe, a
// socket, memory. `options` may be NULL. End the writer with `hurray_writer_free`.
int32_t hurray_writer_to(HurrayWrite write,
                         void *context,
                         const HurrayWriteOptions *options,
                         hurray_writer **writer);

// Ends a writer; NULL is nothing. Where it has not finished, nothing is left of the file at a path.
void hurray_writer_free(hurray_writer *writer);

// Writes a tensor whose buffers are in memory, in table order and exactly as long as the descriptor
// says. Members of a composite follow their head, which has no buffers.
int32_t hurray_writer_tensor(hurray_writer *writer,
                             const char *name,
                             const hurray_descriptor_ref *descriptor,
                             const HurrayBytes *buffers,
                             size_t buffer_count);

// Writes a tensor that is in host memory, from where it is.
int32_t hurray_writer_put(hurray_writer *writer, const char *name, const hurray_tensor *tensor);

// Lets `name` stand for a tensor that was written already.
int32_t hurray_writer_alias(hurray_writer *writer, const char *name, const char *tensor);

// Adds a key-value.
int32_t hurray_writer_key_value(hurray_writer *writer, const HurrayKeyValue *value);

// Adds a key-value of two texts.
int32_t hurray_writer_text(hurray_writer *writer, const char *key, const char *value);

// Writes what is left of the file. Where it goes to a path, it is synced and takes its name, over a
// file that may be there. The writer is spent then, also on an error, and still to be freed.
int32_t hurray_writer_finish(hurray_writer *writer);

#ifdef __cplusplus
}
#endif

#endif
