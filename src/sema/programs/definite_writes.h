#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Every `out` parameter of a program is written completely, whichever way its statements go; no memory that a swap brought is
/// read before it is written. The body has no errors, and is no test's.
void CheckDefiniteWrites(FunctionState& state);

}  // namespace kdl::sema
