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

/// Sizes of a machine's shared memory.
struct WorkgroupBytes {
  int64_t of_workgroup;
  int64_t of_multiprocessor;
};

/// Compiles kernels whose cores are workgroups to PTX with LLVM: a kernel function for each, with blocks of
/// its workgroup size. The payload is the text, and the entries are the names of the functions.
/// `include/kdl/workgroup_abi.h` describes the functions' parameters. Buffers of the workgroup are placed in
/// shared memory, and in global memory when shared memory is full.
Result<CompiledModule> Compile(const KernelSource& source, const WorkgroupBytes& workgroup,
                               const CompileOptions& options);

}  // namespace kdl::codegen::ptx
