#pragma once

#include "syntax/builder.h"

namespace kdl::syntax {

/// Replaces the type of each parameter whose elements have 4 bits by that of its bytes. The parameter
///
///   w: in i4[N, K]
///
/// becomes `w: in u8[N, (K + 1) / 2]`, because a row begins with a new byte. Its type keeps the type of the elements
/// and the size K, with which indices of w are translated to indices of bytes. Reports such a parameter in a place
/// where it is not allowed.
void LowerFourBits(Builder& builder, FunctionItem& function);

}  // namespace kdl::syntax
