#pragma once

#include "ir/builder.h"
#include "passes/names.h"

namespace kdl::passes {

/// If the op divides by a constant where a condition is true and by 1 elsewhere, and nothing depends on the other
/// quotients, makes a division by the constant alone and returns its result. Otherwise returns null.
///
/// Conditions guard divisions, because a divisor may be 0 where the source does not divide. Whether a generic parameter
/// is 0 is only known once it has a value:
///
///   %d = select %m, 2, 1 ; %q = rem %a, %d ; %e = eq %q, 0 ; %r = select %m, %e, false
///   ->
///   %q = rem %a, 2 ; %e = eq %q, 0 ; %r = select %m, %e, false
ir::Value* WithoutGuard(ir::Module& module, ir::Op* division);

}  // namespace kdl::passes
