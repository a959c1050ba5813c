#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Declares the sizes and parameters of an instance whose generics are declared, and reads its
/// `where` clauses and its result type.
void CheckSignature(FunctionState& state);

}  // namespace kdl::sema
