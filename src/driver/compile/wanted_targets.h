#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "driver/compile/session.h"
#include "driver/run/devices.h"
#include "targets/family.h"

namespace kdl::driver {

/// A target, and those of the module's devices that may be this target. If kAnyDevice is among
/// them, all may be.
struct WantedTarget {
  targets::Target target;
  std::set<std::string> devices;
};

/// Whether all devices check what the proofs could not show, as --unproven requires. Reports an
/// error if not.
bool MayBeUnproven(Session& session, const DeviceSpecs& specs);

/// Returns the targets that the specs name, without duplicates. Targets of the same family and
/// architecture are adjacent, beginning with the level that requires the fewest processor features.
/// For a text that is lowered for one target, returns only this one. Reports specs that are not
/// targets, targets that the runtime cannot distinguish, and a text whose target is not among them.
std::optional<std::vector<WantedTarget>> ParseTargets(Session& session, const ir::Module& module,
                                                      const DeviceSpecs& specs);

/// Returns the specs for the runtime, without the keys that it does not know. Specs that are not
/// targets are kept, since the runtime may know them. Only `build --target` accepts these.
DeviceSpecs RuntimeSpecs(const DeviceSpecs& specs, const targets::Registry& families);

/// Whether a single call of the family's code generator makes the code of both.
bool InOnePart(const targets::Target& a, const targets::Target& b);

}  // namespace kdl::driver
