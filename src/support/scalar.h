#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace kdl {

enum class Scalar : uint8_t {
#define KDL_SCALAR(name, spelling, bits, group) name,
#include "support/scalars.def"
};

enum class ScalarGroup : uint8_t { Bool, Signed, Unsigned, Float };

struct ScalarInfo {
  Scalar scalar;
  std::string_view spelling;
  int bits;  ///< in memory
  ScalarGroup group;
};

/// The table's row of a scalar.
const ScalarInfo& Info(Scalar scalar);
std::optional<Scalar> ScalarFromSpelling(std::string_view spelling);

inline std::string_view Spelling(Scalar scalar) { return Info(scalar).spelling; }
inline int Bytes(Scalar scalar) { return Info(scalar).bits / 8; }
inline bool IsFloat(Scalar scalar) { return Info(scalar).group == ScalarGroup::Float; }
inline bool IsSigned(Scalar scalar) { return Info(scalar).group == ScalarGroup::Signed; }
inline bool IsInteger(Scalar scalar) {
  return Info(scalar).group == ScalarGroup::Signed || Info(scalar).group == ScalarGroup::Unsigned;
}
/// Floats below f32 live in memory only: expressions compute in f32.
inline bool IsNarrowFloat(Scalar scalar) { return IsFloat(scalar) && Info(scalar).bits < 32; }
/// f8e4m3 and f8e5m2.
inline bool IsByteFloat(Scalar scalar) { return IsFloat(scalar) && Info(scalar).bits == 8; }

/// The type in which sum, prod, mean and dot accumulate and which they return: floats up to f32: f32; f64: f64;
/// integers of up to 32 bits: 32 bits; of 64: 64; signedness is kept.
Scalar AccumulatorOf(Scalar element);

}  // namespace kdl
