#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "driver/run/checkpoint_plan.h"
#include "driver/run/contracts.h"
#include "driver/run/executor.h"
#include "ir/module.h"
#include "kdl/runtime.h"
#include "support/source.h"

namespace kdl::driver {

/// The runtime's spec for each device of a module, keyed by the device's name. A spec may be a
/// comma-separated list whose elements are tried in order.
using DeviceSpecs = std::map<std::string, std::string>;

struct ContextDeleter {
  void operator()(kdl_context* context) const { kdl_context_destroy(context); }
};
using Context = std::unique_ptr<kdl_context, ContextDeleter>;

class ArgumentValues;

/// The environment of a run, excluding the program's arguments.
struct RunPlace {
  kdl_context* context;      ///< the context with which the module's images are registered
  const ir::Module& module;  ///< the module after the module passes have run
  DeviceSpecs specs;
  /// Used to locate traps in source files. May contain no files.
  const SourceManager& sources;
  const std::vector<ir::Contract>* contracts = nullptr;  ///< contracts of the module
  /// A contract that --verify checks in addition to the comparison with the reference device.
  std::optional<BoundContract> contract = {};
  LaunchChecks launch_checks = LaunchChecks::Nothing;
  std::set<Name> own_orders = {};  ///< kernels whose hardware sums in an undocumented order
  LocalRanks ranks = {};           ///< those of the module's device with ranks, if there is one
  /// The kernels at tile level with the chosen tile sizes. May be null if there is only one rank.
  const ir::Module* tiled = nullptr;
  /// The elements of arguments of which this process may have only a part; otherwise null.
  const ArgumentValues* values = nullptr;
  CheckpointPlan checkpoints = {};
  RankTrafficTable* traffic = nullptr;  ///< if not null, a run stores here what its ranks have sent
};

/// How memory is initialized before a run.
struct RunMemory {
  /// Initial bytes of `out` tensors; if not set, the contents are undefined.
  std::optional<uint8_t> poison = {};
  /// Whether `out` and `inout` tensors are surrounded with guard bytes, and a run fails if it
  /// overwrites these bytes.
  bool guarded = false;
};

}  // namespace kdl::driver
