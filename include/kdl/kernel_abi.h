/* The binary interface between compiled kernels and the runtime, in C11. The structs come from
 * abi.def, where every field is described.
 *
 * A kernel is one function, called once a core: `int32_t kernel(const kdl_args*, kdl_core*)`. It
 * returns KDL_DONE, or KDL_BARRIER to be called again when every unfinished core is at the barrier,
 * or KDL_TRAPPED after filling kdl_core.trap. It keeps what lives across a barrier in
 * kdl_core.frame; scratch and workspace do not survive one. It may be called from any thread and
 * never throws.
 *
 * An object for module `m` defines an array of `const kdl_image*`, ended by NULL, that m.h declares as
 * `kdl_images_m`. Its symbol has a hash of the module's contents behind that, so that objects for
 * files of one name link together. A shared object also defines the same array under the name
 * `kdl_module_images`, which kdl_context_load looks up. */
#pragma once

#include <stdint.h>

#include "kdl/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What objects of one version need of the runtime, the kernel ABI and the C interface, stays in all that have its number:
 * the name of libkdl.so and the version of its symbols have it, too, and images of another one are refused. A release
 * that breaks either raises it. */
#define KDL_ABI_VERSION 0u

/* Hash of abi.def; abi_hash.h computes it again at compile time and refuses a stale value. Between releases the number
 * above stays, and this one tells objects apart. */
#define KDL_ABI_HASH UINT64_C(0x45f6754fed36347)

#define KDL_BESIDE_TENSOR
#define KDL_STRUCT(name, comment) typedef struct name name;
#include "kdl/abi.def"

typedef int32_t (*kdl_kernel_fn)(const kdl_args* args, kdl_core* core);

/* Writes the sizes that only `where` equations give into `dims` (which is args->dims) and checks
 * what the launch decides. Returns 0, or KDL_TRAPPED with *trap filled. Reads no tensor data. */
typedef int32_t (*kdl_check_fn)(int64_t* dims, const kdl_args* args, kdl_trap* trap);

/* Bytes of kdl_launch.shared for this launch; negative: they do not fit in 63 bits. */
typedef int64_t (*kdl_shared_bytes_fn)(const kdl_args* args, int64_t core_num);

/* Cores from this number on have no blocks, and do nothing else: they need not be run. */
typedef int64_t (*kdl_busy_cores_fn)(const kdl_args* args);

/* Prints the text of location `location`, each `{}` replaced by the next of `count` values. */
typedef void (*kdl_print_fn)(kdl_core* core, int32_t location, int32_t count,
                             const kdl_tensor* values);

/* A stage has had its turn. `state`: KDL_DONE, or 1 + the location at which it waits, or below 0 where it ended the core. */
typedef void (*kdl_turn_fn)(kdl_core* core, int32_t stage, int32_t state);

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

/* Feature bits: 1 << KDL_FEATURE_BIT_X86_AVX2 and so on. */
enum kdl_feature_bit {
#define KDL_FEATURE(ID, bit, arch, spelling) KDL_FEATURE_BIT_##ID = bit,
#include "kdl/abi.def"
};
#undef KDL_BESIDE_TENSOR

#ifdef __cplusplus
}
#endif
