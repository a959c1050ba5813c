#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "driver/compile/session.h"
#include "driver/run/devices.h"
#include "targets/family.h"

namespace kdl::driver {

/// A target, and the module's devices that may be one of it; kAnyDevice among them: all.
struct WantedTarget {
  targets::Target target;
  std::set<std::string> devices;
};

/// Whether no device runs what the proofs refuse without a watch: with --unproven all of them have one. Reported.
bool MayBeUnproven(Session& session, const DeviceSpecs& specs);

/// The targets that the specs name, each code once, those of one family and architecture side by side, the level that asks
/// least of a processor first. Of a text that is lowered for one target that one alone. Reports what is no target, two
/// that the runtime could not tell apart, and a text whose target is not among them.
std::optional<std::vector<WantedTarget>> ParseTargets(Session& session, const ir::Module& module,
                                                      const DeviceSpecs& specs);

/// The specs as the runtime reads them: without the keys that it does not know. What is no target, which only
/// `build --target` lets through, stays as it is: the runtime may know it.
DeviceSpecs RuntimeSpecs(const DeviceSpecs& specs, const targets::Registry& families);

/// Whether one call of the family's code generator makes the code of both.
bool InOnePart(const targets::Target& a, const targets::Target& b);

}  // namespace kdl::driver
