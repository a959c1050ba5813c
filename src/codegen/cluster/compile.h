#pragma once

#include <cstdint>
#include <string>

#include "codegen/common/compiled.h"
#include "codegen/llvm/compile.h"
#include "support/result.h"

namespace kdl::codegen::cluster {

/// Uses LLVM to compile kernels whose cores are clusters. The payload is an object file, not yet linked, that
/// contains the table `kdl_cluster_entries`. `include/kdl/cluster_abi.hpp` describes the kernels' parameters.
/// Buffers that the workgroup shares are placed in the core's scratchpad, which has `scratchpad_bytes` bytes.
/// When the scratchpad is full, they are placed in global memory. If `layout`, a data layout, is not empty,
/// the payload is LLVM IR instead, which a different version of LLVM compiles.
Result<CompiledModule> Compile(const KernelSource& source, int64_t scratchpad_bytes,
                               const std::string& layout, const CompileOptions& options);

}  // namespace kdl::codegen::cluster
