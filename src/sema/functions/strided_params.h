#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Reports a parameter that is `strided` or `broadcast`, but is of a kind that cannot be. Returns whether it was reported.
bool IsWronglyStrided(FunctionState& state, const syntax::Param& param);

}  // namespace kdl::sema
