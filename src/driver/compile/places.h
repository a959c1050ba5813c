#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/compile/session.h"
#include "driver/compile/wanted_targets.h"

namespace kdl::driver {

/// What a command says of the devices that a module is compiled for.
struct Places {
  /// Specs that all devices of the module have under test, one after the other; none: what the file and the bindings say.
  std::vector<std::string> under_test = {};
  std::vector<std::string> bindings = {};  ///< NAME=SPEC, as --device has them
  bool keeps_first = false;                ///< the binding of the first device does not count
  bool needs_all = true;                   ///< a device without a spec is an error
  std::string code_for = {};  ///< where not empty, code is made for this list of specs alone
};

/// The specs of a module's devices.
struct PlacedDevices {
  DeviceSpecs compiled;  ///< that code is made for
  std::vector<DeviceSpecs>
      at_run;  ///< as the runtime reads them, for each of `under_test`, or once
};

/// Gives the module's devices their specs. Nothing after a report.
std::optional<PlacedDevices> AssignDevices(Session& session, ir::Module& module,
                                           const Places& places);

/// The targets of placed devices for which what `emits` asks for can be made. No targets: nothing is known of any device, and
/// only what no target decides is asked for. Nothing after a report.
std::optional<std::vector<WantedTarget>> TargetsOf(Session& session, const ir::Module& module,
                                                   const PlacedDevices& devices,
                                                   const Emits& emits);

}  // namespace kdl::driver
