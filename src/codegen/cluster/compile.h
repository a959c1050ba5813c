#pragma once

#include <cstdint>
#include <string>

#include "codegen/common/compiled.h"
#include "codegen/llvm/compile.h"
#include "support/result.h"

namespace kdl::codegen::cluster {

/// An object of kernels whose cores are clusters, by LLVM, with the table `kdl_cluster_entries` of them: the payload, which is
/// still to be linked. `include/kdl/cluster_abi.hpp` says what the kernels take. Buffers of the team's lie in the scratchpad, of
/// which a core of a launch has `scratchpad_bytes`, and in global memory where that is full. With a `layout` of data the payload
/// is LLVM's IR, for another LLVM.
Result<CompiledModule> Compile(const KernelSource& source, int64_t scratchpad_bytes,
                               const std::string& layout, const CompileOptions& options);

}  // namespace kdl::codegen::cluster
