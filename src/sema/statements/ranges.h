#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

Entity* DeclareRange(FunctionState& state, const syntax::Ident& name, const RangeFacts& facts);

/// Checks `range d in D max 64;` or `range p over i + r - 2 in H;`.
void CheckRange(FunctionState& state, const syntax::RangeStmt& range);

}  // namespace kdl::sema
