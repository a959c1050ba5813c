#pragma once

#include <span>

#include "codegen/common/compiled.h"

namespace kdl::codegen::opencl {

/// OpenCL C 1.2 of kernels whose cores are teams: a kernel function for each, of work-groups of its team's size. The payload is
/// the text, the entries the functions' names; `include/kdl/workgroup_abi.h` says what they take. Buffers of the team's lie in
/// local memory, of which a core has `near_bytes`, and in global memory where that is full.
CompiledModule Compile(std::span<const ir::Function* const> kernels, int64_t workgroup_bytes,
                       const CompileOptions& options);

}  // namespace kdl::codegen::opencl
