#include "sema/types/coerce.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "sema/types/size_arithmetic.h"
#include "sema/walk/quote.h"
#include "sema/walk/resolve.h"
#include "support/float_bits.h"

namespace kdl::sema {

namespace {

using syntax::As;
using syntax::Expr;
using syntax::ExprKind;

/// What an operator uses of a literal operand.
enum class LiteralUse : uint8_t {
  Bits,    ///< only the bits matter, as in `x & 1` and `x + 1`
  Number,  ///< the number matters, as in `x < 1` and `x / 2`
  Count,   ///< the number of bits of a shift or rotation
};

/// Visits the operands that have the same type as the expression, because their types are set together.
void ForEachTyped(const Expr* expr, const std::function<void(const Expr*)>& visit) {
  switch (expr->kind) {
    case ExprKind::Unary:
      return visit(As<syntax::UnaryExpr>(expr).operand);
    case ExprKind::Binary:
      visit(As<syntax::BinaryExpr>(expr).lhs);
      return visit(As<syntax::BinaryExpr>(expr).rhs);
    case ExprKind::If:
      visit(As<syntax::IfExpr>(expr).then_value);
      return visit(As<syntax::IfExpr>(expr).else_value);
    case ExprKind::Call:
      for (const syntax::Arg& arg : As<syntax::CallExpr>(expr).args) visit(arg.value);
      return;
    default:
      return;
  }
}

/// Returns whether a literal is written as bits: in hexadecimal, or with a shift.
bool IsBits(const FunctionState& state, const Expr* expr) {
  const auto* binary = syntax::DynAs<syntax::BinaryExpr>(expr);
  bool shifts = binary != nullptr && binary->op == syntax::BinaryOp::Shl;
  if (shifts || state.Text(expr->span).starts_with("0x")) return true;
  bool is_bits = false;
  ForEachTyped(expr, [&](const Expr* child) { is_bits = is_bits || IsBits(state, child); });
  return is_bits;
}

/// For a literal that exceeds a signed type, suggests the negative number with the same bits. Examples are
/// `1 << 31`, `(1 << 31) + 1` and `0xffffffff` for i32.
std::optional<std::string> SameBitsHelp(const FunctionState& state, const Expr* expr,
                                        const Literal& literal, Scalar scalar) {
  int bits = Info(scalar).bits;
  if (!IsBits(state, expr) || !IsSigned(scalar) || literal.integer < 0 ||
      literal.integer >> bits != 0)
    return std::nullopt;
  const auto* shift = syntax::DynAs<syntax::BinaryExpr>(expr);
  if (shift != nullptr && shift->op == syntax::BinaryOp::Shl)
    return fmt::format("write '{} << {}', which wraps", AsHint(state, shift->lhs, scalar),
                       Quote(state, shift->rhs));
  auto value = static_cast<int64_t>(literal.integer) - (bits == 64 ? 0 : int64_t{1} << bits);
  return fmt::format("write '{}', which has the same bits", value);
}

/// Returns the low bits of a literal that results from `~`, as a value of this type.
int64_t LowBits(const Literal& literal, Scalar scalar) {
  int lost = 64 - Info(scalar).bits;
  uint64_t high = static_cast<uint64_t>(literal.integer) << lost;
  return IsSigned(scalar) ? static_cast<int64_t>(high) >> lost : static_cast<int64_t>(high >> lost);
}

/// Suggests what to write instead of an integer that does not fit an integer type. Returns an empty string if there is
/// no suggestion.
std::string IntegerHelp(const FunctionState& state, const Expr* expr, const Literal& literal,
                        Scalar scalar, LiteralUse use) {
  int bits = Info(scalar).bits;
  if (use == LiteralUse::Count) {
    auto count = static_cast<int>(((literal.integer % bits) + bits) % bits);
    return fmt::format("the count is taken modulo {}: write '{}' if that is intended", bits, count);
  }
  if (literal.flipped && bits < 64)
    return fmt::format("write '{}', its lowest {} bits, if those are intended",
                       LowBits(literal, scalar), bits);
  if (use == LiteralUse::Bits) {
    if (std::optional<std::string> help = SameBitsHelp(state, expr, literal, scalar)) return *help;
  }
  bool widens = bits < 64 && ToInt64(literal).has_value();
  return widens ? "it fits in i64: declare the variable as i64, or convert the other side with "
                  "`as i64`"
                : "";
}

void ReportLiteral(FunctionState& state, const Expr* expr, const Literal& literal, Scalar scalar,
                   LiteralUse use) {
  std::string text = ToString(literal);
  if (literal.is_float && !IsFloat(scalar)) {
    state.diagnostics.Report(diag::FloatLiteralForInteger, expr->span, text, Spelling(scalar))
        .Help(fmt::format("convert the other side to a float with `as`; '{}' would truncate it",
                          AsHint(state, expr, scalar)));
    return;
  }
  Diagnostic& report =
      state.diagnostics.Report(diag::LiteralDoesNotFit, expr->span, text, Spelling(scalar));
  if (!HasArithmetic(scalar) && literal.AsReal() <= 0) {
    report.Help(
        fmt::format("{} contains only powers of two, which are greater than 0", Spelling(scalar)));
  } else if (Info(scalar).format.saturates && IsBeyond(scalar, literal.AsReal())) {
    double largest = LargestValue(scalar);
    report.Help(fmt::format("the largest {} is {}: write '{}{}' if that is intended",
                            Spelling(scalar), largest, literal.AsReal() < 0 ? "-" : "", largest));
  } else if (IsFloat(scalar)) {
    report.Help(literal.is_float
                    ? "write `inf` if infinity is intended"
                    : fmt::format("write '{}' to round it", AsHint(state, expr, scalar)));
  } else if (std::string help = IntegerHelp(state, expr, literal, scalar, use); !help.empty()) {
    report.Help(help);
  }
}

/// Returns whether one pair of parentheses encloses the whole text.
bool IsParenthesized(std::string_view text) {
  if (!text.starts_with('(')) return false;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0) return i + 1 == text.size();
  }
  return false;
}

