#pragma once

#include "passes/pass_manager.h"

namespace kdl::passes {

/// What check-bounds does of a module, of the accesses in one op, which a later pass has added.
void CheckBoundsIn(PassContext& context, ir::Op* added);

}  // namespace kdl::passes
