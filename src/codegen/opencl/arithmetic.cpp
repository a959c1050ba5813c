#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "codegen/opencl/writer.h"
#include "ir/op_table.h"
#include "kdl/kernel_abi.h"
#include "support/check.h"

// Writes elementwise ops, each as one expression. A float below f32 is widened to f32, which represents it
// exactly, and the result is rounded back.

namespace kdl::codegen::opencl {

namespace {

using ir::Op;
using ir::OpKind;

/// The expression that an op computes for a group of scalar types, as written in kdl/scalar_ops.def.
struct Row {
  OpKind kind;
  ScalarGroup group;
  std::string_view text;
};

constexpr Row kRows[] = {
#define KDL_FLOATS(Name, name, arity, expression) {OpKind::Name, ScalarGroup::Float, #expression},
#define KDL_SIGNED(Name, name, arity, expression) {OpKind::Name, ScalarGroup::Signed, #expression},
#define KDL_UNSIGNED(Name, name, arity, expression) \
  {OpKind::Name, ScalarGroup::Unsigned, #expression},
#define KDL_BOOLS(Name, name, arity, expression) {OpKind::Name, ScalarGroup::Bool, #expression},
#include "kdl/scalar_ops.def"
};

constexpr const Row* FindRow(OpKind kind, ScalarGroup group) {
  const Row* row =
      std::ranges::find_if(kRows, [&](const Row& r) { return r.kind == kind && r.group == group; });
  return row == std::end(kRows) ? nullptr : row;
}

consteval bool EachHasText() {
  return std::ranges::all_of(ir::kOpTable, [](const ir::OpInfo& info) {
    bool has_row =
        std::ranges::any_of(kRows, [&](const Row& row) { return row.kind == info.kind; });
    return has_row == HasExpression(info);
  });
}
static_assert(EachHasText(), "each op that computes scalars in kernels has rows in scalar_ops.def");

std::string_view UnsignedOf(Scalar scalar) {
  switch (Bytes(scalar)) {
    case 1:
      return "uchar";
    case 2:
      return "ushort";
    case 4:
      return "uint";
    default:
      return "ulong";
  }
}

/// Returns the expression for an operand, converted to the type in which the op computes.
std::string Operand(const Writer& w, const ir::Value* value) {
  Scalar scalar = value->type()->scalar;
  std::string text(w.Get(value));
  return IsNarrowFloat(scalar) ? fmt::format("kdl_f32_of_{}({})", Suffix(scalar), text) : text;
}

void DefineComputed(Writer& w, const ir::Value* result, std::string_view expression) {
  Scalar scalar = result->type()->scalar;
  w.Define(result, IsNarrowFloat(scalar)
                       ? fmt::format("kdl_{}_of_f32({})", Suffix(scalar), expression)
                       : std::string(expression));
}

/// If the op is a floor division or remainder of an i64 by a constant power of two, returns a shift or a mask
/// that computes it. Otherwise returns an empty string.
std::string DivisionText(const Writer& w, const Op* op) {
  if (op->kind() != OpKind::Div && op->kind() != OpKind::Rem) return "";
  const Op* divisor = op->operand(1)->def();
  if (op->result()->type()->scalar != Scalar::I64 || !divisor || divisor->kind() != OpKind::Const)
    return "";
  auto by = static_cast<uint64_t>(divisor->attr<ir::AttrKey::Bits>());
  if (!std::has_single_bit(by) || by >> 62) return "";
  return op->kind() == OpKind::Div
             ? fmt::format("{} >> {}", w.Get(op->operand(0)), std::countr_zero(by))
             : fmt::format("{} & {}l", w.Get(op->operand(0)), by - 1);
}

/// Returns the text that replaces a placeholder in an expression. Returns nothing if the word is not a
/// placeholder.
std::optional<std::string> Meaning(const Writer& w, const Op* op, std::string_view word) {
  Scalar of = op->operand(0)->type()->scalar;
  if (word == "T") return std::string(RegisterType(op->result()->type()->scalar));
  if (word == "U") return std::string(UnsignedOf(of));
  if (word == "W") return Bytes(of) == 8 ? "ulong" : "uint";
  if (word == "M") return std::to_string(8 * Bytes(of) - 1);
  if (word == "a" || word == "b" || word == "c")
    return Operand(w, op->operand(static_cast<size_t>(word[0] - 'a')));
  if (!word.ends_with("_S")) return std::nullopt;
  word.remove_suffix(1);
  return fmt::format("{}{}", word, Suffix(IsNarrowFloat(of) ? Scalar::F32 : of));
}

void WriteRow(Writer& w, const Op* op, std::string_view rest) {
  auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  std::string text;
  while (!rest.empty()) {
    size_t length = static_cast<size_t>(std::ranges::find_if_not(rest, in_word) - rest.begin());
    std::string_view word = rest.substr(0, std::max<size_t>(length, 1));
    bool is_name = length > 0 && !std::isdigit(static_cast<unsigned char>(word[0]));
    text += (is_name ? Meaning(w, op, word) : std::nullopt).value_or(std::string(word));
    rest.remove_prefix(word.size());
  }
  DefineComputed(w, op->result(), text);
}

/// Returns a constant expression with exactly these bits.
std::string ConstantText(Scalar scalar, uint64_t bits) {
  if (scalar == Scalar::Bool) return bits ? "1" : "0";
  if (IsNarrowFloat(scalar)) return fmt::format("({}){:#x}", MemoryType(scalar), bits);
  if (scalar == Scalar::F32) {
    auto value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    return std::isfinite(value) ? fmt::format("{:a}f", value)
                                : fmt::format("as_float({:#x}u)", bits);
  }
  if (scalar == Scalar::F64) {
    auto value = std::bit_cast<double>(bits);
    return std::isfinite(value) ? fmt::format("{:a}", value)
                                : fmt::format("as_double({:#x}ul)", bits);
  }
  if (!IsSigned(scalar)) return fmt::format("({}){}ul", RegisterType(scalar), bits);
  auto value = static_cast<int64_t>(bits);
  int shift = 64 - 8 * static_cast<int>(Bytes(scalar));
  value = static_cast<int64_t>(bits << shift) >> shift;
  if (value == std::numeric_limits<int64_t>::min()) return "LONG_MIN";
  return scalar == Scalar::I64 ? fmt::format("{}l", value)
                               : fmt::format("({}){}", RegisterType(scalar), value);
}

std::string CastText(const Writer& w, const Op* op) {
  Scalar from = op->operand(0)->type()->scalar;
  Scalar to = op->result()->type()->scalar;
  std::string value(w.Get(op->operand(0)));
  if (from == to) return value;
  if (IsNarrowFloat(from)) {
    value = Operand(w, op->operand(0));
    from = Scalar::F32;
    if (to == from) return value;
  }
  if (to == Scalar::Bool) return fmt::format("{} != 0", value);
  if (IsNarrowFloat(to)) {
    // Values of these types convert to f32 exactly. Other values are first rounded to odd, so that rounding
    // twice gives the same result as rounding once.
    bool fits = from == Scalar::F32 || from == Scalar::Bool || Bytes(from) <= 2;
    if (fits) return fmt::format("kdl_{}_of_f32((float){})", Suffix(to), value);
    std::string wide = Bytes(from) == 8 && !IsFloat(from)
                           ? fmt::format("kdl_odd_{}({})", Suffix(from), value)
                           : fmt::format("(double){}", value);
    return fmt::format("kdl_{}_of_f32(kdl_odd_f32({}))", Suffix(to), wide);
  }
  if (IsFloat(from) && !IsFloat(to))
    return fmt::format("kdl_{}_of_{}({})", Suffix(to), Suffix(from), value);
  return fmt::format("({}){}", RegisterType(to), value);
}

void WriteConst(Writer& w, const Op* op) {
  std::string text = ConstantText(op->result()->type()->scalar,
                                  static_cast<uint64_t>(op->attr<ir::AttrKey::Bits>()));
  w.values[op->result()] = text.starts_with('-') ? "(" + text + ")" : text;
}

void WriteSelect(Writer& w, const Op* op) {
  w.Define(op->result(), fmt::format("{} ? {} : {}", w.Get(op->operand(0)), w.Get(op->operand(1)),
                                     w.Get(op->operand(2))));
}

void WriteCast(Writer& w, const Op* op) { w.Define(op->result(), CastText(w, op)); }

void WriteToBits(Writer& w, const Op* op) {
  w.Define(op->result(), fmt::format("kdl_bits_{}({})", Suffix(op->operand(0)->type()->scalar),
                                     w.Get(op->operand(0))));
}

void WriteFromBits(Writer& w, const Op* op) {
  w.Define(op->result(), fmt::format("as_{}({})", RegisterType(op->result()->type()->scalar),
                                     w.Get(op->operand(0))));
}

}  // namespace

void WriteExpression(Writer& w, const Op* op) {
  Scalar of = op->operand(0)->type()->scalar;
  const Row* row = FindRow(op->kind(), Info(of).group);
  KDL_CHECK(row, "'{}' of {} cannot be written in C", op->info().spelling, Spelling(of));
  if (std::string simple = DivisionText(w, op); !simple.empty())
    return w.Define(op->result(), simple);
  if (MayTrap(op))
    TrapUnless(w, fmt::format("{} != 0", w.Get(op->operand(1))), op, KDL_TRAP_DIVISION, "0", "0");
  WriteRow(w, op, row->text);
}

KDL_WRITE(Const, WriteConst)
KDL_WRITE(Select, WriteSelect)
KDL_WRITE(Cast, WriteCast)
KDL_WRITE(ToBits, WriteToBits)
KDL_WRITE(FromBits, WriteFromBits)

}  // namespace kdl::codegen::opencl