bool NeedsParentheses(const Expr* expr, std::string_view text) {
  bool loose =
      expr->kind == ExprKind::Unary || expr->kind == ExprKind::Binary || expr->kind == ExprKind::If;
  return loose && !IsParenthesized(text);
}

/// Returns whether the operation is computed in an integer type narrower than `scalar`, so that it may wrap
/// before its result is converted to `scalar`.
bool WrapsFirst(const FunctionState& state, const Expr* expr, Scalar scalar) {
  const auto* binary = syntax::DynAs<syntax::BinaryExpr>(expr);
  bool may_wrap = binary != nullptr && SizeKindOf(binary->op).has_value();  // + - * / %
  auto known = state.fn.exprs.find(expr);
  if (!may_wrap || known == state.fn.exprs.end() || !known->second.type.is_value()) return false;
  Scalar narrow = known->second.type.scalar;
  return IsInteger(narrow) && IsInteger(scalar) && Info(narrow).bits < Info(scalar).bits;
}

/// If a value of type `a` and a value of type `b` are combined, returns whether the second one should be
/// converted to `a`. Otherwise, the first one should be converted to `b`.
bool IsWider(Scalar a, Scalar b) {
  if (IsFloat(a) != IsFloat(b)) return IsFloat(a);
  return Info(a).bits > Info(b).bits;
}

/// Returns the declaration of a name whose type comes from a literal, if that literal also fits the type
/// `scalar`. Otherwise returns null.
const syntax::LetStmt* LiteralDeclaration(const FunctionState& state, const Expr* expr,
                                          Scalar scalar) {
  auto known = state.fn.exprs.find(expr);
  const auto* name = syntax::DynAs<syntax::NameExpr>(expr);
  if (name == nullptr || known == state.fn.exprs.end()) return nullptr;
  const Entity* entity = known->second.entity;
  if (entity == nullptr || entity->of_literal == nullptr) return nullptr;
  auto literal = state.literals.find(entity->of_literal->value);
  bool fits = IsFloat(scalar) || !IsFloat(entity->type.scalar);
  bool known_value = literal != state.literals.end();
  return scalar != Scalar::Bool && fits && known_value ? entity->of_literal : nullptr;
}

/// Returns whether the operation is a shift or rotation. The result has the type of the first operand, and
/// the count is used modulo the number of bits of that type.
bool IsShift(std::string_view what) {
  return what == "<<" || what == ">>" || what == "rotl" || what == "rotr";
}

/// Suggests casts that lose nothing, if one type is signed and cannot represent all values of the other,
/// unsigned type.
std::optional<std::string> SignsHelp(const FunctionState& state, const Expr* a, const Expr* b) {
  Scalar left = state.fn.exprs.at(a).type.scalar;
  Scalar right = state.fn.exprs.at(b).type.scalar;
  if (!IsInteger(left) || !IsInteger(right) || IsSigned(left) == IsSigned(right))
    return std::nullopt;
  int signed_bits = Info(IsSigned(left) ? left : right).bits;
  int unsigned_bits = Info(IsSigned(left) ? right : left).bits;
  if (signed_bits > unsigned_bits) return std::nullopt;
  if (unsigned_bits == 64) {
    return fmt::format("write '{}' if it is never negative, or '{}' if it is below 2^63",
                       AsHint(state, IsSigned(left) ? a : b, Scalar::U64),
                       AsHint(state, IsSigned(left) ? b : a, Scalar::I64));
  }
  Scalar both = unsigned_bits == 8 ? Scalar::I16 : unsigned_bits == 16 ? Scalar::I32 : Scalar::I64;
  return fmt::format("write '{}' and '{}', a type that fits both", AsHint(state, a, both),
                     AsHint(state, b, both));
}

