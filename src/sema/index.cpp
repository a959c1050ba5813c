#include "sema/index.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "sema/ast_walk.h"
#include "sema/coerce.h"
#include "sema/constants.h"
#include "sema/contract.h"
#include "sema/expr.h"
#include "sema/imports.h"
#include "sema/resolve.h"
#include "sema/sizes.h"
#include "sema/slice.h"
#include "sema/stages.h"
#include "sema/stmt.h"
#include "sema/tables.h"
#include "sema/tensor_effects.h"
#include "sema/tile_parts.h"

namespace kdl::sema {

namespace {

using syntax::BinaryExpr;
using syntax::BinaryOp;
using syntax::Expr;

/// A sum of terms, or a fault that has been reported.
struct Affine {
  bool ok = false;
  std::vector<IndexTerm> terms;
  Size offset = nullptr;
  std::optional<Scalar> scalar{};  ///< that it is computed in; none: it is a literal
};

const Entity* RangeOf(FunctionState& state, const Expr* expr) {
  const auto* name = syntax::DynAs<syntax::NameExpr>(expr);
  if (name == nullptr) return nullptr;
  const Entity* entity = state.scopes.Find(name->name);
  return entity != nullptr && entity->kind == EntityKind::Range ? entity : nullptr;
}

/// Whether a range stands in the arithmetic of an index, outside the brackets and calls in it.
bool MentionsRange(FunctionState& state, const Expr* expr) {
  if (const auto* unary = syntax::DynAs<syntax::UnaryExpr>(expr)) {
    return MentionsRange(state, unary->operand);
  }
  if (const auto* binary = syntax::DynAs<BinaryExpr>(expr)) {
    return MentionsRange(state, binary->lhs) || MentionsRange(state, binary->rhs);
  }
  return RangeOf(state, expr) != nullptr;
}

/// An integer expression that is one term, or a size, which is an offset.
Affine ValueTerm(FunctionState& state, const Expr* expr, bool with_ranges) {
  state.range_values += with_ranges ? 1 : 0;
  Type type = CheckValue(state, expr);
  state.range_values -= with_ranges ? 1 : 0;
  if (type.is_error()) return {};
  // A literal takes the type of what is around it.
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

/// In what both sides of an operator are computed: their own type, which literals take, or else i64, to which values of
/// narrower types are widened where they stand beside a range, a size or one another.
std::optional<Scalar> CommonScalar(const Affine& a, const Affine& b) {
  if (!a.scalar || !b.scalar) return a.scalar ? a.scalar : b.scalar;
  return a.scalar == b.scalar ? a.scalar : Scalar::I64;
}

/// Whether sums and products are those of a type with fewer bits than an index has; they wrap there, as in any expression.
bool IsNarrow(std::optional<Scalar> scalar) { return scalar && Info(*scalar).bits < 64; }

/// a + b; a range that stands in both becomes one term.
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

/// Whether the product is 0, whatever the run-time numbers are that the other side has; these are computed all the same: they
/// may divide by 0.
bool IsNothing(const Affine& values, const Affine& factor) {
  bool has_value = std::ranges::any_of(values.terms,
                                       [](const IndexTerm& term) { return term.range == nullptr; });
  return has_value && IsConstant(factor.offset, 0);
}

/// A product is affine where one side is a size; a run-time number times a range gathers.
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
            "multiply a range by a size or a number; a tile of indices, such as one made with "
            "iota, gathers");
    return {};
  }
  return ValueTerm(state, &binary, true);
}

/// `k / 128`, `k % 8`; in a contract, which is evaluated element by element, by anything.
Affine CheckQuotient(FunctionState& state, const BinaryExpr& binary) {
  if (!MentionsRange(state, &binary)) return ValueTerm(state, &binary, false);
  Affine divisor = CheckAffine(state, binary.rhs);
  if (!divisor.ok) return {};
  if (state.contract != nullptr) return ValueTerm(state, &binary, true);
  bool positive = divisor.terms.empty() && IsStatic(state, divisor.offset) &&
                  (!IsConstant(divisor.offset) || divisor.offset->value > 0);
  if (!positive) {
    state.diagnostics.Report(diag::DivisorInIndex, binary.rhs->span, Quote(state, binary.rhs));
    return {};
  }
  return ValueTerm(state, &binary, true);
}

