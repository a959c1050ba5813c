#pragma once

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

/// `lhs op rhs` with the language's fma rule; either side may be a product that is contracted.
ir::Value* GenBinary(FunctionGen& gen, const syntax::BinaryExpr& binary);
/// `a / b` or `a % b`, an OpKind, of integers or floats; where an `if` expression around does not hold, it does not trap.
ir::Value* GenQuotient(FunctionGen& gen, ir::OpKind kind, ir::Value* a, ir::Value* b, Span span);

}  // namespace kdl::irgen
