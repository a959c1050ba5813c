#pragma once

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

/// Generates `lhs op rhs`. According to the language's fma rule, a product on either side may become part of
/// an fma.
ir::Value* GenBinary(FunctionGen& gen, const syntax::BinaryExpr& binary);
/// Generates `a / b` or `a % b` for integers or floats. Elements for which the condition of an enclosing `if`
/// expression is false do not trap.
ir::Value* GenQuotient(FunctionGen& gen, ir::OpKind kind, ir::Value* a, ir::Value* b, Span span);

}  // namespace kdl::irgen
