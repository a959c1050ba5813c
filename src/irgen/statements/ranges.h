#pragma once

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

/// Generates the block of `range d in D max 64;` or `range p over i + r - 2 in H;`.
void GenRange(FunctionGen& gen, const syntax::RangeStmt& range);

}  // namespace kdl::irgen
