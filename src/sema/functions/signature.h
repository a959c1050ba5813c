#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Declares the sizes and parameters of an instance, and reads its `where` clauses and its result type. The
/// instance's generics must already be declared.
void CheckSignature(FunctionState& state);

}  // namespace kdl::sema
