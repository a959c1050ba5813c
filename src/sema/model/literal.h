#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sema/model/checked.h"
#include "support/scalar.h"
#include "syntax/ast.h"

namespace kdl::sema {

/// The value of an expression that consists of literals, before it has a type. Integers are exact. A float
/// is its decimal text, or an f64 if it is the result of an operation.
struct Literal {
  bool is_float = false;
  __int128 integer = 0;
  double real = 0;
  bool floored = false;   ///< the expression contains an integer division with a remainder
  bool negative = false;  ///< whether `text` has a minus sign
  bool flipped = false;  ///< the result of `~`, which keeps its low bits when it is converted to an
                         ///< unsigned type
  std::string_view text;  ///< the decimal digits; if empty, the value is `real`

  static Literal Int(__int128 value);
  static Literal Real(double value);
  double AsReal() const { return is_float ? real : static_cast<double>(integer); }
};

Literal FromAst(const syntax::IntLit& lit);
Literal FromAst(const syntax::FloatLit& lit);
Literal FromConstant(const Constant& constant);
Literal Negate(const Literal& value);
/// Returns `~value` for an integer.
Literal Flip(const Literal& value);

enum class FoldFailure { DivisionByZero, TooLarge, ShiftCount };
/// The result of `a op b` for two integers or two floats, where `op` is arithmetic or, for integers,
/// bitwise. If it has neither a value nor a failure, the operator cannot be used with such operands.
struct Folded {
  std::optional<Literal> value;
  std::optional<FoldFailure> failure;
};
Folded Fold(syntax::BinaryOp op, const Literal& a, const Literal& b);

/// Converts the literal to a type, and rounds only once. Returns nothing if the literal does not fit: an
/// integer that is out of range or not exact as a float, a float that overflows, or a float where an
/// integer is required.
std::optional<Constant> ToConstant(const Literal& literal, Scalar scalar);

/// Returns the literal as an i64, or nothing if it is a float or too large.
std::optional<int64_t> ToInt64(const Literal& literal);

/// Returns the decimal digits of an integer, or a float in the format `%.9g`.
std::string ToString(const Literal& literal);

}  // namespace kdl::sema
