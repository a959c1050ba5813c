/* The binary interface between compiled kernels and the runtime, in C11. The structs come from abi.def,
 * which describes every field.
 *
 * A kernel is one function, called for each core: `int32_t kernel(const kdl_args*, kdl_core*)`. It returns
 * KDL_DONE, or KDL_BARRIER to be called again when every unfinished core has reached the barrier, or
 * KDL_TRAPPED after filling kdl_core.trap. Values that live across a barrier are kept in kdl_core.frame; the
 * contents of scratch memory and workspace do not survive a barrier. A kernel may be called from any thread
 * and never throws.
 *
 * An object for module `m` defines a NULL-terminated array of `const kdl_image*`, which m.h declares as
 * `kdl_images_m`. A hash of the module's contents is appended to the symbol of the array, so that objects for
 * files of the same name can be linked together. A shared object also defines the same array under the name
 * `kdl_module_images`, which kdl_context_load looks up. */
#pragma once

#include <stdint.h>

#include "kdl/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the kernel ABI and the C interface, on which compiled objects depend. Neither changes
 * between releases with the same number. It is part of the name of libkdl.so and of the version of its
 * symbols, and images of another version are refused. A release that breaks either one increments it. */
#define KDL_ABI_VERSION 0u

/* The hash of abi.def. abi_hash.h recomputes it at compile time and refuses a stale value. It
 * distinguishes objects built between releases, when the version above does not change. */
#define KDL_ABI_HASH UINT64_C(0xf12a0e8ed06d524a)

#define KDL_NEXT_TO_TENSOR
#define KDL_STRUCT(name, comment) typedef struct name name;
#include "kdl/abi.def"

typedef int32_t (*kdl_kernel_fn)(const kdl_args* args, kdl_core* core);

/* Computes the sizes that are only given by `where` equations, writes them to `dims` (which is
 * args->dims), and checks the conditions on a launch. Returns 0, or KDL_TRAPPED with *trap filled in.
 * Reads no tensor data. */
typedef int32_t (*kdl_check_fn)(int64_t* dims, const kdl_args* args, kdl_trap* trap);

/* Returns the size of kdl_launch.shared in bytes for this launch, or a negative number if it does not fit
 * in 63 bits. */
typedef int64_t (*kdl_shared_bytes_fn)(const kdl_args* args, int64_t core_num);

/* Returns the number of cores that need to be run. Cores with this number or a higher one have no blocks and
 * no other work. */
typedef int64_t (*kdl_busy_cores_fn)(const kdl_args* args);

/* Prints the text of location `location`, replacing each `{}` with the next of `count` values. */
typedef void (*kdl_print_fn)(kdl_core* core, int32_t location, int32_t count,
                             const kdl_tensor* values);

/* Called after each run of a stage. `state` is KDL_DONE, or 1 + the location at which the stage waits. It
 * is negative if the stage ended the core. */
typedef void (*kdl_turn_fn)(kdl_core* core, int32_t stage, int32_t state);

/* Called where a block begins, with its number, and where it ends, with -1. Only kernels that were compiled to
 * be observed call it. `stage` is -1 outside of stages. */
typedef void (*kdl_block_fn)(kdl_core* core, int32_t stage, int64_t number);

/* clang-format off */
#define KDL_STRUCT(name, comment) struct name {
#define KDL_FIELD(owner, ctype, kind, name, comment) ctype name;
#define KDL_ARRAY(owner, ctype, kind, count, name, comment) ctype name[count];
#define KDL_NESTED(owner, type, name, comment) type name;
#define KDL_STRUCT_END(name) };
/* clang-format on */
#include "kdl/abi.def"

enum kdl_abi_code {
#define KDL_CODE(ID, value, comment) KDL_##ID = value,
#include "kdl/abi.def"
};

enum kdl_trap_code {
#define KDL_TRAP_CODE(ID, code, text) KDL_TRAP_##ID = code,
#include "kdl/abi.def"
};

/* Bit numbers of features: bit KDL_FEATURE_BIT_X86_AVX2 means 1 << KDL_FEATURE_BIT_X86_AVX2, and so on. */
enum kdl_feature_bit {
#define KDL_FEATURE(ID, bit, arch, spelling) KDL_FEATURE_BIT_##ID = bit,
#include "kdl/abi.def"
};
#undef KDL_NEXT_TO_TENSOR

#ifdef __cplusplus
}
#endif
