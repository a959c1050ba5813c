#pragma once

#include <cstdint>
#include <functional>
#include <limits>
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

class Locator;

/// A tensor in the memory of this process. Its strides are in elements.
struct TensorArgument {
  void* data = nullptr;
  Scalar scalar = Scalar::F32;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
};

/// The arguments of a kernel, in the order of its parameters; tensors and scalars are in separate lists.
struct KernelArguments {
  std::vector<TensorArgument> tensors;
  std::vector<uint64_t> scalars;
  Constants constants;
};

struct RunOptions {
  /// If 0, the cores run one after another. Otherwise, they run in a random order and are interleaved after
  /// every few ops. This reveals results that depend on the order of blocks.
  uint64_t seed = 0;
  /// Receives the whole text of each print. If empty, prints are ignored.
  std::function<void(const std::string&)> print = {};
  /// Additional checks. If they find something, the first finding is returned as a trap (watch.h). The kernel
  /// must be at tile level.
  Sanitizers sanitizers = {};
  /// Called every few ops. If it returns true, the run stops with a Failure. May be empty.
  std::function<bool()> is_stopped = {};
  /// If not null, executes each launch twice to find numerical errors, and returns the first one as a trap. Then only
  /// `is_stopped` has an effect of the other options.
  Locator* locator = nullptr;
  /// If not null, receives which elements of each tensor argument the kernel has read: an entry for each element of memory
  /// from the tensor's first to its last one. The kernel must be at tile level. Elements that would only replace others
  /// outside of a tensor (FallbackReads) do not count.
  std::vector<std::vector<bool>>* reads = nullptr;
};

/// Runs a kernel on `core_num` cores (1 or more). Fails if the arguments do not fit the parameters or the run
/// was stopped. If a core traps, returns the trap of the first such core. In this case, the outputs are
/// unspecified. An error of the compiler ends the process with a report (FailCheck).
Result<std::optional<Trap>> RunKernel(const ir::Module& module, const ir::Function& kernel,
                                      const KernelArguments& arguments, int64_t core_num,
                                      const RunOptions& options);

/// The result of a fn with scalar parameters, or the trap that stopped it.
struct FnResult {
  uint64_t bits = 0;
  std::optional<Trap> trap;
};
FnResult RunFn(const ir::Module& module, const ir::Function& fn,
               const std::vector<uint64_t>& arguments);

/// A tensor that the host knows by its id.
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

/// Runs a program. Returns after all requests have been made to the host, which may still be executing some
/// of them. Fails if that takes more than `most_steps` ops.
Status RunProgram(const ir::Module& module, const ir::Function& program,
                  const ProgramArguments& arguments, ProgramHost& host,
                  int64_t most_steps = std::numeric_limits<int64_t>::max());

}  // namespace kdl::interp
