#pragma once

#include "syntax/builder.h"

namespace kdl::syntax {

/// The program that a test is: its body with every `for s in [(1, 2), (3, 4)]` in a copy for each element of the list,
/// in which the element's literals stand for `s.0` and `s.1`, or the element for `s`.
const FunctionItem* ProgramOf(Builder& builder, const TestItem& test);

}  // namespace kdl::syntax
