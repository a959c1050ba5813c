#pragma once

#include "syntax/builder.h"

namespace kdl::syntax {

/// Returns the program for a test. Each loop such as `for s in [(1, 2), (3, 4)]` in the test's body is
/// unrolled into one copy for each element of the list. In a copy, the element replaces `s`, and the
/// literals of the element replace `s.0` and `s.1`.
const FunctionItem* ProgramOf(Builder& builder, const TestItem& test);

}  // namespace kdl::syntax
