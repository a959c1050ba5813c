#pragma once

#include <span>

#include "codegen/common/compiled.h"

namespace kdl::codegen::opencl {

/// Returns OpenCL C 1.2 for kernels whose cores are workgroups. Each kernel becomes one kernel function, with
/// the kernel's workgroup size. The payload is the text, and the entries are the names of the functions.
/// `include/kdl/workgroup_abi.h` describes the functions' parameters. Buffers that the workgroup shares are
/// placed in local memory (`workgroup_bytes` for each core), and in global memory when local memory is full.
CompiledModule Compile(std::span<const ir::Function* const> kernels, int64_t workgroup_bytes,
                       const CompileOptions& options);

}  // namespace kdl::codegen::opencl
