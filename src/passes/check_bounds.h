#pragma once

#include "passes/pass_manager.h"

namespace kdl::passes {

/// Runs check-bounds on the accesses inside one op that a later pass has added.
void CheckBoundsIn(PassContext& context, ir::Op* added);

}  // namespace kdl::passes
