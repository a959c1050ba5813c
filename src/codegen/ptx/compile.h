#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "codegen/common/compiled.h"
#include "codegen/llvm/compile.h"
#include "support/result.h"

namespace kdl::codegen::ptx {

/// A level of NVIDIA's machines: `sm_80`.
Processor ProcessorOf(std::string_view level);

/// Shared memory of a machine.
struct WorkgroupBytes {
  int64_t of_workgroup;
  int64_t of_multiprocessor;
};

/// PTX of kernels whose cores are teams, by LLVM: a kernel function for each, of blocks of its team's size. The payload is the
/// text, the entries the functions' names; `include/kdl/workgroup_abi.h` says what they take. Buffers of the team's lie in shared
/// memory, and in global memory where that is full.
Result<CompiledModule> Compile(const KernelSource& source, const WorkgroupBytes& workgroup,
                               const CompileOptions& options);

}  // namespace kdl::codegen::ptx
