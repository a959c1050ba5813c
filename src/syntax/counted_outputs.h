#pragma once

#include "syntax/ast.h"

namespace kdl::syntax {

/// Returns the name n if `y: out T[n <= N]` is a counted output of the kernel, or an empty name. A kernel that has been built
/// has an attribute that lists them, which no source can contain.
Name CountOf(const FunctionItem& kernel, Name output);

/// Notes that n counts the elements of an output.
void AddCount(Names& names, FunctionItem& kernel, const Ident& output, const Expr* count);

/// Returns whether this is the attribute that lists the counted outputs of a kernel.
bool ListsCounts(const Attribute& attribute);

}  // namespace kdl::syntax
