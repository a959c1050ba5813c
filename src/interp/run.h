#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "interp/program_host.h"
#include "interp/sizes.h"
#include "interp/tensor_memory.h"
#include "interp/trap.h"
#include "ir/module.h"
#include "support/result.h"

namespace kdl::interp {

/// A tensor in this process's memory; strides in elements.
struct TensorArgument {
  void* data = nullptr;
  Scalar scalar = Scalar::F32;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
};

/// In the order of the parameters, tensors and scalars each for themselves.
struct KernelArguments {
  std::vector<TensorArgument> tensors;
  std::vector<uint64_t> scalars;
  Constants constants;
};

struct RunOptions {
  /// 0: the cores run one after the other. Else they run in a random order and interleaved by a few
  /// ops, so that what depends on the order of blocks shows.
  uint64_t seed = 0;
  /// Takes the text of each print, one whole piece; none: prints are silent.
  std::function<void(const std::string&)> print = {};
  /// Looks for races of blocks, elements that are read before they are written, outputs that are not written: the trap is
  /// then what it has found first (watch.h). The kernel is at tile level.
  bool watch = false;
  /// Asked every few ops whether the run is to end early, with a Failure; none: never.
  std::function<bool()> is_stopped = {};
};

/// Runs a kernel on `core_num` cores (1 or more). A Failure: the arguments do not fit, or the run was stopped. A Trap: the
/// first core that stopped; the outputs are then unspecified. A fault of the compiler ends the
/// process with a report (FailCheck).
Result<std::optional<Trap>> RunKernel(const ir::Module& module, const ir::Function& kernel,
                                      const KernelArguments& arguments, int64_t core_num,
                                      const RunOptions& options);

/// The value of a fn of scalars, or its trap.
struct FnResult {
  uint64_t bits = 0;
  std::optional<Trap> trap;
};
FnResult RunFn(const ir::Module& module, const ir::Function& fn,
               const std::vector<uint64_t>& arguments);

/// A tensor that the host knows.
struct ProgramTensor {
  TensorId id;
  Scalar scalar = Scalar::F32;
  std::vector<int64_t> sizes;
};

struct ProgramArguments {
  std::vector<ProgramTensor> tensors;
  std::vector<uint64_t> scalars;
  Constants constants;
};

/// Walks a program. Returns when all has been asked of the host, which may still be at work.
Status RunProgram(const ir::Module& module, const ir::Function& program,
                  const ProgramArguments& arguments, ProgramHost& host);

}  // namespace kdl::interp
