#include "codegen/orchestration/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "codegen/orchestration/interface.h"
#include "codegen/orchestration/writer.h"
#include "ir/attr.h"
#include "ir/lookup.h"
#include "ir/op.h"
#include "ir/op_table.h"
#include "support/check.h"
#include "support/names.h"
#include "support/scalar.h"
#include "support/size.h"

namespace kdl::codegen {

namespace {

using ir::OpKind;

struct FloatText {
  OpKind kind;
  std::string_view text;
};
constexpr FloatText kFloatTexts[] = {
#define KDL_FLOATS(Name, name, arity, expression) {OpKind::Name, #expression},
#include "kdl/scalar_ops.def"
};

/// Returns the infix operator if the text for the op on floats is a binary expression such as `a + b`;
/// otherwise an empty string.
consteval std::string_view InfixOf(OpKind kind) {
  for (const FloatText& row : kFloatTexts) {
    bool is_infix = row.text.starts_with("a ") && row.text.ends_with(" b");
    if (row.kind == kind && is_infix) return row.text.substr(2, row.text.size() - 4);
  }
  return "";
}

struct Row {
  OpKind kind;
  Operator op;
};

constexpr Row kRows[] = {
#define KDL_SCALAR_OP(Name, name, arity) {OpKind::Name, {#Name, #name, InfixOf(OpKind::Name)}},
#define KDL_COMPARISON(Name, sign) {OpKind::Name, {"", "", #sign}},
#include "kdl/scalar_ops.def"
};

/// Returns whether `Definition` prints the op in a form of its own, rather than as a function call or an
/// operator.
constexpr bool HasForm(OpKind kind) {
  return kind == OpKind::Broadcast || kind == OpKind::Snapshot || kind == OpKind::Select ||
         kind == OpKind::Cast;
}
static_assert(ir::CoverOnce(kRows,
                            [](const ir::OpInfo& info) {
                              return info.is_in(ir::kPrograms) && info.is_computed() &&
                                     !HasForm(info.kind);
                            }),
              "each elementwise op of programs has a function or an operator");

const Operator& OperatorOf(const ir::Op* op) {
  auto row = std::find_if(std::begin(kRows), std::end(kRows),
                          [&](const Row& r) { return r.kind == op->kind(); });
  KDL_CHECK(row != std::end(kRows), "'{}' cannot compute a scalar of a program",
            op->info().spelling);
  return row->op;
}

}  // namespace

std::string DivisionTrap(const ir::Op* op) {
  bool divides = op->kind() == OpKind::Div || op->kind() == OpKind::Rem;
  if (!divides || !IsInteger(op->operand(0)->type()->scalar)) return "";
  if (ir::ConstantOf(op->operand(1)).value_or(0) != 0) return "";
  // The divisions of the compiler itself have no text.
  std::string where = op->HasAttr(ir::AttrKey::Text)
                          ? fmt::format(" in '{}'", op->attr<ir::AttrKey::Text>().text())
                          : "";
  return Quoted(fmt::format("{}: error: division by zero{}", PlaceText(op->loc()), where));
}

// -- Literals -------------------------------------------------------------------------------------

std::string IntegerText(Scalar scalar, uint64_t bits) {
  if (!IsSigned(scalar))
    return std::to_string(bits) + (bits > static_cast<uint64_t>(INT64_MAX) ? "U" : "");
  int unused = 64 - Bytes(scalar) * 8;
  int64_t value = static_cast<int64_t>(bits << unused) >> unused;
  return value == INT64_MIN   ? "INT64_MIN"
         : value == INT32_MIN ? "INT32_MIN"
                              : std::to_string(value);
}

std::string ConstantSizeText(Size size) {
  return IntegerText(Scalar::I64, static_cast<uint64_t>(size->value));
}

std::optional<std::string> FloatText(Scalar scalar, uint64_t bits) {
  bool is_double = scalar == Scalar::F64;
  auto single = std::bit_cast<float>(static_cast<uint32_t>(bits));
  if (!(is_double ? std::isfinite(std::bit_cast<double>(bits)) : std::isfinite(single)))
    return std::nullopt;
  std::string text =
      is_double ? fmt::format("{}", std::bit_cast<double>(bits)) : fmt::format("{}", single);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + (is_double ? "" : "F");
}

std::string BitsText(Scalar scalar, uint64_t bits) {
  return scalar == Scalar::F64 ? std::to_string(static_cast<int64_t>(bits))
                               : std::to_string(static_cast<int32_t>(static_cast<uint32_t>(bits)));
}

// -- Operations -----------------------------------------------------------------------------------

/// Returns an operand in the type in which the op computes. For narrow floats, this type is float.
std::string Expressions::Operand(const ir::Op* op, size_t i, LiteralStyle style) const {
  const ir::Value* value = op->operand(i);
  Scalar scalar = value->type()->scalar;
  if (!IsNarrowFloat(scalar)) return Text(value, style);
  return syntax_.Cast(Scalar::F32, scalar, Text(value, LiteralStyle::Typed));
}

std::string Expressions::Compared(const ir::Op* op, const Operator& row) const {
  Scalar scalar = op->operand(0)->type()->scalar;
  std::string first = Operand(op, 0, LiteralStyle::Typed);
  LiteralStyle style = IsSigned(scalar) ? LiteralStyle::Plain : LiteralStyle::Typed;
  std::string second = Operand(op, 1, style);
  // Compilers warn if an expression is compared with itself, so one side is cast.
  bool compares = row.cpp.empty();
  if (compares && first == second) {
    Scalar computed = IsNarrowFloat(scalar) ? Scalar::F32 : scalar;
    first = syntax_.Cast(computed, computed, first);
  }
  if (compares && IsFloat(scalar) && row.infix != "==" && row.infix != "!=")
    first = syntax_.Apply({"Seen", "seen", ""}, IsNarrowFloat(scalar) ? Scalar::F32 : scalar,
                          {first}, "");
  return fmt::format("({} {} {})", first, row.infix, second);
}

std::string Expressions::Apply(const ir::Op* op) const {
  const Operator& row = OperatorOf(op);
  Scalar scalar = op->operand(0)->type()->scalar;
  if (!row.infix.empty() && (row.cpp.empty() || IsFloat(scalar))) return Compared(op, row);
  std::vector<std::string> operands = {Operand(op, 0, LiteralStyle::Typed)};
  for (size_t i = 1; i < op->operands().size(); ++i)
    operands.push_back(Operand(op, i, LiteralStyle::Plain));
  return syntax_.Apply(row, IsNarrowFloat(scalar) ? Scalar::F32 : scalar, std::move(operands),
                       DivisionTrap(op));
}

std::string Expressions::Definition(const ir::Op* op) const {
  Scalar result = op->result()->type()->scalar;
  auto at = [&](size_t i) { return Text(op->operand(i), LiteralStyle::Typed); };
  switch (op->kind()) {
    case OpKind::Const:
      return syntax_.Literal(result, static_cast<uint64_t>(op->attr<ir::AttrKey::Bits>()),
                             LiteralStyle::Typed);
    case OpKind::Broadcast:
    case OpKind::Snapshot:
      return at(0);
    case OpKind::Select:
      return fmt::format("({} ? {} : {})", at(0), at(1), at(2));
    case OpKind::Cast:
      return syntax_.Cast(result, op->operand(0)->type()->scalar, at(0));
    default:
      break;
  }
  std::string text = Apply(op);
  return IsNarrowFloat(result) ? syntax_.Cast(result, Scalar::F32, text) : text;
}

std::string Expressions::Text(const ir::Value* value, LiteralStyle style) const {
  if (std::optional<std::string> name = variable_(value)) return *name;
  const ir::Op* def = value->def();
  KDL_CHECK(def, "the parameter '{}' has no variable", value->name().text());
  if (def->kind() != OpKind::Const) return Definition(def);
  return syntax_.Literal(value->type()->scalar,
                         static_cast<uint64_t>(def->attr<ir::AttrKey::Bits>()), style);
}

std::string SizeExpression(Size size, const DimName& dim, ir::Loc loc, const Syntax& syntax) {
  if (size->kind == SizeKind::Constant) return ConstantSizeText(size);
  if (size->kind == SizeKind::Symbol) return dim(size->symbol);
  std::string trap = fmt::format("{}: error: {}", PlaceText(loc), NoValueText(size));
  return syntax.SizeText(size, dim, Quoted(trap));
}

std::string PlaceText(ir::Loc loc) {
  if (loc.line == 0) return "an op without a location";
  return fmt::format("{}:{}:{}", loc.file.text(), loc.line, loc.column);
}

}  // namespace kdl::codegen
