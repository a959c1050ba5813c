#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "codegen/common/compiled.h"
#include "codegen/llvm/compile.h"
#include "support/result.h"

namespace kdl::codegen::ptx {

/// Returns the processor for a compute level such as `sm_80`.
Processor ProcessorForLevel(std::string_view level);

/// The bytes of shared memory that a machine has for a workgroup and for a whole multiprocessor.
struct WorkgroupBytes {
  int64_t of_workgroup;
  int64_t of_multiprocessor;
};

/// Uses LLVM to compile kernels whose cores are workgroups to PTX. Each kernel becomes a kernel function
/// whose CUDA blocks have the kernel's workgroup size. The payload is the PTX text, and the entries are the
/// names of the functions. `include/kdl/workgroup_abi.h` describes the functions' parameters. Buffers that
/// the workgroup shares are placed in shared memory, and in global memory when shared memory is full.
Result<CompiledModule> Compile(const KernelSource& source, const WorkgroupBytes& workgroup,
                               const CompileOptions& options);

}  // namespace kdl::codegen::ptx
