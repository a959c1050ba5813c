#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "interp/bound_params.h"
#include "interp/locate/located.h"
#include "interp/locate/oracle_memory.h"
#include "interp/sizes.h"
#include "interp/trap.h"
#include "ir/module.h"
#include "support/result.h"

namespace kdl::interp {

/// Finds the statement and the element at which a run goes wrong numerically. Each launch is executed twice, op by op: in the
/// types of the kernel, and with every float replaced by f64. The second run follows the decisions of the first one:
/// booleans and integers have the same values in both.
class Locator {
 public:
  explicit Locator(Located what) : what_(what) {}

  /// Runs a launch, unless it is stopped. Returns a trap, which may be the first value that is to be reported.
  Result<std::optional<Trap>> RunKernel(const ir::Module& module, const ir::Function& kernel,
                                        const Symbols& symbols, const BoundParams& params,
                                        int64_t core_num, const std::function<bool()>& is_stopped);

 private:
  Located what_;
  std::mutex mutex_;  ///< launches may come from several threads
  OracleMemory memory_;
  double epsilon_ = 0;  ///< the NarrowestEpsilon of all launches so far
};

}  // namespace kdl::interp
