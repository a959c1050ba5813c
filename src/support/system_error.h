#pragma once

#include <string>
#include <string_view>

#include "support/result.h"

namespace kdl {

/// Returns who has to act on an error of the system (errno): the user, or whoever is responsible for the machine if its disk is
/// full or faulty, or if the user's processes may not write there.
FailureKind KindOfError(int error, bool writes);

/// Returns the failure that errno describes: an action, such as `read`, that is impossible for this path.
Failure SystemFailure(std::string_view action, const std::string& path);

}  // namespace kdl