Affine CheckAffine(FunctionState& state, const Expr* expr) {
  const Entity* range = RangeOf(state, expr);
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

/// Each index has its own parts; an index may be one in another index.
Affine CheckWholeIndex(FunctionState& state, const Expr* expr) {
  auto around = std::exchange(state.index_parts, {});
  Affine affine = CheckAffine(state, expr);
  state.index_parts = std::move(around);
  return affine;
}

/// Outside whatever the sizes are: a constant index below 0 or not below its dimension.
void CheckInside(FunctionState& state, const IndexDim& index, const Entity& base, size_t dim) {
  if (!index.terms.empty() || base.type.dims.size() <= dim) return;
  Size size = base.type.dims[dim];
  std::optional<int64_t> beyond = ConstantDifference(state.module.sizes, index.offset, size);
  bool below = IsConstant(index.offset) && index.offset->value < 0;
  if (!below && !(beyond && *beyond >= 0)) return;
  state.diagnostics.Report(diag::IndexOutside, index.span, ToString(index.offset), base.name.text(),
                           dim, ToString(size));
}

struct Base {
  const Entity* entity = nullptr;  ///< null: faulty, reported
  bool old = false;
};

Base ReportBase(FunctionState& state, const Expr* expr) {
  state.diagnostics.Report(diag::NotIndexable, expr->span, Quote(state, expr))
      .Help("an index stands on the name of a tensor");
  return {};
}

Base CheckOld(FunctionState& state, const syntax::CallExpr& call) {
  if (state.contract == nullptr || call.callee.name.text() != "old" || call.receiver != nullptr ||
      call.args.size() != 1) {
    return ReportBase(state, &call);
  }
  const Expr* argument = call.args[0].value;
  const auto* name = syntax::DynAs<syntax::NameExpr>(argument);
  if (name == nullptr) {
    state.diagnostics.Report(diag::OldOfOther, argument->span, Quote(state, argument))
        .Help("write the parameter's name alone: old(y)[i]");
    return {};
  }
  const Entity* entity = Resolve(state, name->name, name->span);
  if (entity == nullptr) return {};
  bool is_inout = entity->kind == EntityKind::TensorParam &&
                  state.fn.params[entity->param].direction == syntax::Direction::InOut;
  if (!is_inout) {
    state.diagnostics.Report(diag::OldOfOther, name->span, entity->name.text());
    return {};
  }
  return {entity, true};
}

/// What is indexed, which `span` names.
Base BaseOf(FunctionState& state, const Entity& entity, const syntax::IndexExpr& index, Span span) {
  if (entity.kind == EntityKind::Const) ConstValue(state, &entity);
  if (entity.type.is_tensor()) return {&entity, false};
  if (IsFaulty(entity)) return {};
  if (entity.type.is_value() && !entity.type.ranges.empty()) {
    state.diagnostics
        .Report(diag::TileIndexed, index.span, entity.name.text(), RangesText(entity.type.ranges))
        .Help(fmt::format(
            "{2}write '{0}' alone: its elements are matched by the names of its ranges; or "
            "index it by name: {0}[{1} = …]",
            entity.name.text(), entity.type.ranges[0]->name.text(),
            entity.kind == EntityKind::TileParam ? "a fn takes tiles, not tensors: " : ""));
  } else {
    state.diagnostics.Report(diag::NotATensor, span, entity.name.text(), Describe(entity.kind));
  }
  return {};
}

Base CheckBase(FunctionState& state, const syntax::IndexExpr& index) {
  if (const auto* call = syntax::DynAs<syntax::CallExpr>(index.base)) return CheckOld(state, *call);
  const auto* field = syntax::DynAs<syntax::FieldExpr>(index.base);
  if (const Entity* import = field != nullptr ? ImportOf(state, field->base) : nullptr) {
    const Entity* member = ResolveMember(state, *import, field->name);
    return member != nullptr ? BaseOf(state, *member, index, field->name.span) : Base{};
  }
  const auto* name = syntax::DynAs<syntax::NameExpr>(index.base);
  if (name == nullptr) return ReportBase(state, index.base);
  const Entity* entity = Resolve(state, name->name, name->span);
  return entity != nullptr ? BaseOf(state, *entity, index, name->span) : Base{};
}
/// Before the launch an `out` parameter holds nothing.
void CheckRequired(FunctionState& state, const Entity* base, Span span) {
  bool undefined = state.contract != nullptr && state.contract->is_requirement &&
                   base->kind == EntityKind::TensorParam &&
                   state.fn.params[base->param].direction == syntax::Direction::Out;
  if (!undefined) return;
  state.diagnostics.Report(diag::RequiresOfOut, span, base->name.text())
      .Help(
          "require it of an `in` or `inout` parameter; what the launch writes stands in `ensures`");
}

/// Of a contract: what gives free names their extents. What has an `else` may go outside.
void RecordBare(FunctionState& state, const Entity* base, const IndexInfo& access, size_t number,
                bool may_leave) {
  const IndexDim& dim = access.dims[number];
  if (state.contract == nullptr || dim.terms.size() != 1 || dim.terms[0].range == nullptr) return;
  if (!IsConstant(dim.terms[0].coefficient, 1) || !IsConstant(dim.offset)) return;
  int64_t offset = dim.offset->value;
  if (offset == 0 || (offset > 0 && !may_leave))
    state.contract->uses.push_back({dim.terms[0].range, base, number, offset, may_leave, dim.span});
}

/// An element of a table at constant indices is a constant, an integer also a size. Programs have no other.
void FoldElement(FunctionState& state, ExprInfo& info) {
  info.constant = TableElement(*info.index);
  if (!info.constant || !IsInteger(info.constant->scalar)) return;
  std::optional<int64_t> value = ToInt64(FromConstant(*info.constant));
  if (value) info.size = state.module.sizes.Constant(*value);
}

std::string Indices(size_t count) {
  return fmt::format("{} {}", count, count == 1 ? "index" : "indices");
}

}  // namespace

