#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "codegen/c_source/writer.h"
#include "codegen/common/workgroup.h"
#include "ir/op_table.h"
#include "kdl/kernel_abi.h"
#include "support/check.h"

// Writes elementwise ops on scalars and vectors. A float below f32 is widened to f32, which represents it exactly,
// and the result is rounded back.

namespace kdl::codegen::c_source {

namespace {

using ir::AttrKey;

/// The C operator of an op, if C's operator has the op's meaning for floats, or for bools that are vectors.
std::string_view OperatorOf(OpKind kind) {
  switch (kind) {
    case OpKind::Add:
      return "+";
    case OpKind::Sub:
      return "-";
    case OpKind::Mul:
      return "*";
    case OpKind::Div:
      return "/";
    case OpKind::And:
      return "&";
    case OpKind::Or:
      return "|";
    case OpKind::Xor:
      return "^";
    case OpKind::Eq:
      return "==";
    case OpKind::Ne:
      return "!=";
    case OpKind::Lt:
      return "<";
    case OpKind::Le:
      return "<=";
    case OpKind::Gt:
      return ">";
    case OpKind::Ge:
      return ">=";
    default:
      return "";
  }
}

bool IsComparison(OpKind kind) {
  return kind == OpKind::Eq || kind == OpKind::Ne || kind == OpKind::Lt || kind == OpKind::Le ||
         kind == OpKind::Gt || kind == OpKind::Ge;
}

/// The type in which an op on `scalar` computes.
Scalar Computed(Scalar scalar) { return IsNarrowFloat(scalar) ? Scalar::F32 : scalar; }

/// Returns an operand in the type in which the op computes.
std::string Operand(Writer& w, const Op* op, size_t i, int64_t lanes) {
  const ir::Value* value = op->operand(i);
  Scalar scalar = value->type()->scalar;
  std::string text = w.Lanes(value, lanes);
  if (!IsNarrowFloat(scalar)) return text;
  return fmt::format("{}({})", w.helpers.Conversion(scalar, Scalar::F32, lanes), text);
}

void DefineComputed(Writer& w, const Op* op, const std::string& expression, int64_t lanes) {
  Scalar scalar = op->result()->type()->scalar;
  w.Define(op->result(),
           IsNarrowFloat(scalar)
               ? fmt::format("{}({})", w.helpers.Conversion(Scalar::F32, scalar, lanes), expression)
               : expression);
}

/// Returns the function that applies C's operator to vectors. Its results are bools if it compares.
std::string OperatorFunction(Writer& w, const Op* op, Scalar scalar, int64_t lanes, int mask_bits) {
  return w.helpers.Operator(op->info().spelling, OperatorOf(op->kind()), scalar, lanes, mask_bits,
                            IsComparison(op->kind()));
}

void WriteComparison(Writer& w, const Op* op, int64_t lanes) {
  Scalar of = op->operand(0)->type()->scalar;
  std::string_view sign = OperatorOf(op->kind());
  if (lanes == 1)
    return w.Define(op->result(),
                    fmt::format("{} {} {}", Operand(w, op, 0, 1), sign, Operand(w, op, 1, 1)));
  int bits = 8 * Bytes(Computed(of));
  std::string operands;
  if (of == Scalar::Bool) {
    bits = std::max(w.At(op->operand(0)).mask_bits, w.At(op->operand(1)).mask_bits);
    if (bits == 0) bits = 32;
    operands = fmt::format("{}, {}", w.Lanes(op->operand(0), lanes, bits),
                           w.Lanes(op->operand(1), lanes, bits));
  } else {
    operands = fmt::format("{}, {}", Operand(w, op, 0, lanes), Operand(w, op, 1, lanes));
  }
  int mask_bits = of == Scalar::Bool ? bits : 0;
  w.Define(op->result(),
           fmt::format("{}({})", OperatorFunction(w, op, Computed(of), lanes, mask_bits), operands),
           bits);
}

/// Ops on vectors of bools, whose lanes are 0 or -1.
bool WriteMasks(Writer& w, const Op* op, int64_t lanes) {
  struct Row {
    OpKind kind;
    std::string_view name;
    std::string_view sign;
  };
  static constexpr Row kMasks[] = {{OpKind::Min, "and", "&"},
                                   {OpKind::Max, "or", "|"},
                                   {OpKind::And, "and", "&"},
                                   {OpKind::Or, "or", "|"},
                                   {OpKind::Xor, "xor", "^"}};
  int bits = 0;
  for (const ir::Value* operand : op->operands()) bits = std::max(bits, w.At(operand).mask_bits);
  if (bits == 0) bits = 32;
  auto get = [&](size_t i) { return w.Lanes(op->operand(i), lanes, bits); };
  if (op->kind() == OpKind::Not) {
    w.Define(op->result(), fmt::format("{}({})", w.helpers.MaskNot(bits, lanes), get(0)), bits);
    return true;
  }
  const auto* row = std::ranges::find(kMasks, op->kind(), &Row::kind);
  if (row == std::end(kMasks)) return false;
  std::string function = w.helpers.MaskOperator(row->name, row->sign, bits, lanes);
  w.Define(op->result(), fmt::format("{}({}, {})", function, get(0), get(1)), bits);
  return true;
}

void WriteSelect(Writer& w, const Op* op, int64_t lanes) {
  const ir::Value* condition = op->operand(0);
  Scalar scalar = op->result()->type()->scalar;
  bool is_mask = lanes > 1 && scalar == Scalar::Bool;
  int bits = is_mask ? std::max({w.At(op->operand(1)).mask_bits, w.At(op->operand(2)).mask_bits,
                                 w.At(condition).mask_bits, 8})
                     : 8 * Bytes(scalar);
  std::string a = w.Lanes(op->operand(1), lanes, bits);
  std::string b = w.Lanes(op->operand(2), lanes, bits);
  if (lanes == 1 || !ir::IsVector(condition->type()))
    return w.Define(op->result(), fmt::format("{} ? {} : {}", w.Get(condition), a, b), bits);
  std::string mask = w.Lanes(condition, lanes, bits);
  w.Define(op->result(),
           fmt::format("{}({}, {}, {})", w.helpers.Select(scalar, lanes, bits), mask, a, b),
           is_mask ? bits : 0);
}

/// The lanes of a vector of bools are 0 or -1.
void WriteCastOfBools(Writer& w, const Op* op, Scalar to, int64_t lanes) {
  Scalar same = Bytes(to) == 1   ? Scalar::I8
                : Bytes(to) == 2 ? Scalar::I16
                : Bytes(to) == 4 ? Scalar::I32
                                 : Scalar::I64;
  Scalar of = IsInteger(to) ? to : same;
  std::string ones = fmt::format("{}({})", w.helpers.BoolsToIntegers(of, lanes),
                                 w.Lanes(op->operand(0), lanes, 8 * Bytes(to)));
  w.Define(op->result(),
           of == to ? ones : fmt::format("{}({})", w.helpers.Conversion(of, to, lanes), ones));
}

void WriteCast(Writer& w, const Op* op, int64_t lanes) {
  const ir::Value* value = op->operand(0);
  Scalar from = value->type()->scalar;
  Scalar to = op->result()->type()->scalar;
  if (from == to) {
    w.values[op->result()] = w.At(value);
    return;
  }
  if (lanes == 1)
    return w.Define(op->result(),
                    fmt::format("{}({})", w.helpers.Conversion(from, to), w.Get(value)));
  if (from == Scalar::Bool) return WriteCastOfBools(w, op, to, lanes);
  std::string text = w.Lanes(value, lanes);
  if (to != Scalar::Bool)
    return w.Define(op->result(),
                    fmt::format("{}({})", w.helpers.Conversion(from, to, lanes), text));
  if (IsNarrowFloat(from)) {
    text = fmt::format("{}({})", w.helpers.Conversion(from, Scalar::F32, lanes), text);
    from = Scalar::F32;
  }
  w.Define(op->result(), fmt::format("{}({})", w.helpers.HasValue(from, lanes), text),
           8 * Bytes(from));
}

void WriteBits(Writer& w, const Op* op, int64_t lanes) {
  std::string_view name = op->kind() == OpKind::ToBits ? "to_bits" : "from_bits";
  Scalar scalar = op->operand(0)->type()->scalar;
  std::string text = w.Lanes(op->operand(0), lanes);
  if (lanes == 1 || op->kind() == OpKind::ToBits)
    return w.Define(op->result(),
                    fmt::format("{}({})", w.helpers.Function(name, scalar, lanes), text));
  std::string function = w.helpers.FromBits(scalar, op->result()->type()->scalar, lanes);
  w.Define(op->result(), fmt::format("{}({})", function, text));
}

/// Whether C's operator has the op's meaning: floats always round once, since the file must be compiled without
/// contraction.
bool IsOperator(OpKind kind, Scalar scalar) {
  return IsFloat(scalar) &&
         (kind == OpKind::Add || kind == OpKind::Sub || kind == OpKind::Mul || kind == OpKind::Div);
}

/// Returns the function for a product that must be rounded before it is added. gcc 12 fuses products with neighboring
/// additions and subtractions when it vectorizes loops, even with -ffp-contract=off.
std::string RoundedProduct(Writer& w, Scalar scalar) {
  std::string name = fmt::format("kdl_rounded_product_{}", Spelling(scalar));
  w.helpers.Define(
      "KDL_ROUNDED",
      "// gcc 12 fuses products with additions and subtractions when it vectorizes, even with "
      "-ffp-contract=off.\n"
      "#if !defined(__GNUC__) || defined(__clang__)\n"
      "#define KDL_ROUNDED(a)\n"
      "#elif defined(__x86_64__)\n"
      "#define KDL_ROUNDED(a) __asm__(\"\" : \"+x\"(a))\n"
      "#elif defined(__aarch64__)\n"
      "#define KDL_ROUNDED(a) __asm__(\"\" : \"+w\"(a))\n"
      "#else\n"
      "#define KDL_ROUNDED(a) __asm__(\"\" : \"+m\"(a))\n"
      "#endif\n");
  std::string_view type = VariableType(scalar);
  w.helpers.Define(name, fmt::format("static inline {0} {1}({0} a, {0} b) {{\n"
                                     "  {0} r = a * b;\n"
                                     "  KDL_ROUNDED(r);\n"
                                     "  return r;\n"
                                     "}}\n",
                                     type, name));
  return name;
}

bool IsAdded(const ir::Value* value) {
  return std::ranges::any_of(value->uses(), [](const ir::Use& use) {
    return use.user->kind() == OpKind::Add || use.user->kind() == OpKind::Sub;
  });
}

/// Returns the scalar from which all lanes of a value are copied, or null.
const ir::Value* CopiedScalar(const ir::Value* value) {
  if (!ir::IsVector(value->type())) return value;
  const Op* def = value->def();
  return def && def->kind() == OpKind::Splat ? def->operand(0) : nullptr;
}

/// Writes a shift of all lanes by the same number. Returns false if the op is another one.
bool WriteShiftByScalar(Writer& w, const Op* op, int64_t lanes) {
  bool shifts = op->kind() == OpKind::Shl || op->kind() == OpKind::Shr;
  if (!shifts || lanes == 1) return false;
  const ir::Value* by = CopiedScalar(op->operand(1));
  if (!by) return false;
  Scalar scalar = op->operand(0)->type()->scalar;
  w.Define(op->result(),
           fmt::format("{}({}, {})", w.helpers.ShiftByScalar(op->info().spelling, scalar, lanes),
                       w.Lanes(op->operand(0), lanes), w.Get(by)));
  return true;
}

void WriteComputed(Writer& w, const Op* op, int64_t lanes) {
  Scalar scalar = Computed(op->operand(0)->type()->scalar);
  if (op->kind() == OpKind::Mul && IsFloat(scalar) && lanes == 1 && IsAdded(op->result())) {
    return DefineComputed(w, op,
                          fmt::format("{}({}, {})", RoundedProduct(w, scalar), Operand(w, op, 0, 1),
                                      Operand(w, op, 1, 1)),
                          1);
  }
  if (IsOperator(op->kind(), scalar) && lanes == 1) {
    return DefineComputed(w, op,
                          fmt::format("{} {} {}", Operand(w, op, 0, lanes), OperatorOf(op->kind()),
                                      Operand(w, op, 1, lanes)),
                          lanes);
  }
  std::string operands;
  for (size_t i = 0; i < op->operands().size(); ++i)
    operands += (i > 0 ? ", " : "") + Operand(w, op, i, lanes);
  if (IsOperator(op->kind(), scalar)) {
    return DefineComputed(
        w, op, fmt::format("{}({})", OperatorFunction(w, op, scalar, lanes, 0), operands), lanes);
  }
  if (op->kind() == OpKind::Neg && IsFloat(scalar)) {
    if (lanes == 1) return DefineComputed(w, op, "-" + operands, lanes);
    return DefineComputed(w, op, fmt::format("{}({})", w.helpers.Negation(scalar, lanes), operands),
                          lanes);
  }
  std::string function = w.helpers.Function(op->info().spelling, scalar, lanes);
  DefineComputed(w, op, fmt::format("{}({})", function, operands), lanes);
}

/// Whether the divisor of an integer division may be 0. Divisions that passes create have no text: their divisors are
/// numbers of cores, blocks or elements, which are at least 1.
bool MayTrapOnZero(const Op* op) {
  return (op->kind() == OpKind::Div || op->kind() == OpKind::Rem) &&
         !IsFloat(op->result()->type()->scalar) && op->HasAttr(AttrKey::Text) && MayTrap(op);
}

void CheckDivisor(Writer& w, const Op* op) {
  const ir::Value* divisor = op->operand(1);
  int64_t lanes = ir::Lanes(divisor->type());
  if (lanes == 1)
    return TrapUnless(w, fmt::format("{} != 0", w.Get(divisor)), op, KDL_TRAP_DIVISION);
  std::string name = w.helpers.HasZero(divisor->type()->scalar, lanes);
  TrapUnless(w, fmt::format("!{}({})", name, w.Get(divisor)), op, KDL_TRAP_DIVISION);
}

}  // namespace

std::string ConstantText(Scalar scalar, uint64_t bits) {
  if (scalar == Scalar::Bool) return bits != 0 ? "1" : "0";
  if (scalar == Scalar::F32) {
    auto value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (std::isnan(value)) return "NAN";
    if (std::isinf(value)) return value > 0 ? "INFINITY" : "(-INFINITY)";
    return fmt::format("{}{:a}f{}", std::signbit(value) ? "(" : "", value,
                       std::signbit(value) ? ")" : "");
  }
  if (scalar == Scalar::F64) {
    auto value = std::bit_cast<double>(bits);
    if (std::isnan(value)) return "((double)NAN)";
    if (std::isinf(value)) return value > 0 ? "((double)INFINITY)" : "(-(double)INFINITY)";
    return fmt::format("{}{:a}{}", std::signbit(value) ? "(" : "", value,
                       std::signbit(value) ? ")" : "");
  }
  if (IsNarrowFloat(scalar)) return fmt::format("(({}){:#x})", MemoryType(scalar), bits);
  int width = 8 * Bytes(scalar);
  if (!IsSigned(scalar))
    return width == 64 ? fmt::format("UINT64_C({})", bits)
                       : fmt::format("{}u", bits << (64 - width) >> (64 - width));
  int64_t value = static_cast<int64_t>(bits << (64 - width)) >> (64 - width);
  if (value == std::numeric_limits<int64_t>::min()) return "INT64_MIN";
  if (value == std::numeric_limits<int32_t>::min() && width == 32) return "INT32_MIN";
  bool is_long = value > INT32_MAX || value < INT32_MIN;
  std::string text = is_long ? fmt::format("INT64_C({})", value) : fmt::format("{}", value);
  return value < 0 ? "(" + text + ")" : text;
}

bool WriteElementwise(Writer& w, const Op* op) {
  OpKind kind = op->kind();
  if (kind == OpKind::Const) {
    Scalar scalar = op->result()->type()->scalar;
    w.values[op->result()] = {
        ConstantText(scalar, static_cast<uint64_t>(op->attr<AttrKey::Bits>())), 0};
    return true;
  }
  if (!op->info().has(ir::kElementwise) || op->results().size() != 1) return false;
  int64_t lanes = ir::Lanes(op->result()->type());
  if (MayTrapOnZero(op)) CheckDivisor(w, op);
  if (op->result()->uses().empty()) return true;
  if (kind == OpKind::Select) {
    WriteSelect(w, op, lanes);
  } else if (kind == OpKind::Cast) {
    WriteCast(w, op, lanes);
  } else if (kind == OpKind::ToBits || kind == OpKind::FromBits) {
    WriteBits(w, op, lanes);
  } else if (IsComparison(kind)) {
    WriteComparison(w, op, lanes);
  } else if (lanes > 1 && op->result()->type()->scalar == Scalar::Bool) {
    return WriteMasks(w, op, lanes);
  } else if (!WriteShiftByScalar(w, op, lanes)) {
    WriteComputed(w, op, lanes);
  }
  return true;
}

}  // namespace kdl::codegen::c_source
