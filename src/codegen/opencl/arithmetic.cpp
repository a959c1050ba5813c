#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "codegen/opencl/writer.h"
#include "ir/op_table.h"
#include "kdl/kernel_abi.h"
#include "support/check.h"

// Elementwise ops, one expression each. A float below f32 is widened to that, which holds it exactly, and the result rounded back.

namespace kdl::codegen::opencl {

namespace {

using ir::Op;
using ir::OpKind;

/// How an op reads, for floats, signed and unsigned integers (bool among them): {0} {1} {2} are the operands, {T} the result's
/// type, {U} its unsigned one, {S} the operand's suffix.
struct Row {
  OpKind kind;
  std::string_view of_float;
  std::string_view of_signed;
  std::string_view of_unsigned;
};

constexpr std::string_view kNone = "";
constexpr Row kRows[] = {
    {OpKind::Add, "{0} + {1}", "({T})(({U}){0} + ({U}){1})", "({T})({0} + {1})"},
    {OpKind::Sub, "{0} - {1}", "({T})(({U}){0} - ({U}){1})", "({T})({0} - {1})"},
    {OpKind::Mul, "{0} * {1}", "({T})(({W}){0} * ({W}){1})", "({T})(({W}){0} * ({W}){1})"},
    {OpKind::Neg, "-{0}", "({T})(0 - ({U}){0})", "({T})(0 - {0})"},
    {OpKind::Div, "{0} / {1}", "kdl_div_{S}({0}, {1})", "{0} / ({1} ? {1} : 1)"},
    {OpKind::Rem, kNone, "kdl_rem_{S}({0}, {1})", "{0} % ({1} ? {1} : 1)"},
    {OpKind::Min, "kdl_min_{S}({0}, {1})", "({0} < {1} ? {0} : {1})", "({0} < {1} ? {0} : {1})"},
    {OpKind::Max, "kdl_max_{S}({0}, {1})", "({0} > {1} ? {0} : {1})", "({0} > {1} ? {0} : {1})"},
    {OpKind::And, kNone, "({T})({0} & {1})", "({T})({0} & {1})"},
    {OpKind::Or, kNone, "({T})({0} | {1})", "({T})({0} | {1})"},
    {OpKind::Xor, kNone, "({T})({0} ^ {1})", "({T})({0} ^ {1})"},
    {OpKind::Not, kNone, "({T})~{0}", "({T})~{0}"},
    {OpKind::Shl, kNone, "({T})(({U}){0} << ({1} & {M}))", "({T})({0} << ({1} & {M}))"},
    {OpKind::Shr, kNone, "({T})({0} >> ({1} & {M}))", "({T})({0} >> ({1} & {M}))"},
    {OpKind::Eq, "{0} == {1}", "{0} == {1}", "{0} == {1}"},
    {OpKind::Ne, "{0} != {1}", "{0} != {1}", "{0} != {1}"},
    {OpKind::Lt, "KDL_SEEN_{S}({0}) < {1}", "{0} < {1}", "{0} < {1}"},
    {OpKind::Le, "KDL_SEEN_{S}({0}) <= {1}", "{0} <= {1}", "{0} <= {1}"},
    {OpKind::Gt, "KDL_SEEN_{S}({0}) > {1}", "{0} > {1}", "{0} > {1}"},
    {OpKind::Ge, "KDL_SEEN_{S}({0}) >= {1}", "{0} >= {1}", "{0} >= {1}"},
    {OpKind::Fma, "fma({0}, {1}, {2})", kNone, kNone},
    {OpKind::Flush, "kdl_flush({0})", kNone, kNone},
    {OpKind::Tf32, "kdl_tf32({0})", kNone, kNone},
    {OpKind::FmaFlush, "kdl_fma_flush({0}, {1}, {2})", kNone, kNone},
    {OpKind::Abs, "fabs({0})", "({T})({0} < 0 ? 0 - ({U}){0} : ({U}){0})", "{0}"},
    {OpKind::Floor, "floor({0})", kNone, kNone},
    {OpKind::Ceil, "ceil({0})", kNone, kNone},
    {OpKind::Round, "rint({0})", kNone, kNone},
    {OpKind::Sqrt, "sqrt({0})", kNone, kNone},
};

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

void Replace(std::string& text, std::string_view what, std::string_view by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

/// An operand as it is computed with.
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

/// Of an i64 by a constant power of two, downwards; empty: it is none.
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

static_assert(ir::CoverOnce(kRows, HasExpression), "each op of scalars has an expression");

void WriteRow(Writer& w, const Op* op, const Row& row) {
  Scalar of = op->operand(0)->type()->scalar;
  Scalar computed = IsNarrowFloat(of) ? Scalar::F32 : of;
  Scalar result = op->result()->type()->scalar;
  std::string text(IsFloat(of) ? row.of_float : IsSigned(of) ? row.of_signed : row.of_unsigned);
  KDL_CHECK(!text.empty(), "'{}' of {}", op->info().spelling, Spelling(of));
  if (of == Scalar::Bool && op->kind() == OpKind::Not) text = "!{0}";
  if (std::string simple = DivisionText(w, op); !simple.empty())
    return w.Define(op->result(), simple);
  if (MayTrap(op))
    TrapUnless(w, fmt::format("{} != 0", w.Get(op->operand(1))), op, KDL_TRAP_DIVISION, "0", "0");
  for (size_t i = 0; i < op->operands().size(); ++i)
    Replace(text, fmt::format("{{{}}}", i), Operand(w, op->operand(i)));
  Replace(text, "{T}", RegisterType(result));
  Replace(text, "{U}", UnsignedOf(of));
  Replace(text, "{W}", Bytes(of) == 8 ? "ulong" : "uint");
  Replace(text, "{S}", Suffix(computed));
  Replace(text, "{M}", fmt::format("{}", 8 * Bytes(of) - 1));
  DefineComputed(w, op->result(), text);
}

/// A value that reads back as the bits.
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
    // f32 rounds once where it holds the value; else an f64 that has never been rounded to even does.
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
  WriteRow(w, op, *std::ranges::find(kRows, op->kind(), &Row::kind));
}

KDL_WRITE(Const, WriteConst)
KDL_WRITE(Select, WriteSelect)
KDL_WRITE(Cast, WriteCast)
KDL_WRITE(ToBits, WriteToBits)
KDL_WRITE(FromBits, WriteFromBits)

}  // namespace kdl::codegen::opencl
