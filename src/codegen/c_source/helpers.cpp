#include <algorithm>
#include <cctype>
#include <cmath>
#include <string>

#include "codegen/c_source/writer.h"
#include "ir/op_table.h"
#include "support/check.h"

// Defines the small functions that generated code calls: operations on scalars from kdl/scalar_ops.def, and the
// same for each lane of a vector. Compilers turn the loops over lanes into vector instructions.

namespace kdl::codegen::c_source {

namespace {

/// The expression of an op for a group of scalar types.
struct Row {
  std::string_view name;
  ScalarGroup group;
  int arity;
  std::string_view text;
};

constexpr Row kRows[] = {
#define KDL_FLOATS(Name, name, arity, expression) {#name, ScalarGroup::Float, arity, #expression},
#define KDL_SIGNED(Name, name, arity, expression) {#name, ScalarGroup::Signed, arity, #expression},
#define KDL_UNSIGNED(Name, name, arity, expression) \
  {#name, ScalarGroup::Unsigned, arity, #expression},
#define KDL_BOOLS(Name, name, arity, expression) {#name, ScalarGroup::Bool, arity, #expression},
#include "kdl/scalar_ops.def"
};

/// Functions that rows of scalar_ops.def call, and conversions. In the text, $T is the type in C, $S its suffix, $U
/// the unsigned integer and $I the signed integer of the same size, and $F ends the names of functions of math.h.
struct OwnFunction {
  std::string_view name;
  ScalarGroup group;
  int arity;
  std::string_view text;
};

constexpr OwnFunction kOwn[] = {
    {"div", ScalarGroup::Signed, 2,
     "static inline $T kdl_div_$S($T a, $T b) {\n"
     "  if (b == -1) return ($T)(0 - ($U)a);\n"
     "  return ($T)(a / b - (a % b != 0 && (a < 0) != (b < 0)));\n"
     "}\n"},
    {"rem", ScalarGroup::Signed, 2,
     "static inline $T kdl_rem_$S($T a, $T b) {\n"
     "  if (b == -1) return 0;\n"
     "  $T r = ($T)(a % b);\n"
     "  return r != 0 && (r < 0) != (b < 0) ? ($T)(r + b) : r;\n"
     "}\n"},
    {"min", ScalarGroup::Float, 2,
     "// NaN if an operand is NaN; -0 is less than +0.\n"
     "static inline $T kdl_min_$S($T a, $T b) {\n"
     "  return a != a ? a : b != b ? b : a < b || (a == b && signbit(a)) ? a : b;\n"
     "}\n"},
    {"max", ScalarGroup::Float, 2,
     "// NaN if an operand is NaN; -0 is less than +0.\n"
     "static inline $T kdl_max_$S($T a, $T b) {\n"
     "  return a != a ? a : b != b ? b : a > b || (a == b && !signbit(a)) ? a : b;\n"
     "}\n"},
    {"fma", ScalarGroup::Float, 3,
     "static inline $T kdl_fma_$S($T a, $T b, $T c) { return fma$F(a, b, c); }\n"},
    {"abs", ScalarGroup::Float, 1, "static inline $T kdl_abs_$S($T a) { return fabs$F(a); }\n"},
    {"floor", ScalarGroup::Float, 1,
     "static inline $T kdl_floor_$S($T a) { return floor$F(a); }\n"},
    {"ceil", ScalarGroup::Float, 1, "static inline $T kdl_ceil_$S($T a) { return ceil$F(a); }\n"},
    {"round", ScalarGroup::Float, 1, "static inline $T kdl_round_$S($T a) { return rint$F(a); }\n"},
    {"sqrt", ScalarGroup::Float, 1, "static inline $T kdl_sqrt_$S($T a) { return sqrt$F(a); }\n"},
    {"flush", ScalarGroup::Float, 1,
     "static inline $T kdl_flush_$S($T a) { return fabsf(a) < 0x1p-126f ? copysignf(0, a) : a; "
     "}\n"},
    {"tf32", ScalarGroup::Float, 1,
     "static inline $T kdl_tf32_$S($T a) {\n"
     "  uint32_t bits;\n"
     "  memcpy(&bits, &a, 4);\n"
     "  if ((bits & 0x7f800000u) == 0x7f800000u) return a;\n"
     "  bits = (bits + 0xfffu + (bits >> 13 & 1u)) & 0xffffe000u;\n"
     "  memcpy(&a, &bits, 4);\n"
     "  return a;\n"
     "}\n"},
    {"fma_flush", ScalarGroup::Float, 3,
     "// A result whose magnitude is below the least normal number becomes a zero.\n"
     "static inline $T kdl_fma_flush_$S($T a, $T b, $T c) {\n"
     "  const $T large = fmaf(a * 0x1p32f, b, c * 0x1p32f);\n"
     "  const $T sum = fmaf(a, b, c);\n"
     "  return fabsf(large) < 0x1p-94f ? copysignf(0, sum) : sum;\n"
     "}\n"},
    {"to_bits", ScalarGroup::Float, 1,
     "static inline $I kdl_to_bits_$S($T a) {\n"
     "  $I bits;\n"
     "  memcpy(&bits, &a, sizeof a);\n"
     "  return a != a ? $N : bits;\n"
     "}\n"},
    {"from_bits", ScalarGroup::Signed, 1,
     "static inline $O kdl_from_bits_$S($T a) {\n"
     "  $O value;\n"
     "  memcpy(&value, &a, sizeof a);\n"
     "  return value;\n"
     "}\n"},
};

std::string IntegerType(int bits, bool is_signed) {
  return fmt::format("{}int{}_t", is_signed ? "" : "u", bits);
}

std::string OwnText(const OwnFunction& own, Scalar scalar) {
  std::string text;
  for (size_t i = 0; i < own.text.size(); ++i) {
    if (own.text[i] != '$') {
      text += own.text[i];
      continue;
    }
    bool wide = Bytes(scalar) == 8;
    switch (own.text[++i]) {
      case 'T':
        text += VariableType(scalar);
        break;
      case 'S':
        text += Spelling(scalar);
        break;
      case 'U':
        text += IntegerType(8 * Bytes(scalar), false);
        break;
      case 'I':
        text += IntegerType(8 * Bytes(scalar), true);
        break;
      case 'F':
        text += wide ? "" : "f";
        break;
      case 'N':
        text += wide ? "0x7ff8000000000000" : "0x7fc00000";
        break;
      case 'O':
        text += wide ? "double" : "float";
        break;
      default:
        KDL_UNREACHABLE("unknown placeholder in {}", own.name);
    }
  }
  return text;
}

/// Replaces the placeholders of scalar_ops.def in an expression.
std::string RowText(std::string_view rest, Scalar scalar) {
  auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  std::string text;
  while (!rest.empty()) {
    auto length = static_cast<size_t>(std::ranges::find_if_not(rest, in_word) - rest.begin());
    std::string_view word = rest.substr(0, std::max<size_t>(length, 1));
    rest.remove_prefix(word.size());
    if (word == "T") {
      text += VariableType(scalar);
    } else if (word == "U") {
      text += IntegerType(8 * Bytes(scalar), false);
    } else if (word == "W") {
      text += Bytes(scalar) == 8 ? "uint64_t" : "uint32_t";
    } else if (word == "M") {
      text += std::to_string(8 * Bytes(scalar) - 1);
    } else if (word == "KDL_SEEN_S") {
      continue;
    } else {
      text += word;
    }
  }
  return text;
}

std::string Operands(int arity, std::string_view type) {
  static constexpr std::string_view kNames[] = {"a", "b", "c"};
  std::string text;
  for (int i = 0; i < arity; ++i)
    text += fmt::format("{}{} {}", i > 0 ? ", " : "", type, kNames[i]);
  return text;
}

bool IsComparison(std::string_view op) {
  return op == "eq" || op == "ne" || op == "lt" || op == "le" || op == "gt" || op == "ge";
}

const OwnFunction* FindOwn(std::string_view op, Scalar scalar) {
  const auto* own = std::ranges::find_if(kOwn, [&](const OwnFunction& row) {
    return row.name == op && row.group == Info(scalar).group;
  });
  return own == std::end(kOwn) ? nullptr : own;
}

int Arity(std::string_view op, Scalar scalar) {
  if (const OwnFunction* own = FindOwn(op, scalar)) return own->arity;
  const auto* row = std::ranges::find_if(
      kRows, [&](const Row& r) { return r.name == op && r.group == Info(scalar).group; });
  KDL_CHECK(row != std::end(kRows), "'{}' of {} cannot be written in C", op, Spelling(scalar));
  return row->arity;
}

}  // namespace

void Helpers::Define(const std::string& name, const std::string& text) {
  if (defined_.insert(name).second) text_ += text;
}

std::string Helpers::Vector(Scalar scalar, int64_t lanes, int mask_bits) {
  std::string name = VectorType(scalar, lanes, mask_bits);
  std::string element =
      scalar == Scalar::Bool ? IntegerType(mask_bits, true) : std::string(MemoryType(scalar));
  int64_t bytes = PaddedLanes(lanes) * (scalar == Scalar::Bool ? mask_bits / 8 : Bytes(scalar));
  Define(name,
         fmt::format("typedef {} {} __attribute__((vector_size({})));\n", element, name, bytes));
  return name;
}

void Helpers::DefineScalar(std::string_view op, Scalar scalar, const std::string& name) {
  if (const OwnFunction* own = FindOwn(op, scalar)) return Define(name, OwnText(*own, scalar));
  const auto* row = std::ranges::find_if(
      kRows, [&](const Row& r) { return r.name == op && r.group == Info(scalar).group; });
  KDL_CHECK(row != std::end(kRows), "'{}' of {} cannot be written in C", op, Spelling(scalar));
  std::string_view type = VariableType(scalar);
  Define(name, fmt::format("static inline {} {}({}) {{ return {}; }}\n", type, name,
                           Operands(row->arity, type), RowText(row->text, scalar)));
}

void Helpers::DefineLanes(std::string_view op, Scalar scalar, int64_t lanes,
                          const std::string& name) {
  std::string one = Function(op, scalar);
  std::string type = Vector(scalar, lanes);
  Scalar to = op == "to_bits"     ? (Bytes(scalar) == 8 ? Scalar::I64 : Scalar::I32)
              : op == "from_bits" ? (Bytes(scalar) == 8 ? Scalar::F64 : Scalar::F32)
                                  : scalar;
  std::string result = Vector(to, lanes);
  int arity = Arity(op, scalar);
  static constexpr std::string_view kLanes[] = {"", "a[l]", "a[l], b[l]", "a[l], b[l], c[l]"};
  Define(name, fmt::format("static inline {0} {1}({2}) {{\n"
                           "  {0} r = {{0}};\n"
                           "  for (int l = 0; l < {3}; ++l) r[l] = {4}({5});\n"
                           "  return r;\n"
                           "}}\n",
                           result, name, Operands(arity, type), lanes, one,
                           kLanes[static_cast<size_t>(arity)]));
}

std::string Helpers::Function(std::string_view op, Scalar scalar, int64_t lanes) {
  KDL_CHECK(!IsComparison(op), "comparisons are operators");
  std::string name = fmt::format("kdl_{}_{}", op, Spelling(scalar));
  if (lanes > 1) name += fmt::format("x{}", lanes);
  if (defined_.contains(name)) return name;
  lanes > 1 ? DefineLanes(op, scalar, lanes, name) : DefineScalar(op, scalar, name);
  return name;
}

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

}  // namespace

std::string Helpers::Conversion(Scalar from, Scalar to, int64_t lanes) {
  std::string name = fmt::format("kdl_{}_of_{}", Spelling(to), Spelling(from));
  if (lanes > 1) {
    std::string one = Conversion(from, to);
    std::string of = Vector(from, lanes);
    std::string result = Vector(to, lanes);
    name += fmt::format("x{}", lanes);
    Define(name, fmt::format("static inline {0} {1}({2} a) {{\n"
                             "  {0} r = {{0}};\n"
                             "  for (int l = 0; l < {3}; ++l) r[l] = {4}(a[l]);\n"
                             "  return r;\n"
                             "}}\n",
                             result, name, of, lanes, one));
    return name;
  }
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
  } else if (IsNarrowFloat(to)) {
    std::string narrow = fmt::format("kdl_{}_of_f64", Spelling(to));
    Define(narrow, NarrowText(narrow, Info(to)));
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
