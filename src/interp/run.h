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
#include "support/sanitizers.h"

namespace kdl::interp {

/// A tensor in the memory of this process; the strides are in elements.
struct TensorArgument {
  void* data = nullptr;
  Scalar scalar = Scalar::F32;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
};

/// The arguments in the order of the parameters, tensors and scalars separately.
struct KernelArguments {
  std::vector<TensorArgument> tensors;
  std::vector<uint64_t> scalars;
  Constants constants;
};

struct RunOptions {
  /// 0: the cores run one after the other. Otherwise they run in a random order, interleaved after every few
  /// ops, so that results that depend on the order of blocks become visible.
  uint64_t seed = 0;
  /// Receives the text of each print as a whole; if empty, prints are ignored.
  std::function<void(const std::string&)> print = {};
  /// What to check in addition. If there is anything, the trap is the first finding (watch.h). The kernel must be at tile level.
  Sanitizers sanitizers = {};
  /// Called every few ops to ask whether to stop with a Failure; may be empty.
  std::function<bool()> is_stopped = {};
};

/// Runs a kernel on `core_num` cores (1 or more). Fails if the arguments do not fit or the run was stopped.
/// Returns the trap of the first core that stopped, after which the outputs are unspecified. An error of the
/// compiler ends the process with a report (FailCheck).
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

/// A tensor that is known to the host.
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

/// Runs a program. Returns after everything has been requested from the host, which may still be executing
/// it.
Status RunProgram(const ir::Module& module, const ir::Function& program,
                  const ProgramArguments& arguments, ProgramHost& host);

}  // namespace kdl::interp
