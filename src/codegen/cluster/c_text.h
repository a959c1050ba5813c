#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "codegen/common/compiled.h"
#include "ir/module.h"

namespace kdl::codegen::cluster {

/// Freestanding C11 of kernels whose cores are clusters, with the words of GCC and clang for atomics and for bits of floats, on
/// machines whose `long` has 64 bits. It ends with the table `kdl_cluster_entries`. To be compiled without strict aliasing and
/// without contracted floats.
CompiledModule CompileC(std::span<const ir::Function* const> kernels, int64_t workgroup_bytes,
                        const CompileOptions& options);

/// What each text begins with: the words of OpenCL C as C has them.
std::string_view CPrelude();

}  // namespace kdl::codegen::cluster
