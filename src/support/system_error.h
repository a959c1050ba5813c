#pragma once

#include "support/result.h"

namespace kdl {

/// Returns who has to act on an error of the system (errno): the user, or whoever is responsible for the machine if its disk is
/// full or faulty, or if the user's processes may not write there.
FailureKind KindOfError(int error, bool writes);

}  // namespace kdl
