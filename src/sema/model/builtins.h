#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "support/scalar.h"

namespace kdl::sema {

/// How irgen translates a builtin. builtins.def has one of these values for each builtin.
enum class Lowering : uint8_t {
  Op,    ///< the elementwise KIR op with the spelling `target`
  Math,  ///< the library's fn `target` with the suffix `_f32` or `_f64` (narrower floats use f32); in
         ///< contracts, the op `target`
  Fn,  ///< the library's generic fn `target`, instantiated for the operands' type, for the unsigned
       ///< type of the same width, or for f32
  WidthFn,   ///< like Fn, but the operands are integers, and the result depends on their width
  Clamp,     ///< clamp(x, lo, hi): min(max(x, lo), hi)
  CeilDiv,   ///< ceil_div(a, b): (a + b - 1) / b
  TruncDiv,  ///< trunc_div(a, b): a / b rounded towards 0
  TruncRem,  ///< trunc_rem(a, b): a - b * trunc_div(a, b)
  Iota,      ///< the absolute indices of a range
  CoreId,    ///< the name `core_id`, which is not a call
  CoreNum,   ///< the name `core_num`, which is not a call
};

/// The operands that a builtin accepts. All of them have the same scalar type.
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

/// The type of a builtin's result, relative to the scalar type of its operands.
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

/// Returns the row of the table with this spelling, or null.
const Builtin* FindBuiltin(std::string_view spelling);
const std::vector<Builtin>& AllBuiltins();

bool Accepts(Operands operands, Scalar scalar);
/// Describes the operands in messages, for example `an integer or a float`.
std::string_view Describe(Operands operands);
Scalar ResultScalar(BuiltinResult result, Scalar operand);

}  // namespace kdl::sema
