#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/compile/session.h"
#include "driver/compile/wanted_targets.h"

namespace kdl::driver {

/// A command's settings for the devices of a compilation.
struct Places {
  /// Specs to test, one after another. Each spec is used for all devices of the module. If empty,
  /// the file and the bindings determine the specs.
  std::vector<std::string> under_test = {};
  std::vector<std::string> bindings = {};  ///< NAME=SPEC, as given with --device
  bool keeps_first = false;                ///< whether to ignore the binding of the first device
  bool needs_all = true;                   ///< whether to report devices without a spec
  std::string code_for = {};  ///< if not empty, generate code only for this list of specs
};

/// The device specs for a module.
struct PlacedDevices {
  DeviceSpecs compiled;  ///< specs to generate code for
  /// Specs for the runtime: one entry for each of `under_test`, or a single entry if that is empty.
  std::vector<DeviceSpecs> at_run;
};

/// Determines the specs of the module's devices. On error, reports it and returns nothing.
std::optional<PlacedDevices> AssignDevices(Session& session, ir::Module& module,
                                           const Places& places);

/// Returns the targets of the devices. Each target supports every output that `emits` requests. The
/// list is empty if nothing is known about any device and only target-independent outputs are
/// requested. On error, reports it and returns nothing.
std::optional<std::vector<WantedTarget>> TargetsOfDevices(Session& session,
                                                          const ir::Module& module,
                                                          const PlacedDevices& devices,
                                                          const Emits& emits);

}  // namespace kdl::driver
