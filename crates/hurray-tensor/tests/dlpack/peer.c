/* A library that knows DLPack by its header alone: it makes tensors, and reads those it is given. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dlpack.h"

/* How many of the tensors made here were deleted. */
static int deleted = 0;

int peer_deleted(void) { return deleted; }

struct made {
    DLManagedTensorVersioned managed;
    int64_t shape[2], strides[2];
    float values[6];
};

static void delete_made(DLManagedTensorVersioned *self) {
    ++deleted;
    memset(self, 0xA5, sizeof(struct made));
    free(self);
}

/* A 2 x 3 matrix of 0 to 5, as the transpose of a 3 x 2 one. */
DLManagedTensorVersioned *peer_make(uint32_t major, uint64_t flags) {
    struct made *made = malloc(sizeof *made);
    int k;
    for (k = 0; k < 6; ++k) made->values[k] = (float)k;
    made->shape[0] = 2, made->shape[1] = 3;
    made->strides[0] = 1, made->strides[1] = 2;
    made->managed.version.major = major;
    made->managed.version.minor = DLPACK_MINOR_VERSION;
    made->managed.manager_ctx = made;
    made->managed.deleter = delete_made;
    made->managed.flags = flags;
    made->managed.dl_tensor.data = made->values;
    made->managed.dl_tensor.device.device_type = kDLCPU;
    made->managed.dl_tensor.device.device_id = 0;
    made->managed.dl_tensor.ndim = 2;
    made->managed.dl_tensor.dtype.code = kDLFloat;
    made->managed.dl_tensor.dtype.bits = 32;
    made->managed.dl_tensor.dtype.lanes = 1;
    made->managed.dl_tensor.shape = made->shape;
    made->managed.dl_tensor.strides = made->strides;
    made->managed.dl_tensor.byte_offset = 0;
    return &made->managed;
}

struct older {
    DLManagedTensor managed;
    int64_t shape[1];
    uint8_t values[3];
};

static void delete_older(DLManagedTensor *self) {
    ++deleted;
    memset(self, 0xA5, sizeof(struct older));
    free(self);
}

/* Three bytes, without strides, by the older struct. */
DLManagedTensor *peer_make_older(void) {
    struct older *made = malloc(sizeof *made);
    memset(made, 0, sizeof *made);
    made->values[0] = 7, made->values[1] = 8, made->values[2] = 9;
    made->shape[0] = 3;
    made->managed.deleter = delete_older;
    made->managed.dl_tensor.data = made->values;
    made->managed.dl_tensor.device.device_type = kDLCPU;
    made->managed.dl_tensor.ndim = 1;
    made->managed.dl_tensor.dtype.code = kDLUInt;
    made->managed.dl_tensor.dtype.bits = 8;
    made->managed.dl_tensor.dtype.lanes = 1;
    made->managed.dl_tensor.shape = made->shape;
    return &made->managed;
}

/* The sum of a tensor of floats of any shape and strides. */
static double sum(const DLTensor *t, int dimension, const char *first) {
    double total = 0;
    int64_t k;
    if (dimension == t->ndim) {
        float value;
        memcpy(&value, first, sizeof value);
        return value;
    }
    for (k = 0; k < t->shape[dimension]; ++k)
        total += sum(t, dimension + 1, first + k * t->strides[dimension] * (int64_t)sizeof(float));
    return total;
}

/* Sums what it is given, doubles it where it may write, and deletes it. Negative: not understood. */
double peer_take(DLManagedTensorVersioned *given) {
    const DLTensor *t = &given->dl_tensor;
    double total = -1;
    if (given->version.major == DLPACK_MAJOR_VERSION && t->device.device_type == kDLCPU &&
        t->dtype.code == kDLFloat && t->dtype.bits == 32 && t->dtype.lanes == 1)
        total = sum(t, 0, (const char *)t->data + t->byte_offset);
    if (given->deleter != NULL) given->deleter(given);
    return total;
}

/* The bytes of a struct that is one run of bytes: the first is set to 42 where that is allowed. */
int peer_write(DLManagedTensorVersioned *given) {
    unsigned char *bytes = (unsigned char *)given->dl_tensor.data + given->dl_tensor.byte_offset;
    int may_write = !(given->flags & DLPACK_FLAG_BITMASK_READ_ONLY);
    if (may_write) bytes[0] = 42;
    return may_write;
}

/* Where this compiler puts every field, and what the header's constants are. */
#define FIELD(type, field) printf(#type "." #field " %zu\n", offsetof(type, field))
#define SIZE(type) printf(#type " %zu\n", sizeof(type))
#define CONSTANT(name) printf(#name " %lld\n", (long long)(name))

int main(void) {
    SIZE(DLPackVersion);
    FIELD(DLPackVersion, major);
    FIELD(DLPackVersion, minor);
    SIZE(DLDevice);
    FIELD(DLDevice, device_type);
    FIELD(DLDevice, device_id);
    SIZE(DLDataType);
    FIELD(DLDataType, code);
    FIELD(DLDataType, bits);
    FIELD(DLDataType, lanes);
    SIZE(DLTensor);
    FIELD(DLTensor, data);
    FIELD(DLTensor, device);
    FIELD(DLTensor, ndim);
    FIELD(DLTensor, dtype);
    FIELD(DLTensor, shape);
    FIELD(DLTensor, strides);
    FIELD(DLTensor, byte_offset);
    SIZE(DLManagedTensor);
    FIELD(DLManagedTensor, dl_tensor);
    FIELD(DLManagedTensor, manager_ctx);
    FIELD(DLManagedTensor, deleter);
    SIZE(DLManagedTensorVersioned);
    FIELD(DLManagedTensorVersioned, version);
    FIELD(DLManagedTensorVersioned, manager_ctx);
    FIELD(DLManagedTensorVersioned, deleter);
    FIELD(DLManagedTensorVersioned, flags);
    FIELD(DLManagedTensorVersioned, dl_tensor);
    CONSTANT(DLPACK_MAJOR_VERSION);
    CONSTANT(DLPACK_MINOR_VERSION);
    CONSTANT(DLPACK_FLAG_BITMASK_READ_ONLY);
    CONSTANT(DLPACK_FLAG_BITMASK_IS_COPIED);
    CONSTANT(DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);
    CONSTANT(kDLCPU);
    CONSTANT(kDLCUDA);
    CONSTANT(kDLCUDAHost);
    CONSTANT(kDLCUDAManaged);
    CONSTANT(kDLROCM);
    CONSTANT(kDLROCMHost);
    CONSTANT(kDLMetal);
    CONSTANT(kDLVulkan);
    CONSTANT(kDLWebGPU);
    CONSTANT(kDLHexagon);
    CONSTANT(kDLOneAPI);
    CONSTANT(kDLOpenCL);
    CONSTANT(kDLInt);
    CONSTANT(kDLUInt);
    CONSTANT(kDLFloat);
    CONSTANT(kDLBfloat);
    CONSTANT(kDLComplex);
    CONSTANT(kDLBool);
    CONSTANT(kDLFloat8_e4m3fn);
    CONSTANT(kDLFloat8_e5m2);
    CONSTANT(kDLFloat8_e8m0fnu);
    CONSTANT(kDLFloat6_e2m3fn);
    CONSTANT(kDLFloat6_e3m2fn);
    CONSTANT(kDLFloat4_e2m1fn);
    return 0;
}
