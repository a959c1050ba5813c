#pragma once

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

/// Generates `lhs op rhs` with the language's fma rule, by which a product on either side may become part
/// of an fma.
ir::Value* GenBinary(FunctionGen& gen, const syntax::BinaryExpr& binary);
/// Generates `a / b` or `a % b` for integers or floats. It does not trap for elements for which the
/// condition of an enclosing `if` expression is false.
ir::Value* GenQuotient(FunctionGen& gen, ir::OpKind kind, ir::Value* a, ir::Value* b, Span span);

}  // namespace kdl::irgen
