#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "codegen/common/compiled.h"
#include "ir/module.h"

namespace kdl::codegen::cluster {

/// Returns freestanding C11 for kernels whose cores are clusters, followed by the table
/// `kdl_cluster_entries`. The code needs a 64-bit `long`, and GCC or Clang for their builtins. It must be
/// compiled without strict aliasing and without contraction of floating-point expressions.
CompiledModule CompileC(std::span<const ir::Function* const> kernels, int64_t workgroup_bytes,
                        const CompileOptions& options);

/// Returns C definitions of the OpenCL C functions and types that kernels use. Each generated file starts
/// with them.
std::string_view CPrelude();

}  // namespace kdl::codegen::cluster
