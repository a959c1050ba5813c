#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sema/model/checked.h"
#include "support/scalar.h"
#include "syntax/ast.h"

namespace kdl::sema {

/// The value of an expression of literals, before it has taken a type. Integers are exact; floats
/// are what the decimal text says, or an f64 where they have been calculated with.
struct Literal {
  bool is_float = false;
  __int128 integer = 0;
  double real = 0;
  bool floored = false;   ///< an integer division in it left a rest
  bool negative = false;  ///< of `text`
  bool flipped = false;   ///< of bits that `~` has flipped: of an unsigned type it is the low ones
  std::string_view text;  ///< the decimal digits; empty: `real` is the value

  static Literal Int(__int128 value);
  static Literal Real(double value);
  double AsReal() const { return is_float ? real : static_cast<double>(integer); }
};

Literal FromAst(const syntax::IntLit& lit);
Literal FromAst(const syntax::FloatLit& lit);
Literal FromConstant(const Constant& constant);
Literal Negate(const Literal& value);
/// `~` of an integer.
Literal Flip(const Literal& value);

enum class FoldFailure { DivisionByZero, TooLarge, ShiftCount };
/// `a op b` of two integers or two floats; op is arithmetic, or works on the bits of integers. No
/// value and no failure: the operator has no such operands.
struct Folded {
  std::optional<Literal> value;
  std::optional<FoldFailure> failure;
};
Folded Fold(syntax::BinaryOp op, const Literal& a, const Literal& b);

/// The literal as a constant of the type, rounded once; nothing where it does not fit: an integer
/// outside the range or not exact as a float, a float that overflows, a float for an integer.
std::optional<Constant> ToConstant(const Literal& literal, Scalar scalar);

/// The literal as an i64; nothing where it is a float or too large.
std::optional<int64_t> ToInt64(const Literal& literal);

/// Decimal digits of an integer, `%.9g`-like text of a float.
std::string ToString(const Literal& literal);

}  // namespace kdl::sema