/// The ranges that a dimension has; a term that gathers brings those of its tile.
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

std::optional<IndexDim> CheckTileIndex(FunctionState& state, const Expr* expr) {
  Affine affine = CheckWholeIndex(state, expr);
  if (!affine.ok) return std::nullopt;
  return IndexDim{std::move(affine.terms), affine.offset, expr->span};
}

Type CheckIndex(FunctionState& state, const syntax::IndexExpr& index, ExprInfo& info, bool stored) {
  if (HasSlice(state, index)) return Type{};
  if (!stored && IsTilePart(state, &index)) return CheckTilePart(state, index, info);
  Base base = CheckBase(state, index);
  auto* access = state.module.arena.Make<IndexInfo>(IndexInfo{});
  access->base = base.entity;
  access->old = base.old;
  access->otherwise = index.otherwise;
  Type type;
  bool ok = base.entity != nullptr;
  size_t number = 0;
  for (const syntax::Arg& arg : index.indices) {
    bool is_dimension = base.entity != nullptr && number < base.entity->type.dims.size();
    bool is_name = arg.value->kind == syntax::ExprKind::Name;
    state.indexed = is_name && is_dimension ? base.entity->type.dims[number] : nullptr;
    ++number;
    if (arg.name && ok) {
      state.diagnostics.Report(diag::NamedIndex, arg.name.span, base.entity->name.text());
      ok = false;
    }
    Affine affine = CheckWholeIndex(state, arg.value);
    state.indexed = nullptr;
    ok = ok && affine.ok;
    if (!affine.ok) continue;
    access->dims.push_back({std::move(affine.terms), affine.offset, arg.value->span});
    type.ranges = UnionOf(type.ranges, RangesOfIndex(state, access->dims.back()));
  }
  if (base.entity != nullptr && index.indices.size() != base.entity->type.dims.size()) {
    state.diagnostics
        .Report(diag::IndexCount, index.span, base.entity->name.text(),
                Indices(base.entity->type.dims.size()), index.indices.size())
        .Note(base.entity->span,
              fmt::format("'{}' is {}", base.entity->name.text(), ToString(base.entity->type)));
    ok = false;
  }
  if (ok) {
    for (size_t i = 0; i < access->dims.size(); ++i) {
      RecordBare(state, base.entity, *access, i, index.otherwise != nullptr);
      if (index.otherwise == nullptr) CheckInside(state, access->dims[i], *base.entity, i);
    }
    type.kind = TypeKind::Value;
    type.scalar = Seen(state, base.entity->type.scalar);
    info.index = access;
    info.entity = base.entity;
    if (state.contract == nullptr && !stored) FoldElement(state, info);
    RecordTensorUse(state, base.entity, index.span, stored);
    CheckRequired(state, base.entity, index.span);
    bool expects = state.contract != nullptr && state.fn.item->test != nullptr;
    bool on_host = state.kind() == syntax::FunctionKind::Program && state.contract == nullptr;
    if (on_host && base.entity->kind == EntityKind::Const && !info.constant && !stored) {
      state.diagnostics.Report(diag::TableOnHost, index.span, Quote(state, &index))
          .Help("launch a kernel that looks it up");
      return Type{};
    }
    bool is_tensor = base.entity->kind == EntityKind::LocalTensor ||
                     base.entity->kind == EntityKind::TensorParam;
    if ((on_host || expects) && is_tensor && !stored) NoteRead(state, base.entity, index.span);
  } else {
    type = Type{};
  }
  if (index.otherwise != nullptr) type = CheckOtherwise(state, index.otherwise, std::move(type));
  return type;
}

}  // namespace kdl::sema
