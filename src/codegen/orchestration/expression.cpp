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
#include "ir/op.h"
#include "ir/op_table.h"
#include "support/check.h"
#include "support/names.h"
#include "support/scalar.h"
#include "support/size.h"

namespace kdl::codegen {

namespace {

using ir::OpKind;

/// `function` of kdl/scalar.hpp; `infix` where C++'s operator is the same on every type (comparisons) or on floats.
struct Row {
  OpKind kind;
  std::string_view function;
  std::string_view infix;
};

constexpr Row kRows[] = {
    {OpKind::Add, "kdl::Add", "+"},
    {OpKind::Sub, "kdl::Sub", "-"},
    {OpKind::Mul, "kdl::Mul", "*"},
    {OpKind::Div, "kdl::Div", "/"},
    {OpKind::Rem, "kdl::Rem", ""},
    {OpKind::Neg, "kdl::Neg", ""},
    {OpKind::Min, "kdl::Min", ""},
    {OpKind::Max, "kdl::Max", ""},
    {OpKind::And, "kdl::And", ""},
    {OpKind::Or, "kdl::Or", ""},
    {OpKind::Xor, "kdl::Xor", ""},
    {OpKind::Not, "kdl::Not", ""},
    {OpKind::Shl, "kdl::Shl", ""},
    {OpKind::Shr, "kdl::Shr", ""},
    {OpKind::Eq, "", "=="},
    {OpKind::Ne, "", "!="},
    {OpKind::Lt, "", "<"},
    {OpKind::Le, "", "<="},
    {OpKind::Gt, "", ">"},
    {OpKind::Ge, "", ">="},
    {OpKind::Fma, "kdl::Fma", ""},
    {OpKind::Abs, "kdl::Abs", ""},
    {OpKind::Floor, "kdl::Floor", ""},
    {OpKind::Ceil, "kdl::Ceil", ""},
    {OpKind::Round, "kdl::Round", ""},
    {OpKind::Sqrt, "kdl::Sqrt", ""},
    {OpKind::ToBits, "kdl::ToBits", ""},
    {OpKind::FromBits, "kdl::FromBits", ""},
};

/// Those that C++ has no function for: Definition says what they are.
constexpr bool HasForm(OpKind kind) {
  return kind == OpKind::Broadcast || kind == OpKind::Snapshot || kind == OpKind::Select ||
         kind == OpKind::Cast;
}
static_assert(ir::CoverOnce(kRows,
                            [](const ir::OpInfo& info) {
                              return info.stands_in(ir::kPrograms) && info.is_computed() &&
                                     !HasForm(info.kind);
                            }),
              "each elementwise op of programs has a function or an operator");

const Row& RowOf(const ir::Op* op) {
  auto row = std::find_if(std::begin(kRows), std::end(kRows),
                          [&](const Row& r) { return r.kind == op->kind(); });
  KDL_CHECK(row != std::end(kRows), "'{}' in a program's scalars", op->info().spelling);
  return *row;
}

// -- Literals -------------------------------------------------------------------------------------

template <class T>
std::string FloatText(T value, std::string_view suffix, std::string_view bits_text) {
  if (!std::isfinite(value)) return fmt::format("kdl::FromBits({})", bits_text);
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + std::string(suffix);
}

std::string FloatLiteral(Scalar scalar, uint64_t bits) {
  if (scalar == Scalar::F64) {
    return FloatText(std::bit_cast<double>(bits), "",
                     fmt::format("std::int64_t{{{}}}", static_cast<int64_t>(bits)));
  }
  if (scalar == Scalar::F32) {
    auto pattern = static_cast<uint32_t>(bits);
    return FloatText(std::bit_cast<float>(pattern), "F",
                     fmt::format("std::int32_t{{{}}}", static_cast<int32_t>(pattern)));
  }
  return fmt::format("{}{{{:#06x}}}", CppType(scalar), bits);
}

int64_t SignedValue(Scalar scalar, uint64_t bits) {
  int unused = 64 - Bytes(scalar) * 8;
  return static_cast<int64_t>(bits << unused) >> unused;
}

std::string IntegerLiteral(Scalar scalar, uint64_t bits, LiteralStyle style) {
  std::string text = std::to_string(bits);
  if (IsSigned(scalar)) {
    int64_t value = SignedValue(scalar, bits);
    text = value == INT64_MIN   ? "INT64_MIN"
           : value == INT32_MIN ? "INT32_MIN"
                                : std::to_string(value);
  } else if (bits > static_cast<uint64_t>(INT64_MAX)) {
    text += "U";
  }
  if (style == LiteralStyle::Plain || scalar == Scalar::I32) return text;
  return fmt::format("{}{{{}}}", CppType(scalar), text);
}

std::string Literal(const ir::Op* op, LiteralStyle style) {
  Scalar scalar = op->result()->type()->scalar;
  auto bits = static_cast<uint64_t>(op->attr<ir::AttrKey::Bits>());
  if (scalar == Scalar::Bool) return bits ? "true" : "false";
  return IsFloat(scalar) ? FloatLiteral(scalar, bits) : IntegerLiteral(scalar, bits, style);
}

// -- Operations -----------------------------------------------------------------------------------

/// An operand in the type in which it is computed with: the narrow floats as float.
std::string Operand(const ir::Op* op, size_t i, const VariableName& variable, LiteralStyle style) {
  const ir::Value* value = op->operand(i);
  bool widens = IsNarrowFloat(value->type()->scalar);
  std::string text = Expression(value, variable, widens ? LiteralStyle::Typed : style);
  return widens ? fmt::format("kdl::As<float>({})", text) : text;
}

std::string Apply(const ir::Op* op, const VariableName& variable) {
  const Row& row = RowOf(op);
  Scalar scalar = op->operand(0)->type()->scalar;
  std::string first = Operand(op, 0, variable, LiteralStyle::Typed);
  bool compares = row.function.empty();
  if (!row.infix.empty() && (compares || IsFloat(scalar))) {
    LiteralStyle style = IsSigned(scalar) ? LiteralStyle::Plain : LiteralStyle::Typed;
    std::string second = Operand(op, 1, variable, style);
    // C++ warns where a value is compared with itself as it stands.
    if (compares && first == second) first = fmt::format("kdl::As<{}>({})", CppType(scalar), first);
    return fmt::format("({} {} {})", first, row.infix, second);
  }
  std::string text = fmt::format("{}({}", row.function, first);
  for (size_t i = 1; i < op->operands().size(); ++i) {
    text += ", " + Operand(op, i, variable, LiteralStyle::Plain);
  }
  bool traps = (op->kind() == OpKind::Div || op->kind() == OpKind::Rem) && IsInteger(scalar);
  const ir::Op* divisor = traps ? op->operand(1)->def() : nullptr;
  bool never = divisor && divisor->kind() == OpKind::Const;  // sema refuses a constant 0
  if (traps && !never) text += ", " + DivisionTrap(op);
  return text + ")";
}

}  // namespace

std::string DivisionTrap(const ir::Op* op) {
  ir::Loc loc = op->loc();
  Name source = op->HasAttr(ir::AttrKey::Text) ? op->attr<ir::AttrKey::Text>() : Name();
  return Quoted(fmt::format("{}: error: division by zero in '{}'", PlaceText(loc), source.text()));
}

std::string Definition(const ir::Op* op, const VariableName& variable) {
  Scalar result = op->result()->type()->scalar;
  auto at = [&](size_t i) { return Expression(op->operand(i), variable, LiteralStyle::Typed); };
  switch (op->kind()) {
    case OpKind::Const:
      return Literal(op, LiteralStyle::Typed);
    case OpKind::Broadcast:
    case OpKind::Snapshot:
      return at(0);
    case OpKind::Select:
      return fmt::format("({} ? {} : {})", at(0), at(1), at(2));
    case OpKind::Cast:
      return fmt::format("kdl::As<{}>({})", CppType(result), at(0));
    default:
      break;
  }
  std::string text = Apply(op, variable);
  return IsNarrowFloat(result) ? fmt::format("kdl::As<{}>({})", CppType(result), text) : text;
}

std::string Expression(const ir::Value* value, const VariableName& variable, LiteralStyle style) {
  if (std::optional<std::string> name = variable(value)) return *name;
  KDL_CHECK(value->def(), "a parameter '{}' without a variable", value->name().text());
  if (value->def()->kind() == OpKind::Const) return Literal(value->def(), style);
  return Definition(value->def(), variable);
}

namespace {

/// Operands that are no leaves have parentheses; the leftmost leaf is a kdl::Extent, which makes all of it one.
std::string SizeSum(Size size, const std::function<std::string(Name)>& dim, bool leftmost) {
  if (size->kind == SizeKind::Constant || size->kind == SizeKind::Symbol) {
    std::string leaf =
        size->kind == SizeKind::Symbol ? dim(size->symbol) : std::to_string(size->value);
    return leftmost ? fmt::format("kdl::Extent({})", leaf) : leaf;
  }
  static constexpr std::string_view kOperators[] = {"+", "-", "*", "/", "%"};
  auto op = kOperators[static_cast<size_t>(size->kind) - static_cast<size_t>(SizeKind::Add)];
  return fmt::format("({} {} {})", SizeSum(size->lhs, dim, true), op,
                     SizeSum(size->rhs, dim, false));
}

}  // namespace

std::string SizeExpression(Size size, const std::function<std::string(Name)>& dim, ir::Loc loc) {
  if (size->kind == SizeKind::Constant) return std::to_string(size->value);
  if (size->kind == SizeKind::Symbol) return dim(size->symbol);
  std::string trap = fmt::format("{}: error: {}", PlaceText(loc), NoValueText(size));
  return fmt::format("{}.Get({})", SizeSum(size, dim, true), Quoted(trap));
}

std::string PlaceText(ir::Loc loc) {
  return fmt::format("{}:{}:{}", loc.file.text(), loc.line, loc.column);
}

}  // namespace kdl::codegen
