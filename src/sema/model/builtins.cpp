#include "sema/model/builtins.h"

#include <unordered_map>

#include "support/check.h"

namespace kdl::sema {

const std::vector<Builtin>& AllBuiltins() {
  static const std::vector<Builtin> builtins = {
#define KDL_BUILTIN(kind, spelling, arity, operands, result, lowering, target, meaning) \
  {BuiltinKind::kind,     spelling,           arity,  Operands::operands,               \
   BuiltinResult::result, Lowering::lowering, target, meaning},
#include "sema/model/builtins.def"
  };
  return builtins;
}

const Builtin* FindBuiltin(std::string_view spelling) {
  static const std::unordered_map<std::string_view, const Builtin*> by_spelling = [] {
    std::unordered_map<std::string_view, const Builtin*> index;
    for (const Builtin& builtin : AllBuiltins()) index.emplace(builtin.spelling, &builtin);
    return index;
  }();
  auto found = by_spelling.find(spelling);
  return found == by_spelling.end() ? nullptr : found->second;
}

bool Accepts(Operands operands, Scalar scalar) {
  if (!HasArithmetic(scalar)) return false;
  bool is_wide = Info(scalar).bits >= 32;
  switch (operands) {
    case Operands::Numbers:
      return IsFloat(scalar) || IsInteger(scalar);
    case Operands::Signed:
      return IsFloat(scalar) || IsSigned(scalar);
    case Operands::Floats:
      return IsFloat(scalar);
    case Operands::Wide:
      return IsFloat(scalar) && is_wide;
    case Operands::WideInts:
      return IsSigned(scalar) && is_wide;
    case Operands::Integers:
      return IsInteger(scalar);
    case Operands::Range:
    case Operands::None:
      return false;
  }
  KDL_UNREACHABLE("operands {}", static_cast<int>(operands));
}

std::string_view Describe(Operands operands) {
  switch (operands) {
    case Operands::Numbers:
      return "integers or floats";
    case Operands::Signed:
      return "signed integers or floats";
    case Operands::Floats:
      return "floats";
    case Operands::Wide:
      return "an f32 or f64";
    case Operands::WideInts:
      return "an i32 or i64";
    case Operands::Integers:
      return "integers";
    case Operands::Range:
      return "a range";
    case Operands::None:
      return "no arguments";
  }
  KDL_UNREACHABLE("operands {}", static_cast<int>(operands));
}

Scalar ResultScalar(BuiltinResult result, Scalar operand) {
  bool is_64 = Info(operand).bits == 64;
  switch (result) {
    case BuiltinResult::Same:
      return operand;
    case BuiltinResult::BitsOf:
      return is_64 ? Scalar::I64 : Scalar::I32;
    case BuiltinResult::FromBitsOf:
      return is_64 ? Scalar::F64 : Scalar::F32;
    case BuiltinResult::Index:
      return Scalar::I64;
  }
  KDL_UNREACHABLE("result {}", static_cast<int>(result));
}

}  // namespace kdl::sema
