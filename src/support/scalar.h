#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "kdl/float_format.hpp"

namespace kdl {

enum class Scalar : uint8_t {
#define KDL_SCALAR(Name, ID, spelling, code, bits, Group, ctype, comment) Name,
#include "kdl/scalars.def"
};

enum class ScalarGroup : uint8_t { Bool, Signed, Unsigned, Float };

/// A row of kdl/scalars.def, which lists the scalar types.
struct ScalarInfo {
  Scalar scalar;
  std::string_view spelling;
  uint8_t code;  ///< number of the scalar type in the ABI
  int bits;      ///< width in memory, in bits
  ScalarGroup group;
  std::string_view c_type;
  /// The C++ type of a narrow float (kdl/values.hpp). Empty for other scalars.
  std::string_view cpp_name = "";
  FloatFormat format = {};  ///< set only for floats
};

inline constexpr ScalarInfo kScalars[] = {
#define KDL_SCALAR(Name, ID, spelling, code, bits, Group, ctype, comment) \
  {Scalar::Name, #spelling, code, bits, ScalarGroup::Group, #ctype},
#define KDL_FLOAT(Name, ID, spelling, code, bits, ctype, exponent, fraction, infinities, nans, \
                  saturates, comment)                                                          \
  {Scalar::Name,       #spelling, code, bits,                                                  \
   ScalarGroup::Float, #ctype,    "",   {exponent, fraction, infinities, nans, saturates}},
#define KDL_NARROW_FLOAT(Name, ID, spelling, code, bits, ctype, Cpp, exponent, fraction, \
                         infinities, nans, saturates, comment)                           \
  {Scalar::Name,       #spelling, code, bits,                                            \
   ScalarGroup::Float, #ctype,    #Cpp, {exponent, fraction, infinities, nans, saturates}},
#include "kdl/scalars.def"
};

/// Returns the row of `kScalars` for the scalar type.
constexpr const ScalarInfo& Info(Scalar scalar) { return kScalars[static_cast<size_t>(scalar)]; }
std::optional<Scalar> ScalarFromSpelling(std::string_view spelling);

/// Calls `make.operator()<scalar>()` for each scalar type. Returns the results as an array, in the order of
/// the enum.
template <class Make>
constexpr auto ByScalar(const Make& make) {
  return [&]<size_t... i>(std::index_sequence<i...>) {
    return std::array { make.template operator()<static_cast<Scalar>(i)>()... };
  }(std::make_index_sequence<std::size(kScalars)>());
}

inline std::string_view Spelling(Scalar scalar) { return Info(scalar).spelling; }
constexpr int Bytes(Scalar scalar) { return Info(scalar).bits / 8; }
constexpr bool IsFloat(Scalar scalar) { return Info(scalar).group == ScalarGroup::Float; }
inline bool IsSigned(Scalar scalar) { return Info(scalar).group == ScalarGroup::Signed; }
inline bool IsInteger(Scalar scalar) {
  return Info(scalar).group == ScalarGroup::Signed || Info(scalar).group == ScalarGroup::Unsigned;
}
/// Narrow floats (below f32) exist only in memory: expressions compute in f32.
constexpr bool IsNarrowFloat(Scalar scalar) { return !Info(scalar).cpp_name.empty(); }
/// Returns whether the scalar is f8e4m3, f8e5m2 or f8e8m0.
inline bool IsByteFloat(Scalar scalar) { return IsFloat(scalar) && Info(scalar).bits == 8; }
/// Returns whether numbers of this type can be added, compared and so on. Those of f8e8m0, the scales of blocks,
/// can only be converted and copied.
constexpr bool HasArithmetic(Scalar scalar) {
  return !IsFloat(scalar) || !Info(scalar).format.has_only_powers();
}
/// Returns whether the scalar is f8e4m3 or f8e5m2, which can be multiplied by each other.
inline bool IsByteFactor(Scalar scalar) { return IsByteFloat(scalar) && HasArithmetic(scalar); }

/// Returns the type in which sum, prod, mean and dot accumulate and return their result. Floats up to f32 use
/// f32, and f64 uses f64. Integers of up to 32 bits use 32 bits, and larger ones use 64 bits, with the same
/// signedness.
Scalar AccumulatorOf(Scalar element);

}  // namespace kdl
