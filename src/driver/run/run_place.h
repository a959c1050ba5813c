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

/// The runtime's spec of each device of a module, by its name; a list of specs, separated by commas, is tried in order.
using DeviceSpecs = std::map<std::string, std::string>;

struct ContextDeleter {
  void operator()(kdl_context* context) const { kdl_context_destroy(context); }
};
using Context = std::unique_ptr<kdl_context, ContextDeleter>;

/// What a run needs besides the program's arguments.
struct RunPlace {
  kdl_context* context;      ///< knows the images of the module
  const ir::Module& module;  ///< after the module passes
  DeviceSpecs specs;
  const SourceManager& sources;  ///< where traps are shown; may be without files
  const std::vector<ir::Contract>* contracts = nullptr;  ///< of the module
  std::optional<BoundContract> contract = {};  ///< what --verify evaluates besides the reference
  LaunchChecks launch_checks = LaunchChecks::Nothing;
  std::set<Name> own_orders = {};  ///< kernels that AddKernelsOfOwnOrder has found
};

/// What a run's memory holds before it.
struct RunMemory {
  std::optional<uint8_t> poison = {};  ///< the bytes of `out` tensors; nothing: whatever is there
  bool guarded =
      false;  ///< `out` and `inout` tensors lie between bytes that nothing may write, which is checked
};

}  // namespace kdl::driver
