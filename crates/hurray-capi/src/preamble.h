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
