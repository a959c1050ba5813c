#include "support/scalar.h"

namespace kdl {

std::optional<Scalar> ScalarFromSpelling(std::string_view spelling) {
  for (const ScalarInfo& info : kScalars) {
    if (info.spelling == spelling) return info.scalar;
  }
  return std::nullopt;
}

Scalar AccumulatorOf(Scalar element) {
  switch (Info(element).group) {
    case ScalarGroup::Float:
      return element == Scalar::F64 ? Scalar::F64 : Scalar::F32;
    case ScalarGroup::Signed:
      return element == Scalar::I64 ? Scalar::I64 : Scalar::I32;
    case ScalarGroup::Unsigned:
      return element == Scalar::U64 ? Scalar::U64 : Scalar::U32;
    case ScalarGroup::Bool:
      return Scalar::I32;
  }
  return element;
}

}  // namespace kdl
