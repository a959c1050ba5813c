#include <algorithm>
#include <cctype>
#include <cmath>
#include <string>
#include <utility>

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
    {"plain_min", ScalarGroup::Float, 2,
     "// NaN if an operand is NaN; -0 is less than +0.\n"
     "static inline $T kdl_plain_min_$S($T a, $T b) {\n"
     "  return a != a ? a : b != b ? b : a < b || (a == b && signbit(a)) ? a : b;\n"
     "}\n"},
    {"plain_max", ScalarGroup::Float, 2,
     "// NaN if an operand is NaN; -0 is less than +0.\n"
     "static inline $T kdl_plain_max_$S($T a, $T b) {\n"
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

/// The types that replace the placeholders of scalar_ops.def.
struct RowTypes {
  std::string own;   ///< T
  std::string bits;  ///< U: unsigned, with as many bits
  std::string
      products;  ///< W: unsigned, for products, since C would compute those of narrow types as ints
};

RowTypes ScalarTypes(Scalar scalar) {
  return {std::string(VariableType(scalar)), IntegerType(8 * Bytes(scalar), false),
          Bytes(scalar) == 8 ? "uint64_t" : "uint32_t"};
}

/// Replaces the placeholders of scalar_ops.def in an expression.
std::string RowText(std::string_view rest, Scalar scalar, const RowTypes& types) {
  auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  std::string text;
  while (!rest.empty()) {
    auto length = static_cast<size_t>(std::ranges::find_if_not(rest, in_word) - rest.begin());
    std::string_view word = rest.substr(0, std::max<size_t>(length, 1));
    rest.remove_prefix(word.size());
    if (word == "T") {
      text += types.own;
    } else if (word == "U") {
      text += types.bits;
    } else if (word == "W") {
      text += types.products;
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

const Row& FindRow(std::string_view op, Scalar scalar) {
  const auto* row = std::ranges::find_if(
      kRows, [&](const Row& r) { return r.name == op && r.group == Info(scalar).group; });
  KDL_CHECK(row != std::end(kRows), "'{}' of {} cannot be written in C", op, Spelling(scalar));
  return *row;
}

bool IsExtremum(std::string_view op, Scalar scalar) {
  return IsFloat(scalar) && (op == "min" || op == "max");
}

int Arity(std::string_view op, Scalar scalar) {
  if (IsExtremum(op, scalar)) return 2;
  const OwnFunction* own = FindOwn(op, scalar);
  return own ? own->arity : FindRow(op, scalar).arity;
}

/// Whether GNU C computes the row's expression with vectors of integers as with their lanes.
bool IsWhole(std::string_view op, Scalar scalar) {
  static constexpr std::string_view kWhole[] = {"add", "sub", "mul", "neg", "and",
                                                "or",  "xor", "not", "shl", "shr"};
  return IsInteger(scalar) && std::ranges::find(kWhole, op) != std::end(kWhole);
}

/// Returns clang's function for vectors. Vectors that clang finds in loops over lanes are worse: products of matrices
/// then keep sums in memory.
std::string_view ElementwiseBuiltin(std::string_view op, Scalar scalar) {
  struct Row {
    std::string_view op;
    bool (*is_for)(Scalar);
    std::string_view builtin;
  };
  static constexpr Row kBuiltins[] = {{"fma", IsFloat, "__builtin_elementwise_fma"},
                                      {"abs", IsFloat, "__builtin_elementwise_abs"},
                                      {"floor", IsFloat, "__builtin_elementwise_floor"},
                                      {"ceil", IsFloat, "__builtin_elementwise_ceil"},
                                      {"round", IsFloat, "__builtin_elementwise_rint"},
                                      {"sqrt", IsFloat, "__builtin_elementwise_sqrt"},
                                      {"min", IsInteger, "__builtin_elementwise_min"},
                                      {"max", IsInteger, "__builtin_elementwise_max"}};
  const auto* found = std::ranges::find_if(
      kBuiltins, [&](const Row& row) { return row.op == op && row.is_for(scalar); });
  return found != std::end(kBuiltins) ? found->builtin : "";
}

/// The type of the lanes that a function returns.
Scalar ResultOf(std::string_view op, Scalar scalar) {
  bool wide = Bytes(scalar) == 8;
  if (op == "to_bits") return wide ? Scalar::I64 : Scalar::I32;
  if (op == "from_bits") return wide ? Scalar::F64 : Scalar::F32;
  return scalar;
}

}  // namespace

void Helpers::Define(const std::string& name, const std::string& text) {
  if (defined_.insert(name).second) text_ += text;
}

void Helpers::DefineScalar(std::string_view op, Scalar scalar, const std::string& name) {
  if (const OwnFunction* own = FindOwn(op, scalar)) return Define(name, OwnText(*own, scalar));
  if (IsExtremum(op, scalar)) return DefineScalarExtremum(op, scalar, name);
  const Row& row = FindRow(op, scalar);
  std::string_view type = VariableType(scalar);
  Define(name,
         fmt::format("static inline {} {}({}) {{ return {}; }}\n", type, name,
                     Operands(row.arity, type), RowText(row.text, scalar, ScalarTypes(scalar))));
}

std::string Helpers::WholeRow(std::string_view op, Scalar scalar, int64_t lanes) {
  std::string unsigned_type = Vector(IntegerOf(Bytes(scalar), false), lanes);
  return RowText(FindRow(op, scalar).text, scalar,
                 {Vector(scalar, lanes), unsigned_type, unsigned_type});
}

/// Compilers need not find out that all lanes are shifted by the same number.
std::string Helpers::ShiftByScalar(std::string_view op, Scalar scalar, int64_t lanes) {
  std::string type = Vector(scalar, lanes);
  std::string name = fmt::format("kdl_{}_{}_by_scalar", op, type.substr(4));
  std::string params = fmt::format("{} a, {} b", type, VariableType(scalar));
  if (std::vector<Part> parts = Parts(8 * Bytes(scalar), lanes); parts.size() > 1) {
    DefineByParts(name, type, params, parts, [&](const Part& part) {
      return fmt::format("{}(a{}, b)", ShiftByScalar(op, scalar, part.lanes), part.field);
    });
    return name;
  }
  return Whole(name, type, {type, VariableType(scalar)}, lanes, WholeRow(op, scalar, lanes),
               Function(op, scalar) + "($a, b)");
}

/// NaN if an operand is NaN; -0 is less than +0. If the lanes are equal, their bits differ at most in the sign.
void Helpers::DefineExtremum(bool is_max, Scalar scalar, int64_t lanes, const std::string& name) {
  std::string type = Vector(scalar, lanes);
  int bits = 8 * Bytes(scalar);
  std::string mask = Vector(Scalar::Bool, lanes, bits);
  std::string select = Select(scalar, lanes, bits);
  std::string beyond = fmt::format("{}(a {} b, a, b)", select, is_max ? ">" : "<");
  std::string signed_zero = is_max ? fmt::format("({0}){1} & (({0})a | (a != b))", mask, beyond)
                                   : fmt::format("({0}){1} | (({0})a & (a == b))", mask, beyond);
  Whole(name, type, {type, type}, lanes,
        fmt::format("{}(a != a, a, ({})({}))", select, type, signed_zero),
        fmt::format("{}($a, $b)", Function(is_max ? "plain_max" : "plain_min", scalar)));
}

/// Computed as a vector, which needs no branches.
void Helpers::DefineScalarExtremum(std::string_view op, Scalar scalar, const std::string& name) {
  int64_t lanes = 16 / Bytes(scalar);
  std::string type = Vector(scalar, lanes);
  std::string whole = Function(op, scalar, lanes);
  Define(name, fmt::format("static inline {0} {1}({0} a, {0} b) {{\n"
                           "#ifdef KDL_GNU_VECTORS\n"
                           "  return KDL_LANE({2}(KDL_VECTOR_OF({3}, a), KDL_VECTOR_OF({3}, b)), "
                           "0);\n"
                           "#else\n"
                           "  return {4}(a, b);\n"
                           "#endif\n"
                           "}}\n",
                           VariableType(scalar), name, whole, type,
                           Function(fmt::format("plain_{}", op), scalar)));
}

void Helpers::DefineLanes(std::string_view op, Scalar scalar, int64_t lanes, int64_t used,
                          const std::string& name) {
  if (IsExtremum(op, scalar)) return DefineExtremum(op == "max", scalar, lanes, name);
  std::string one = Function(op, scalar);
  std::string type = Vector(scalar, lanes);
  if (IsWhole(op, scalar)) {
    if (Arity(op, scalar) == 1) {
      Whole(name, type, {type}, lanes, WholeRow(op, scalar, lanes), one + "($a)");
    } else {
      Whole(name, type, {type, type}, lanes, WholeRow(op, scalar, lanes), one + "($a, $b)");
    }
    return;
  }
  static constexpr std::string_view kLanes[] = {"", "KDL_LANE(a, l)",
                                                "KDL_LANE(a, l), KDL_LANE(b, l)",
                                                "KDL_LANE(a, l), KDL_LANE(b, l), KDL_LANE(c, l)"};
  int arity = Arity(op, scalar);
  std::string result = Vector(ResultOf(op, scalar), lanes);
  std::string body = fmt::format(
      "  {} r = {{0}};\n"
      "  KDL_LOOP for (int l = 0; l < {}; ++l) KDL_LANE(r, l) = {}({});\n"
      "  return r;\n",
      result, used, one, kLanes[static_cast<size_t>(arity)]);
  if (std::string_view builtin = ElementwiseBuiltin(op, scalar); !builtin.empty()) {
    static constexpr std::string_view kOperands[] = {"", "a", "a, b", "a, b, c"};
    body = fmt::format("#ifdef KDL_ELEMENTWISE\n  return {}({});\n#else\n{}#endif\n", builtin,
                       kOperands[static_cast<size_t>(arity)], body);
  }
  Define(name, fmt::format("static inline {} {}({}) {{\n{}}}\n", result, name,
                           Operands(arity, type), body));
}

void Helpers::DefineOnParts(std::string_view op, Scalar scalar, int64_t lanes,
                            const std::vector<Part>& parts, const std::string& name) {
  static constexpr std::string_view kOperands[] = {"a{0}", "a{0}, b{0}", "a{0}, b{0}, c{0}"};
  int arity = Arity(op, scalar);
  DefineByParts(
      name, Vector(ResultOf(op, scalar), lanes), Operands(arity, Vector(scalar, lanes)), parts,
      [&](const Part& part) {
        return fmt::format(
            "{}({})", Function(op, scalar, part.lanes, part.used),
            fmt::format(fmt::runtime(kOperands[static_cast<size_t>(arity) - 1]), part.field));
      });
}

std::string Helpers::Function(std::string_view op, Scalar scalar, int64_t lanes, int64_t used) {
  KDL_CHECK(!IsComparison(op), "comparisons are operators");
  std::string name = fmt::format("kdl_{}_{}", op, Spelling(scalar));
  if (lanes > 1) name += fmt::format("x{}", lanes);
  if (used > 0 && used < lanes) name += fmt::format("_first_{}", used);
  if (defined_.contains(name)) return name;
  if (lanes == 1) {
    DefineScalar(op, scalar, name);
  } else if (std::vector<Part> parts = Parts(8 * Bytes(scalar), lanes); parts.size() > 1) {
    DefineOnParts(op, scalar, lanes, parts, name);
  } else {
    DefineLanes(op, scalar, lanes, used > 0 ? used : lanes, name);
  }
  return name;
}

}  // namespace kdl::codegen::c_source
