#include <algorithm>
#include <string>
#include <vector>

#include "codegen/c_source/writer.h"

// Defines the functions that convert scalars and vectors.

namespace kdl::codegen::c_source {

namespace {

/// The text of the conversion from f64 to a float below f32, rounded once.
std::string NarrowText(std::string_view name, const ScalarInfo& to) {
  const FloatFormat& f = to.format;
  return fmt::format(
      "static inline {0} {1}(double a) {{\n"
      "  const double size = fmin(fabs(a), ldexp(1.0, {2}));\n"
      "  const int of_size = size == 0 ? {3} : ilogb(size);\n"
      "  const int scale = of_size < {3} ? {3} : of_size;\n"
      "  uint32_t bits = (uint32_t)nearbyint(ldexp(size, {4} - scale)) + ((uint32_t)(scale - "
      "({3})) << {4});\n"
      "  if (bits > {5:#x}u) bits = {6:#x}u;\n"
      "  if (a != a) return {7};\n"
      "  return ({0})(signbit(a) ? bits | {8:#x}u : bits);\n"
      "}}\n",
      to.c_type, name, f.bias() + 2, f.least_exponent(), f.fraction, f.largest(),
      f.saturates ? f.largest() : f.largest() + 1,
      f.has_nan ? fmt::format("({})(signbit(a) ? {:#x}u : {:#x}u)", to.c_type, f.nan() | f.sign(),
                              f.nan())
                : std::string("0"),
      f.sign());
}

/// The text of the conversion from f32 to a float that has only powers of two and the exponents of f32. Below the
/// normal numbers of f32, the fraction of 2^-127 is one half.
std::string NarrowPowerText(std::string_view name, const ScalarInfo& to) {
  return fmt::format(
      "static inline {0} {1}(float a) {{\n"
      "  uint32_t bits;\n"
      "  memcpy(&bits, &a, 4);\n"
      "  const uint32_t normal = (bits + 0x3fffffu + (bits >> 23 & 1u)) >> 23;\n"
      "  uint32_t power = bits < 0x800000u ? (uint32_t)(bits > 0x600000u) : normal;\n"
      "  power = power > {2:#x}u ? {2:#x}u : power;\n"
      "  power = bits > 0x7f800000u ? {3:#x}u : power;\n"
      "  return ({0})(bits == 0x80000000u ? 0 : power);\n"
      "}}\n",
      to.c_type, name, to.format.largest(), to.format.nan());
}

std::string WidenPowerText(std::string_view name, const ScalarInfo& from) {
  return fmt::format(
      "static inline float {0}({1} a) {{\n"
      "  uint32_t bits = a == 0 ? 0x400000u : (uint32_t)a << 23;\n"
      "  bits = a == {2:#x}u ? 0x7fc00000u : bits;\n"
      "  float value;\n"
      "  memcpy(&value, &bits, 4);\n"
      "  return value;\n"
      "}}\n",
      name, from.c_type, from.format.nan());
}

/// Without branches, so that compilers compute it in vectors. A multiplication moves the exponent, which also
/// normalizes subnormal numbers.
std::string WidenHalfText(std::string_view name) {
  return fmt::format(
      "static inline float {}(uint16_t a) {{\n"
      "  const uint32_t rest = a & 0x7fffu;\n"
      "  uint32_t bits = rest << 13;\n"
      "  float value;\n"
      "  memcpy(&value, &bits, 4);\n"
      "  value *= 0x1p112f;\n"
      "  memcpy(&bits, &value, 4);\n"
      "  bits |= (rest > 0x7bffu ? 0x7f800000u : 0) | (rest > 0x7c00u ? 0x400000u : 0) | (a & "
      "0x8000u) << 16;\n"
      "  memcpy(&value, &bits, 4);\n"
      "  return value;\n"
      "}}\n",
      name);
}

/// Rounds an f32 to f16 without branches. An addition rounds numbers that become subnormal: it shifts the last bit
/// that remains to the end of the fraction.
std::string NarrowHalfText(std::string_view name) {
  return fmt::format(
      "static inline uint16_t {}(float a) {{\n"
      "  uint32_t bits;\n"
      "  memcpy(&bits, &a, 4);\n"
      "  const uint32_t sign = bits >> 16 & 0x8000u;\n"
      "  bits &= 0x7fffffffu;\n"
      "  const uint32_t normal = (bits - 0x37fff001u + (bits >> 13 & 1u)) >> 13;\n"
      "  float rounded;\n"
      "  memcpy(&rounded, &bits, 4);\n"
      "  rounded += 0.5f;\n"
      "  uint32_t tiny;\n"
      "  memcpy(&tiny, &rounded, 4);\n"
      "  uint32_t rest = bits < 0x38800000u ? tiny - 0x3f000000u : normal;\n"
      "  rest = bits > 0x477fefffu ? 0x7c00u : rest;\n"
      "  rest = bits > 0x7f800000u ? 0x7e00u : rest;\n"
      "  return (uint16_t)(rest | sign);\n"
      "}}\n",
      name);
}

/// The text of the conversion from a float below f32 to f32, which represents it exactly.
std::string WidenText(std::string_view name, const ScalarInfo& from) {
  const FloatFormat& f = from.format;
  if (from.scalar == Scalar::BF16) {
    return fmt::format(
        "static inline float {}(uint16_t a) {{\n"
        "  const uint32_t bits = (uint32_t)a << 16;\n"
        "  float value;\n"
        "  memcpy(&value, &bits, 4);\n"
        "  return value;\n"
        "}}\n",
        name);
  }
  if (from.scalar == Scalar::F16) return WidenHalfText(name);
  if (f.has_only_powers()) return WidenPowerText(name, from);
  std::string special = f.has_infinity
                            ? fmt::format("rest == {:#x}u ? INFINITY : NAN", f.infinity())
                            : std::string("NAN");
  return fmt::format(
      "static inline float {0}({1} a) {{\n"
      "  const uint32_t rest = a & {2:#x}u;\n"
      "  const int above = (int)(rest >> {3});\n"
      "  const uint32_t units = (rest & {4:#x}u) | (above > 0 ? {5:#x}u : 0);\n"
      "  float value = ldexpf((float)units, {6} + (above > 1 ? above - 1 : 0));\n"
      "  if (rest > {7:#x}u) value = {8};\n"
      "  return (a & {9:#x}u) != 0 ? -value : value;\n"
      "}}\n",
      name, from.c_type, f.sign() - 1, f.fraction, (uint64_t{1} << f.fraction) - 1,
      uint64_t{1} << f.fraction, f.least_exponent() - f.fraction, f.largest(), special, f.sign());
}

/// Instructions that convert as many numbers from or to f16.
struct HalvesRow {
  int64_t lanes;
  std::string_view feature;  ///< whether the compiler has it
  std::string_view widen;
  std::string_view narrow;
};
constexpr HalvesRow kHalves[] = {
    {4, "defined(__F16C__) && defined(__AVX2__)", "_mm_cvtph_ps(_mm_cvtsi64_si128((long long)a))",
     "_mm_cvtsi128_si64(_mm_cvtps_ph((__m128)a, _MM_FROUND_TO_NEAREST_INT))"},
    {8, "defined(__F16C__) && defined(__AVX2__)", "_mm256_cvtph_ps((__m128i)a)",
     "_mm256_cvtps_ph((__m256)a, _MM_FROUND_TO_NEAREST_INT)"},
    {16, "defined(__AVX512F__)", "_mm512_cvtph_ps((__m256i)a)",
     "_mm512_cvtps_ph((__m512)a, _MM_FROUND_TO_NEAREST_INT)"}};

/// Returns the instruction that converts so many lanes from f16 to f32 or the other way, or null.
const HalvesRow* HalvesInstruction(Scalar from, Scalar to, int64_t lanes) {
  bool is_half =
      (from == Scalar::F16 && to == Scalar::F32) || (from == Scalar::F32 && to == Scalar::F16);
  const auto* row = std::ranges::find(kHalves, lanes, &HalvesRow::lanes);
  return is_half && row != std::end(kHalves) ? row : nullptr;
}

/// Converts an f64 to an f32 that rounds to f16 and bf16 as the f64 does: it is truncated, and its last bit is set if any
/// of the lost bits was.
constexpr std::string_view kOdd =
    "static inline float kdl_odd_f32_of_f64(double a) {\n"
    "  float nearest = (float)a;\n"
    "  const double back = nearest;\n"
    "  uint32_t bits;\n"
    "  memcpy(&bits, &nearest, 4);\n"
    "  bits = (bits - (fabs(back) > fabs(a) ? 1u : 0)) | (back != a ? 1u : 0);\n"
    "  memcpy(&nearest, &bits, 4);\n"
    "  return nearest;\n"
    "}\n";

/// bf16 is the upper half of an f32.
std::string Bf16Text(std::string_view name) {
  return fmt::format(
      "static inline uint16_t {}(float a) {{\n"
      "  uint32_t bits;\n"
      "  memcpy(&bits, &a, 4);\n"
      "  bits = a != a ? bits | 0x400000u : bits + 0x7fffu + (bits >> 16 & 1u);\n"
      "  return (uint16_t)(bits >> 16);\n"
      "}}\n",
      name);
}

/// Truncates, saturates, and converts NaN to 0.
std::string SaturateText(std::string_view name, Scalar from, Scalar to) {
  int bits = 8 * Bytes(to);
  bool is_signed = IsSigned(to);
  std::string_view suffix = from == Scalar::F32 ? "f" : "";
  std::string largest = fmt::format("{}INT{}_MAX", is_signed ? "" : "U", bits);
  std::string least = is_signed ? fmt::format("INT{}_MIN", bits) : std::string("0");
  return fmt::format(
      "static inline {0} {1}({2} a) {{\n"
      "  return a != a ? 0 : a >= 0x1p{3}{4} ? {5} : a <= {6} ? {7} : ({0})a;\n"
      "}}\n",
      VariableType(to), name, VariableType(from), bits - (is_signed ? 1 : 0), suffix, largest,
      is_signed ? fmt::format("-0x1p{}{}", bits - 1, suffix) : std::string("0"), least);
}

/// A 64-bit integer as an f64 that rounds to a shorter float as the integer does: the low bits of large numbers
/// become one bit, which is set if any of them was.
std::string StickyText(std::string_view name, Scalar from) {
  return fmt::format(
      "static inline double {0}({1} a) {{\n"
      "  if (fabs((double)a) < 0x1p53) return (double)a;\n"
      "  return ldexp((double)((a >> 12) | ((a & 4095) != 0)), 12);\n"
      "}}\n",
      name, VariableType(from));
}

/// Whether the narrow float is converted from f32 without branches. An f64 is first rounded to odd.
bool IsFromF32(Scalar to) {
  return to == Scalar::F16 || to == Scalar::BF16 ||
         (IsNarrowFloat(to) && Info(to).format.has_only_powers());
}

/// Whether C's conversion is the one of the language.
bool IsOperator(Scalar from, Scalar to) {
  return !IsNarrowFloat(from) && !IsNarrowFloat(to) && to != Scalar::Bool &&
         !(IsFloat(from) && !IsFloat(to));
}

/// Returns a type between two others by which vectors are converted with the same results, or `to`. gcc 12 has vectors
/// only for conversions between sizes that differ by a factor of 2, and the narrow floats have functions from and to f32.
Scalar Between(Scalar from, Scalar to) {
  if (IsInteger(from) && IsInteger(to)) {
    if (Bytes(to) > 2 * Bytes(from)) return IntegerOf(2 * Bytes(from), IsSigned(from));
    if (Bytes(from) > 2 * Bytes(to)) return IntegerOf(Bytes(from) / 2, IsSigned(to));
  }
  if (IsInteger(from) && Bytes(from) < 4 && IsNarrowFloat(to)) return Scalar::F32;
  if (IsInteger(from) && Bytes(from) < 4 && IsFloat(to)) return Scalar::I32;
  return IsNarrowFloat(from) ? Scalar::F32 : to;
}

}  // namespace

std::string Helpers::OddConversion(int64_t lanes) {
  std::string name = fmt::format("kdl_odd_f32_of_f64x{}", lanes);
  if (IsDefined(name)) return name;
  std::string of = Vector(Scalar::F64, lanes);
  std::string result = Vector(Scalar::F32, lanes);
  std::vector<Part> from = Parts(64, lanes);
  std::vector<Part> to = Parts(32, lanes);
  if (from.size() > 1 || to.size() > 1) {
    ConvertParts(name, lanes, from, to,
                 {[&](int64_t count) { return Vector(Scalar::F64, count); },
                  [&](int64_t count) { return Vector(Scalar::F32, count); },
                  [&](int64_t count) { return OddConversion(count); }});
    return name;
  }
  Define("kdl_odd_f32_of_f64", std::string(kOdd));
  std::string is = MaskConversion(64, 32, lanes);
  Define(
      name,
      fmt::format("static inline {0} {1}({2} a) {{\n"
                  "#ifdef KDL_GNU_VECTORS\n"
                  "  const {0} nearest = __builtin_convertvector(a, {0});\n"
                  "  const {2} back = __builtin_convertvector(nearest, {2});\n"
                  "  const {2} size = ({2})(({3})a & INT64_MAX);\n"
                  "  const {2} size_back = ({2})(({3})back & INT64_MAX);\n"
                  "  return ({0})((({4})nearest + {5}(size_back > size)) | ({5}(back != a) & 1));\n"
                  "#else\n"
                  "  {0} r = {{{{0}}}};\n"
                  "  for (int l = 0; l < {6}; ++l) r.lane[l] = kdl_odd_f32_of_f64(a.lane[l]);\n"
                  "  return r;\n"
                  "#endif\n"
                  "}}\n",
                  result, name, of, Vector(Scalar::Bool, lanes, 64),
                  Vector(Scalar::Bool, lanes, 32), is, lanes));
  return name;
}

std::string Helpers::VectorConversion(Scalar from, Scalar to, int64_t lanes) {
  std::string name = fmt::format("kdl_{}_of_{}x{}", Spelling(to), Spelling(from), lanes);
  if (IsDefined(name)) return name;
  std::string of = Vector(from, lanes);
  std::string result = Vector(to, lanes);
  if (Scalar via = Between(from, to); via != to) {
    DefineChain(name, result, of, VectorConversion(from, via, lanes),
                VectorConversion(via, to, lanes));
    return name;
  }
  if (from == Scalar::F64 && IsFromF32(to)) {
    DefineChain(name, result, of, OddConversion(lanes), VectorConversion(Scalar::F32, to, lanes));
    return name;
  }
  std::vector<Part> from_parts = Parts(8 * Bytes(from), lanes);
  std::vector<Part> to_parts = Parts(8 * Bytes(to), lanes);
  if (from_parts.size() > 1 || to_parts.size() > 1) {
    ConvertParts(name, lanes, from_parts, to_parts,
                 {[&](int64_t count) { return Vector(from, count); },
                  [&](int64_t count) { return Vector(to, count); },
                  [&](int64_t count) { return VectorConversion(from, to, count); }});
    return name;
  }
  if (IsOperator(from, to))
    return Whole(name, result, {of}, lanes, fmt::format("__builtin_convertvector(a, {})", result),
                 fmt::format("({})$a", MemoryType(to)));
  std::string one = Conversion(from, to);
  std::string by_lanes = fmt::format(
      "  {} r = {{0}};\n"
      "  KDL_LOOP for (int l = 0; l < {}; ++l) KDL_LANE(r, l) = {}(KDL_LANE(a, l));\n"
      "  return r;\n",
      result, lanes, one);
  if (const HalvesRow* row = HalvesInstruction(from, to, lanes)) {
    Define("kdl_intrinsics", std::string(kIntrinsics));
    by_lanes = fmt::format(
        "#if {} && defined(KDL_GNU_VECTORS)\n"
        "  return ({}){};\n"
        "#else\n"
        "{}"
        "#endif\n",
        row->feature, result, to == Scalar::F32 ? row->widen : row->narrow, by_lanes);
  }
  Define(name, fmt::format("static inline {} {}({} a) {{\n{}}}\n", result, name, of, by_lanes));
  return name;
}

std::string Helpers::Conversion(Scalar from, Scalar to, int64_t lanes) {
  if (lanes > 1) return VectorConversion(from, to, lanes);
  std::string name = fmt::format("kdl_{}_of_{}", Spelling(to), Spelling(from));
  if (defined_.contains(name)) return name;
  if (IsNarrowFloat(from)) {
    std::string wide = fmt::format("kdl_f32_of_{}", Spelling(from));
    Define(wide, WidenText(wide, Info(from)));
    if (to == Scalar::F32) return wide;
    std::string rest = Conversion(Scalar::F32, to);
    Define(name, fmt::format("static inline {} {}({} a) {{ return {}({}(a)); }}\n",
                             VariableType(to), name, VariableType(from), rest, wide));
    return name;
  }
  std::string_view of = VariableType(from);
  auto plain = [&](std::string_view expression) {
    Define(name, fmt::format("static inline {} {}({} a) {{ return {}; }}\n", VariableType(to), name,
                             of, expression));
  };
  if (to == Scalar::Bool) {
    plain("a != 0");
  } else if (to == Scalar::BF16 && from == Scalar::F32) {
    Define(name, Bf16Text(name));
  } else if (to == Scalar::F16 && from == Scalar::F32) {
    Define(name, NarrowHalfText(name));
  } else if (from == Scalar::F32 && IsFromF32(to)) {
    Define(name, NarrowPowerText(name, Info(to)));
  } else if (from == Scalar::F64 && IsFromF32(to)) {
    Define("kdl_odd_f32_of_f64", std::string(kOdd));
    plain(fmt::format("{}(kdl_odd_f32_of_f64(a))", Conversion(Scalar::F32, to)));
  } else if (IsNarrowFloat(to)) {
    std::string narrow = fmt::format("kdl_{}_of_f64", Spelling(to));
    if (IsFromF32(to)) {
      Conversion(Scalar::F64, to);
    } else {
      Define(narrow, NarrowText(narrow, Info(to)));
    }
    if (from == Scalar::F64) return narrow;
    if (IsInteger(from) && Bytes(from) == 8) {
      std::string sticky = fmt::format("kdl_sticky_{}", Spelling(from));
      Define(sticky, StickyText(sticky, from));
      plain(fmt::format("{}({}(a))", narrow, sticky));
    } else {
      plain(fmt::format("{}((double)a)", narrow));
    }
  } else if (IsFloat(from) && !IsFloat(to)) {
    Define(name, SaturateText(name, from, to));
  } else {
    plain(fmt::format("({})a", VariableType(to)));
  }
  return name;
}

}  // namespace kdl::codegen::c_source