/// In a contract, returns the kernel's variable that has the name of this index, or null.
const Entity* KernelVariable(const FunctionState& state, const Expr* expr) {
  const auto* name = syntax::DynAs<syntax::NameExpr>(expr);
  if (state.contract == nullptr || name == nullptr) return nullptr;
  const Entity* entity = state.fn.exprs.at(expr).entity;
  bool is_index = entity != nullptr && entity->kind == EntityKind::Range;
  return is_index ? DeclaredVariable(state, name->name.text()) : nullptr;
}

void ReportMix(FunctionState& state, const Expr* a, const Expr* b, Span at, std::string_view what) {
  Scalar left = state.fn.exprs[a].type.scalar;
  Scalar right = state.fn.exprs[b].type.scalar;
  Diagnostic& report = state.diagnostics.Report(diag::TypeMix, at, Quote(state, a), Spelling(left),
                                                Quote(state, b), Spelling(right), what);
  for (const Expr* expr : {a, b}) {
    const Entity* variable = KernelVariable(state, expr);
    if (variable == nullptr) continue;
    report.Note(variable->span, "the contract cannot use this variable of the kernel")
        .Help(fmt::format("write its value instead, or define it in the contract: `{} = …;`",
                          variable->name.text()));
    return;
  }
  if (IsShift(what) && IsInteger(left)) {
    report.Help(ConvertHelp(state, b, left));
    return;
  }
  for (auto [expr, scalar] : {std::pair(a, right), std::pair(b, left)}) {
    if (LiteralDeclaration(state, expr, scalar) == nullptr) continue;
    report.Help(ConvertHelp(state, expr, scalar));
    return;
  }
  if (std::optional<std::string> help = SignsHelp(state, a, b)) {
    report.Help(*std::move(help));
    return;
  }
  bool has_bool = left == Scalar::Bool || right == Scalar::Bool;
  bool to_left = (left == Scalar::Bool) == (right == Scalar::Bool) ? IsWider(left, right)
                                                                   : right == Scalar::Bool;
  report.Help(fmt::format("write '{}'{}", AsHint(state, to_left ? b : a, to_left ? left : right),
                          has_bool ? ", or compare with `!= 0`" : ""));
}

}  // namespace

std::string AsHint(const FunctionState& state, const Expr* expr, Scalar scalar) {
  std::string_view text = state.Text(expr->span);
  bool wrap = NeedsParentheses(expr, text);
  if (WrapsFirst(state, expr, scalar)) {
    const auto& binary = As<syntax::BinaryExpr>(expr);
    auto side = [&](const Expr* operand) {
      bool takes_its_type = operand->kind == ExprKind::IntLit;
      if (takes_its_type) return Quote(state, operand);
      std::string hint = AsHint(state, operand, scalar);
      return WrapsFirst(state, operand, scalar) ? fmt::format("({})", hint) : hint;
    };
    std::string wide =
        fmt::format("{} {} {}", side(binary.lhs), Spelling(binary.op), side(binary.rhs));
    return wide;
  }
  return fmt::format("{}{}{} as {}", wrap ? "(" : "", text, wrap ? ")" : "", Spelling(scalar));
}

std::string ConvertHelp(const FunctionState& state, const Expr* expr, Scalar scalar) {
  const syntax::LetStmt* let = LiteralDeclaration(state, expr, scalar);
  if (let == nullptr) return fmt::format("write '{}'", AsHint(state, expr, scalar));
  return fmt::format("write `{} {}: {} = {};` where it is declared", let->is_var ? "var" : "let",
                     let->name.name.text(), Spelling(scalar), Quote(state, let->value));
}

bool Floors(const FunctionState& state, const Expr* expr) {
  auto literal = state.literals.find(expr);
  if (literal != state.literals.end()) return literal->second.floored;
  bool floors = false;
  const auto* binary = syntax::DynAs<syntax::BinaryExpr>(expr);
  if (binary != nullptr && binary->op == syntax::BinaryOp::Div) floors = true;
  ForEachTyped(expr, [&](const Expr* child) { floors = floors || Floors(state, child); });
  return floors;
}

