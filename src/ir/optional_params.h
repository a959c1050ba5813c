#pragma once

#include <optional>

#include "ir/module.h"

namespace kdl::ir {

/// Returns whether an optional parameter is present in this instance of a kernel, or nothing if the parameter is not
/// optional. A kernel has a generic with the name of each optional parameter, whose value is 1 or 0. If the parameter is
/// absent, all of its sizes are 0.
std::optional<bool> Presence(const Function& function, const Param& param);

/// Returns whether the parameter is optional and absent.
bool IsAbsent(const Function& function, const Param& param);

}  // namespace kdl::ir
