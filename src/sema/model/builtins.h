#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "support/scalar.h"

namespace kdl::sema {

/// How irgen makes a builtin; builtins.def says which each has.
enum class Lowering : uint8_t {
  Op,    ///< the elementwise KIR op whose spelling is `target`
  Math,  ///< a fn of the standard library, `target` + `_f32` or `_f64`; narrower floats through f32. In contracts the op `target`
  Fn,  ///< the library's generic fn `target`, of the operands' type, the unsigned one of its width, or f32
  WidthFn,   ///< the same, of integers, where the result depends on their width
  Clamp,     ///< clamp(x, lo, hi): min(max(x, lo), hi)
  CeilDiv,   ///< ceil_div(a, b): (a + b - 1) / b
  TruncDiv,  ///< trunc_div(a, b): a / b, but towards 0
  TruncRem,  ///< trunc_rem(a, b): a - b * trunc_div(a, b)
  Iota,      ///< the absolute indices of a range
  CoreId,    ///< a name, not a call
  CoreNum,   ///< a name, not a call
};

/// What the operands may be; they have one scalar type.
enum class Operands : uint8_t {
  Numbers,  ///< integers and floats
  Signed,   ///< signed integers and floats
  Floats,
  Wide,      ///< f32 and f64
  WideInts,  ///< i32 and i64
  Integers,
  Range,  ///< one range
  None,   ///< no operands: a name
};

enum class BuiltinKind : uint8_t {
#define KDL_BUILTIN(kind, spelling, arity, operands, result, lowering, target, meaning) kind,
#include "sema/model/builtins.def"
};

/// What a builtin's result is, given the scalar of its operands.
enum class BuiltinResult : uint8_t { Same, BitsOf, FromBitsOf, Index };

struct Builtin {
  BuiltinKind kind;
  std::string_view spelling;
  uint32_t arity;
  Operands operands;
  BuiltinResult result;
  Lowering lowering;
  std::string_view target;
  std::string_view meaning;
};

/// The table's row, or null.
const Builtin* FindBuiltin(std::string_view spelling);
const std::vector<Builtin>& AllBuiltins();

bool Accepts(Operands operands, Scalar scalar);
/// `an integer or a float`, as a message says it.
std::string_view Describe(Operands operands);
Scalar ResultOf(BuiltinResult result, Scalar operand);

}  // namespace kdl::sema