namespace {

/// Returns how an operator uses an operand.
LiteralUse UseOf(std::string_view what, bool is_first) {
  static constexpr std::string_view kOfNumbers[] = {"<", "<=", ">", ">=", "/", "%", "min", "max"};
  if (IsShift(what) && !is_first) return LiteralUse::Count;
  return std::ranges::count(kOfNumbers, what) > 0 ? LiteralUse::Number : LiteralUse::Bits;
}

/// Sets the type of a literal expression, which is an operand with this use.
bool CoerceOperand(FunctionState& state, const Expr* expr, Scalar scalar, LiteralUse use) {
  ExprInfo& info = state.fn.exprs[expr];
  if (!info.type.is_literal()) return info.type.is_error() || info.type.scalar == scalar;
  bool is_float = info.type.kind == TypeKind::FloatLiteral;
  info.type.kind = TypeKind::Error;
  auto literal = state.literals.find(expr);
  if (!is_float && IsFloat(scalar) && Floors(state, expr)) {
    state.diagnostics
        .Report(diag::FlooredForFloat, expr->span, Quote(state, expr), Spelling(scalar))
        .Help(fmt::format(
            "write the numbers with a decimal point, such as 1.0, or '{}' if that is intended",
            AsHint(state, expr, scalar)));
    return false;
  }
  if (scalar == Scalar::Bool) {
    state.diagnostics.Report(diag::LiteralForBool, expr->span, state.Text(expr->span))
        .Help("write `true`, `false` or a comparison");
    return false;
  }
  if (literal != state.literals.end()) {
    info.constant = ToConstant(literal->second, scalar);
    if (!info.constant) {
      ReportLiteral(state, expr, literal->second, scalar, use);
      return false;
    }
  } else if (is_float && !IsFloat(scalar)) {
    state.diagnostics
        .Report(diag::FloatLiteralForInteger, expr->span, state.Text(expr->span), Spelling(scalar))
        .Help(fmt::format("write '{}'", AsHint(state, expr, scalar)));
    return false;
  } else if (info.size == nullptr) {
    bool fits = true;
    ForEachTyped(
        expr, [&](const Expr* child) { fits = CoerceOperand(state, child, scalar, use) && fits; });
    if (!fits) return false;
  }
  info.type.kind = TypeKind::Value;
  info.type.scalar = scalar;
  return true;
}

}  // namespace

bool Coerce(FunctionState& state, const Expr* expr, Scalar scalar) {
  return CoerceOperand(state, expr, scalar, LiteralUse::Bits);
}

Scalar Seen(const FunctionState& state, Scalar scalar) {
  if (state.contract == nullptr || scalar == Scalar::Bool || scalar == Scalar::U64) return scalar;
  return IsFloat(scalar) ? Scalar::F64 : Scalar::I64;
}

Type Seen(const FunctionState& state, Type type) {
  for (Type& part : type.parts) part = Seen(state, std::move(part));
  if (type.is_value()) type.scalar = Seen(state, type.scalar);
  return type;
}

Type Default(FunctionState& state, const Expr* expr) {
  bool wide = state.contract != nullptr;
  TypeKind kind = state.fn.exprs[expr].type.kind;
  if (kind == TypeKind::IntLiteral) Coerce(state, expr, wide ? Scalar::I64 : Scalar::I32);
  if (kind == TypeKind::FloatLiteral) Coerce(state, expr, wide ? Scalar::F64 : Scalar::F32);
  return state.fn.exprs[expr].type;
}

Type Unify(FunctionState& state, std::span<const Expr* const> exprs, Span at,
           std::string_view what) {
  Type result;
  const Expr* typed = nullptr;
  bool is_float = false;
  for (const Expr* expr : exprs) {
    const Type& type = state.fn.exprs[expr].type;
    if (type.is_error()) return Type{};
    result.ranges = UnionOf(result.ranges, type.ranges);
    is_float |= type.kind == TypeKind::FloatLiteral;
    if (!type.is_value()) continue;
    if (typed != nullptr && state.fn.exprs[typed].type.scalar != type.scalar) {
      ReportMix(state, typed, expr, at, what);
      return Type{};
    }
    if (typed == nullptr) typed = expr;
  }
  if (typed == nullptr) {
    result.kind = is_float ? TypeKind::FloatLiteral : TypeKind::IntLiteral;
    return result;
  }
  result.kind = TypeKind::Value;
  result.scalar = state.fn.exprs[typed].type.scalar;
  for (const Expr* expr : exprs) {
    LiteralUse use = UseOf(what, expr == exprs.front());
    if (!CoerceOperand(state, expr, result.scalar, use)) return Type{};
  }
  return result;
}

bool Fits(FunctionState& state, const Expr* expr, Scalar scalar) {
  Type type = state.fn.exprs[expr].type;
  if (type.is_literal()) {
    Coerce(state, expr, scalar);
    return true;
  }
  return type.is_error() || (type.is_value() && type.scalar == scalar);
}

}  // namespace kdl::sema
