#pragma once

#include <optional>

#include "sema/model/checked.h"
#include "support/scalar.h"
#include "syntax/ast.h"

// Computes with constants that have types, with the results that the same operations have at run time: integers wrap, and
// floats are rounded after each operation. Like expressions at run time, floats below f32 are computed in f32.

namespace kdl::sema {

/// Returns the value in the type in which expressions compute with it: f32 for a narrower float.
Constant Widened(const Constant& value);

/// Returns `value as scalar`.
Constant CastTo(const Constant& value, Scalar scalar);

/// Returns `-value`, `~value` or `!value`.
Constant Compute(syntax::UnaryOp op, const Constant& value);

/// Returns `a op b` for two values of one type. Returns nothing for a division of an integer by 0.
std::optional<Constant> Compute(syntax::BinaryOp op, const Constant& a, const Constant& b);

/// Returns `a * b + c` for floats, which is rounded once.
Constant MultiplyAdd(const Constant& a, const Constant& b, const Constant& c);

}  // namespace kdl::sema
