#pragma once

#include <span>

#include "codegen/llvm/compile.h"

namespace kdl::codegen::opencl {

/// OpenCL C 1.2 of kernels whose cores are teams: a kernel function for each, of work-groups of its team's size. The payload is
/// the text, the entries the functions' names; `include/kdl/opencl_abi.h` says what they take.
CompiledModule Compile(std::span<const KernelSource> sources, const CompileOptions& options);

}  // namespace kdl::codegen::opencl
