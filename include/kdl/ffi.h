/* Kernels as functions of the TVM FFI, in C11: used by NAME.ffi.c, which `kernelc build --emit ffi` writes.
 * The structs have the layout of that interface (https://tvm.apache.org/ffi), whose headers and library are
 * not needed. */
#pragma once

#include "kdl/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* An argument or a result: TVMFFIAny. */
typedef struct kdl_ffi_any {
  int32_t type; /* 0: none, 1: integer, 2: bool, 3: float, 7: DLTensor*, 70: a tensor object */
  uint32_t reserved;
  union {
    int64_t integer;
    double number;
    void* pointer;
  } value;
} kdl_ffi_any;

/* The kernels of a file. They are opened at the first call, in a context of their own. */
typedef struct kdl_ffi_library {
  const kdl_image* const* images;
  const char* const* names; /* for kdl_kernels_open */
  int32_t count;
  const char* device;   /* a spec, such as "host" */
  kdl_kernels* kernels; /* NULL until the first call */
} kdl_ffi_library;

/* Calls one of the `kernel_count` kernels from index `first`, as kdl_kernels_call_dynamic does, and waits for
 * it. Tensors are in the host's memory. Returns 0; after a failure, returns -1 and raises the error through
 * the TVM FFI's library in this process. Thread-safe; a forked child opens the kernels again. */
int kdl_ffi_call(kdl_ffi_library* library, int32_t first, int32_t kernel_count,
                 const kdl_ffi_any* args, int32_t arg_count, kdl_ffi_any* result);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
