#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "driver/run/contracts.h"
#include "driver/run/executor.h"
#include "ir/module.h"
#include "kdl/runtime.h"
#include "support/source.h"

namespace kdl::driver {

/// The runtime's spec for each device of a module, by name. A spec may be a list separated by
/// commas, whose elements are tried in order.
using DeviceSpecs = std::map<std::string, std::string>;

struct ContextDeleter {
  void operator()(kdl_context* context) const { kdl_context_destroy(context); }
};
using Context = std::unique_ptr<kdl_context, ContextDeleter>;

/// The environment of a run, without the program's arguments.
struct RunPlace {
  kdl_context* context;      ///< the module's images are registered with it
  const ir::Module& module;  ///< after the module passes
  DeviceSpecs specs;
  const SourceManager& sources;                          ///< to locate traps; may contain no files
  const std::vector<ir::Contract>* contracts = nullptr;  ///< of the module
  /// Evaluated by --verify, in addition to the reference.
  std::optional<BoundContract> contract = {};
  LaunchChecks launch_checks = LaunchChecks::Nothing;
  std::set<Name> own_orders = {};  ///< the result of AddKernelsOfOwnOrder
};

/// How memory is initialized before a run.
struct RunMemory {
  std::optional<uint8_t> poison = {};  ///< initial bytes of `out` tensors; undefined if not set
  /// Surround `out` and `inout` tensors with guard bytes, and check that these are not written.
  bool guarded = false;
};

}  // namespace kdl::driver
