#include "sema/accesses/index_dim.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "sema/accesses/index_names.h"
#include "sema/types/coerce.h"
#include "sema/types/size_arithmetic.h"
#include "sema/walk/expr.h"
#include "sema/walk/quote.h"
#include "sema/walk/resolve.h"

namespace kdl::sema {

namespace {

using syntax::BinaryExpr;
using syntax::BinaryOp;
using syntax::Expr;

/// A sum of terms plus an offset. `ok` is false if an error was reported.
struct Affine {
  bool ok = false;
  std::vector<IndexTerm> terms;
  Size offset = nullptr;
  std::optional<Scalar> scalar{};  ///< the type in which the sum is computed; none for a literal
};

const Entity* NamedRange(FunctionState& state, const Expr* expr) {
  const auto* name = syntax::DynAs<syntax::NameExpr>(expr);
  if (name == nullptr) return nullptr;
  const Entity* entity = state.scopes.Find(name->name);
  return entity != nullptr && entity->kind == EntityKind::Range ? entity : nullptr;
}

/// Returns whether an index expression uses a range. Ranges inside nested brackets and calls do not count.
bool MentionsRange(FunctionState& state, const Expr* expr) {
  if (const auto* unary = syntax::DynAs<syntax::UnaryExpr>(expr)) {
    return MentionsRange(state, unary->operand);
  }
  if (const auto* binary = syntax::DynAs<BinaryExpr>(expr)) {
    return MentionsRange(state, binary->lhs) || MentionsRange(state, binary->rhs);
  }
  return NamedRange(state, expr) != nullptr;
}

/// Checks an integer expression and returns it as a single term. If the expression is a size, returns it as
/// an offset instead.
Affine ValueTerm(FunctionState& state, const Expr* expr, bool with_ranges) {
  state.range_values += with_ranges ? 1 : 0;
  Type type = CheckValue(state, expr);
  state.range_values -= with_ranges ? 1 : 0;
  if (type.is_error()) return {};
  // Literals are not marked as checked. They are checked again, because they get their type from the context.
  if (type.is_value()) state.index_parts.insert(expr);
  bool is_integer =
      type.kind == TypeKind::IntLiteral || (type.is_value() && IsInteger(type.scalar));
  if (!is_integer) {
    state.diagnostics
        .Report(diag::NotAnInteger, expr->span, "an index",
                type.is_value() ? std::string(Spelling(type.scalar)) : ToString(type))
        .Help(fmt::format("write '{}'", AsHint(state, expr, Scalar::I64)));
    return {};
  }
  if (!Coerce(state, expr, type.is_value() ? type.scalar : Scalar::I64)) return {};
  SizeTable& sizes = state.module.sizes;
  auto scalar = type.is_value() ? std::optional(type.scalar) : std::nullopt;
  if (Size size = state.fn.exprs[expr].size) return {true, {}, size, scalar};
  return {true, {{sizes.Constant(1), nullptr, expr}}, sizes.Constant(0), scalar};
}

Affine RangeTerm(FunctionState& state, const Expr* expr, const Entity* range) {
  if (range->type.is_error()) return {};
  ExprInfo& info = state.fn.exprs[expr];
  info = ExprInfo{};
  info.type.kind = TypeKind::Range;
  info.entity = range;
  SizeTable& sizes = state.module.sizes;
  return {true, {{sizes.Constant(1), range, nullptr}}, sizes.Constant(0), Scalar::I64};
}

Affine Scale(FunctionState& state, Affine affine, Size factor) {
  SizeTable& sizes = state.module.sizes;
  affine.offset = sizes.Binary(SizeKind::Mul, factor, affine.offset);
  if (IsConstant(factor, 0)) affine.terms.clear();
  for (IndexTerm& term : affine.terms) {
    term.coefficient = sizes.Binary(SizeKind::Mul, factor, term.coefficient);
  }
  return affine;
}

/// Returns the type in which an operator is computed. If the operands have the same type, it is that type; a
/// literal adopts the type of the other operand. If the types differ, it is i64, which is also the type of
/// ranges and sizes, and narrower operands are widened.
std::optional<Scalar> CommonScalar(const Affine& a, const Affine& b) {
  if (!a.scalar || !b.scalar) return a.scalar ? a.scalar : b.scalar;
  return a.scalar == b.scalar ? a.scalar : Scalar::I64;
}

/// Returns whether sums and products of this type are computed in fewer than 64 bits. If so, they wrap, as
/// they do outside of indices.
bool IsNarrow(std::optional<Scalar> scalar) { return scalar && Info(*scalar).bits < 64; }

/// Adds two sums. A range that occurs in both becomes one term.
Affine Sum(FunctionState& state, Affine a, const Affine& b) {
  SizeTable& sizes = state.module.sizes;
  a.offset = sizes.Binary(SizeKind::Add, a.offset, b.offset);
  for (const IndexTerm& term : b.terms) {
    IndexTerm* same = nullptr;
    for (IndexTerm& known : a.terms) {
      if (term.range != nullptr && known.range == term.range) same = &known;
    }
    if (same != nullptr) {
      same->coefficient = sizes.Binary(SizeKind::Add, same->coefficient, term.coefficient);
    } else {
      a.terms.push_back(term);
    }
  }
  std::erase_if(a.terms, [](const IndexTerm& term) { return IsConstant(term.coefficient, 0); });
  return a;
}

Affine CheckAffine(FunctionState& state, const Expr* expr);

bool HasRange(const Affine& affine) {
  for (const IndexTerm& term : affine.terms) {
    if (term.range != nullptr) return true;
  }
  return false;
}

/// Returns whether `factor` is the constant 0 and `values` contains run-time values, so that their product is
/// 0. The run-time values must still be computed, because their computation may trap on a division by 0.
bool IsNothing(const Affine& values, const Affine& factor) {
  bool has_value = std::ranges::any_of(values.terms,
                                       [](const IndexTerm& term) { return term.range == nullptr; });
  return has_value && IsConstant(factor.offset, 0);
}

/// Checks a product. It is affine if one factor is a size. If one factor is a run-time number and the other a
/// range, the index is a gather: its values are computed at run time.
Affine CheckProduct(FunctionState& state, const BinaryExpr& binary) {
  Affine lhs = CheckAffine(state, binary.lhs);
  Affine rhs = CheckAffine(state, binary.rhs);
  if (!lhs.ok || !rhs.ok) return {};
  std::optional<Scalar> scalar = CommonScalar(lhs, rhs);
  if (IsNarrow(scalar)) return ValueTerm(state, &binary, false);
  lhs.scalar = rhs.scalar = scalar;
  if (rhs.terms.empty() && IsNothing(lhs, rhs)) return ValueTerm(state, &binary, HasRange(lhs));
  if (lhs.terms.empty() && IsNothing(rhs, lhs)) return ValueTerm(state, &binary, HasRange(rhs));
  if (rhs.terms.empty()) return Scale(state, std::move(lhs), rhs.offset);
  if (lhs.terms.empty()) return Scale(state, std::move(rhs), lhs.offset);
  if (HasRange(lhs) && HasRange(rhs)) {
    state.diagnostics.Report(diag::IndexNotAffine, binary.span, Quote(state, &binary))
        .Help(
            "multiply a range by a size or a number, or index by a tile of integers, such as one "
            "computed with iota");
    return {};
  }
  return ValueTerm(state, &binary, true);
}

/// Checks a quotient or remainder, such as `k / 128` or `k % 8`, in an index. Contracts allow any divisor,
/// because they are evaluated element by element.
Affine CheckQuotient(FunctionState& state, const BinaryExpr& binary) {
  if (!MentionsRange(state, &binary)) return ValueTerm(state, &binary, false);
  Affine divisor = CheckAffine(state, binary.rhs);
  if (!divisor.ok) return {};
  if (state.contract != nullptr) return ValueTerm(state, &binary, true);
  bool positive = divisor.terms.empty() && IsStatic(state, divisor.offset) &&
                  (!IsConstant(divisor.offset) || divisor.offset->value > 0);
  if (!positive) {
    std::string divisor_text = Quote(state, binary.rhs);
    Diagnostic& report =
        state.diagnostics.Report(diag::DivisorInIndex, binary.rhs->span, divisor_text);
    if (binary.op == BinaryOp::Rem && divisor.terms.empty() && !IsConstant(divisor.offset))
      report.Help(fmt::format(
          "for neighbors beyond the end of a dimension, use `else`: x[i + 1 else x[0]], "
          "and x[i - 1 else x[{} - 1]]",
          divisor_text));
    return {};
  }
  return ValueTerm(state, &binary, true);
}

Affine CheckAffine(FunctionState& state, const Expr* expr) {
  const Entity* range = NamedRange(state, expr);
  if (range == nullptr && state.contract != nullptr) range = FreeRange(state, expr);
  if (range != nullptr) return RangeTerm(state, expr, range);
  if (const auto* unary = syntax::DynAs<syntax::UnaryExpr>(expr)) {
    if (unary->op == syntax::UnaryOp::Neg && MentionsRange(state, expr)) {
      Affine operand = CheckAffine(state, unary->operand);
      return operand.ok ? Scale(state, std::move(operand), state.module.sizes.Constant(-1))
                        : operand;
    }
  }
  const auto* binary = syntax::DynAs<BinaryExpr>(expr);
  if (binary == nullptr) return ValueTerm(state, expr, false);
  switch (binary->op) {
    case BinaryOp::Add:
    case BinaryOp::Sub: {
      Affine lhs = CheckAffine(state, binary->lhs);
      Affine rhs = CheckAffine(state, binary->rhs);
      if (!lhs.ok || !rhs.ok) return {};
      std::optional<Scalar> scalar = CommonScalar(lhs, rhs);
      if (IsNarrow(scalar)) return ValueTerm(state, expr, false);
      lhs.scalar = scalar;
      if (binary->op == BinaryOp::Sub) {
        rhs = Scale(state, std::move(rhs), state.module.sizes.Constant(-1));
      }
      return Sum(state, std::move(lhs), rhs);
    }
    case BinaryOp::Mul:
      return CheckProduct(state, *binary);
    case BinaryOp::Div:
    case BinaryOp::Rem:
      return CheckQuotient(state, *binary);
    default:
      return ValueTerm(state, expr, false);
  }
}

}  // namespace

/// Returns the ranges of an index. If the index contains a tile of run-time indices (a gather), the result
/// includes the ranges of that tile.
std::vector<const Entity*> RangesOfIndex(const FunctionState& state, const IndexDim& dim) {
  std::vector<const Entity*> ranges;
  for (const IndexTerm& term : dim.terms) {
    ranges = UnionOf(ranges, term.range != nullptr ? std::vector<const Entity*>{term.range}
                                                   : state.fn.exprs.at(term.value).type.ranges);
  }
  return ranges;
}

Type CheckOtherwise(FunctionState& state, const Expr* otherwise, Type type) {
  Type value = CheckValue(state, otherwise);
  if (value.is_error() || type.is_error()) return type;
  if (!Fits(state, otherwise, type.scalar)) {
    state.diagnostics
        .Report(diag::ElseType, otherwise->span, Spelling(value.scalar), Spelling(type.scalar))
        .Help(fmt::format("write '{}'", AsHint(state, otherwise, type.scalar)));
    return type;
  }
  std::vector<const Entity*> missing = Missing(value.ranges, type.ranges);
  if (!missing.empty()) {
    state.diagnostics.Report(diag::ElseRanges, otherwise->span, RangesText(missing));
  }
  return type;
}

std::optional<IndexDim> CheckIndexDim(FunctionState& state, const Expr* expr) {
  // The set of checked parts belongs to one index, so an index that is nested in another one starts with an
  // empty set.
  auto around = std::exchange(state.index_parts, {});
  Affine affine = CheckAffine(state, expr);
  state.index_parts = std::move(around);
  if (!affine.ok) return std::nullopt;
  return IndexDim{std::move(affine.terms), affine.offset, expr->span};
}

}  // namespace kdl::sema
