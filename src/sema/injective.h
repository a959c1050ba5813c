#pragma once

#include "sema/state.h"

namespace kdl::sema {

/// Whether an index names a different element for each point of its ranges, for every block of them.
bool IsInjective(FunctionState& state, const IndexInfo& index);

}  // namespace kdl::sema
