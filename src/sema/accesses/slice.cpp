#include "sema/accesses/slice.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "sema/accesses/index_dim.h"
#include "sema/types/size_arithmetic.h"
#include "sema/types/sizes.h"
#include "sema/walk/expr.h"
#include "sema/walk/quote.h"
#include "sema/walk/resolve.h"
#include "support/is_within.h"

namespace kdl::sema {

namespace {

using syntax::Expr;
using syntax::IndexExpr;

/// Returns the scalar entity that the expression names, or null.
const Entity* NamedScalar(const FunctionState& state, const Expr* expr) {
  if (expr->kind != syntax::ExprKind::Name) return nullptr;
  const Entity* entity = state.fn.Info(expr).entity;
  return entity != nullptr && entity->type.is_scalar() ? entity : nullptr;
}

/// Returns b - a, assuming that both are evaluated at the same point of the program. Variables that occur in
/// both cancel out.
IndexDim Distance(FunctionState& state, const IndexDim& a, const IndexDim& b) {
  SizeTable& sizes = state.module.sizes;
  IndexDim distance = b;
  for (IndexTerm term : a.terms) {
    const Entity* number = NamedScalar(state, term.value);
    auto same = std::ranges::find_if(distance.terms, [&](const IndexTerm& other) {
      return number != nullptr && NamedScalar(state, other.value) == number &&
             other.coefficient == term.coefficient;
    });
    if (same != distance.terms.end()) {
      distance.terms.erase(same);
    } else {
      term.coefficient = sizes.Binary(SizeKind::Mul, sizes.Constant(-1), term.coefficient);
      distance.terms.push_back(term);
    }
  }
  std::optional<int64_t> constant = ConstantDifference(sizes, b.offset, a.offset);
  distance.offset =
      constant ? sizes.Constant(*constant) : sizes.Binary(SizeKind::Sub, b.offset, a.offset);
  return distance;
}

/// Returns b - a if the difference is a constant, otherwise nothing.
std::optional<int64_t> ConstantDistance(FunctionState& state, const IndexDim& a,
                                        const IndexDim& b) {
  IndexDim distance = Distance(state, a, b);
  bool known = distance.terms.empty() && IsConstant(distance.offset);
  return known ? std::optional(distance.offset->value) : std::nullopt;
}

/// Returns `number` as a size if it consists of sizes and immutable variables; otherwise returns null.
Size AsSize(FunctionState& state, const IndexDim& number) {
  SizeTable& sizes = state.module.sizes;
  Size sum = number.offset;
  for (const IndexTerm& term : number.terms) {
    const Entity* entity = NamedScalar(state, term.value);
    if (entity == nullptr || entity->kind == EntityKind::Var) return nullptr;
    state.fn.sizes.insert(entity);
    Size name = sizes.Symbol(entity->name);
    bool is_less = IsConstant(term.coefficient, -1);
    Size part = is_less ? name : sizes.Binary(SizeKind::Mul, term.coefficient, name);
    sum = IsConstant(sum, 0) && !is_less
              ? part
              : sizes.Binary(is_less ? SizeKind::Sub : SizeKind::Add, sum, part);
  }
  return sum;
}

void SetSize(FunctionState& state, SliceDim& dim) {
  dim.size = AsSize(state, Distance(state, dim.lo, *dim.hi));
  if (dim.size != nullptr) return;
  dim.is_fresh = true;
  dim.size = state.module.sizes.Fresh(
      fmt::format("({} - {})", state.Text(dim.hi->span), state.Text(dim.lo.span)));
}

std::optional<SliceDim> CheckDim(FunctionState& state, const syntax::Index& index) {
  std::optional<IndexDim> lo = CheckIndexDim(state, index.value);
  std::optional<IndexDim> hi;
  if (index.hi != nullptr) hi = CheckIndexDim(state, index.hi);
  if (!lo || (index.hi != nullptr && !hi)) return std::nullopt;
  SliceDim dim{*std::move(lo), std::move(hi)};
  if (dim.hi) SetSize(state, dim);
  return dim;
}

/// Reports a slice that, whatever values the sizes have, is out of bounds or ends before it begins. Returns
/// false in that case.
bool CheckInside(FunctionState& state, const SliceDim& dim, const syntax::Index& index,
                 const Expr* base, size_t number, Size extent) {
  IndexDim start{{}, state.module.sizes.Constant(0), {}};
  IndexDim end{{}, extent, {}};
  std::optional<int64_t> below = ConstantDistance(state, start, dim.lo);
  std::optional<int64_t> beyond = ConstantDistance(state, end, dim.hi ? *dim.hi : dim.lo);
  std::optional<int64_t> size = dim.hi ? ConstantDistance(state, dim.lo, *dim.hi) : std::nullopt;
  if (size && *size < 0) {
    state.diagnostics.Report(diag::SliceBackwards, index.span, state.Text(index.span));
    return false;
  }
  bool inside = !(below && *below < 0) && !(beyond && *beyond > (dim.hi ? 0 : -1));
  if (inside) return true;
  state.diagnostics.Report(diag::SliceOutside, index.span, state.Text(index.span),
                           Quote(state, base), number, SizeText(extent));
  return false;
}

/// Checks that the slice keeps the last dimension, because the elements of a row must be contiguous.
bool KeepsLast(FunctionState& state, const IndexExpr& index, const SliceDim& last, size_t rank) {
  if (index.indices.size() < rank || last.hi) return true;
  std::string lo = Quote(state, index.indices.back().value);
  bool is_number = last.lo.terms.empty() && IsConstant(last.lo.offset);
  std::string hi =
      is_number ? fmt::format("{}", last.lo.offset->value + 1) : fmt::format("{} + 1", lo);
  state.diagnostics.Report(diag::SliceOfColumn, last.lo.span, Quote(state, &index))
      .Help(fmt::format("write `{}..{}`, which keeps the dimension with one element, and add "
                        "that dimension to the parameter",
                        lo, hi));
  return false;
}

Type CheckSlice(FunctionState& state, const IndexExpr& index, const Type& base) {
  if (index.otherwise != nullptr) {
    state.diagnostics.Report(diag::SliceElse, index.otherwise->span, Quote(state, &index));
    return Type{};
  }
  if (index.indices.empty()) {
    state.diagnostics
        .Report(diag::IndexCount, index.span, Quote(state, index.base), "at least 1 index", 0)
        .Help(fmt::format("remove the brackets: {}", Quote(state, index.base)));
    return Type{};
  }
  if (index.indices.size() > base.dims.size()) {
    state.diagnostics.Report(diag::IndexCount, index.span, Quote(state, index.base),
                             fmt::format("at most {} indices", base.dims.size()),
                             index.indices.size());
    return Type{};
  }
  auto* slice = state.module.arena.Make<SliceInfo>(SliceInfo{});
  slice->of = index.base;
  Type type;
  type.kind = TypeKind::Tensor;
  type.scalar = base.scalar;
  bool ok = true;
  for (size_t d = 0; d < index.indices.size(); ++d) {
    const syntax::Index& written = index.indices[d];
    if (written.name) {
      state.diagnostics.Report(diag::NamedIndex, written.name.span, Quote(state, index.base));
      ok = false;
    }
    std::optional<SliceDim> dim = CheckDim(state, written);
    ok = dim && CheckInside(state, *dim, written, index.base, d, base.dims[d]) && ok;
    if (!dim) continue;
    if (dim->hi) type.dims.push_back(dim->size);
    slice->dims.push_back(*std::move(dim));
  }
  ok = ok && KeepsLast(state, index, slice->dims.back(), base.dims.size());
  if (!ok) return Type{};
  type.dims.insert(type.dims.end(),
                   base.dims.begin() + static_cast<std::ptrdiff_t>(index.indices.size()),
                   base.dims.end());
  ExprInfo& info = state.fn.exprs[&index];
  info.slice = slice;
  info.entity = state.fn.exprs[index.base].entity;
  return type;
}

/// Returns whether two slices of a dimension certainly overlap, unless one of them is empty.
bool Meet(FunctionState& state, const SliceDim& a, const SliceDim& b) {
  std::optional<int64_t> distance = ConstantDistance(state, a.lo, b.lo);
  if (!distance) return false;
  const SliceDim& first = *distance >= 0 ? a : b;
  if (*distance == 0) return true;
  std::optional<int64_t> size = first.hi ? ConstantDistance(state, first.lo, *first.hi) : 1;
  return size && *size > 0 && IsWithin(*distance, *size - 1);
}

}  // namespace

bool HasSlice(FunctionState& state, const IndexExpr& index) {
  auto slice =
      std::ranges::find_if(index.indices, [](const syntax::Index& at) { return at.hi != nullptr; });
  if (slice == index.indices.end()) return false;
  state.diagnostics.Report(diag::SlicePlace, slice->span, state.Text(slice->span));
  return true;
}

Type CheckTensor(FunctionState& state, const Expr* expr) {
  const auto* index = syntax::DynAs<IndexExpr>(expr);
  bool is_path = index != nullptr && (index->base->kind == syntax::ExprKind::Name ||
                                      index->base->kind == syntax::ExprKind::Index);
  if (!is_path) return CheckExpr(state, expr);
  Type base = CheckTensor(state, index->base);
  Type type;
  if (base.is_tensor()) {
    type = CheckSlice(state, *index, base);
  } else if (!base.is_error()) {
    state.diagnostics.Report(diag::NotIndexable, index->base->span, Quote(state, index->base))
        .Help("index a tensor by its name: x[…]");
  }
  state.fn.exprs[expr].type = type;
  return type;
}

bool ShareElements(FunctionState& state, const Expr* a, const Expr* b) {
  const ExprInfo& left = state.fn.Info(a);
  const ExprInfo& right = state.fn.Info(b);
  if (ShownTensor(left.entity) != ShownTensor(right.entity)) return false;
  auto is_whole = [](const ExprInfo& info) {
    return info.slice == nullptr && ShownTensor(info.entity) == info.entity;
  };
  if (is_whole(left) || is_whole(right)) return true;
  if (left.entity != right.entity) return false;
  auto is_direct = [&](const ExprInfo& info) {
    return info.slice == nullptr || state.fn.Info(info.slice->of).slice == nullptr;
  };
  if (left.slice == nullptr || right.slice == nullptr) return true;
  if (!is_direct(left) || !is_direct(right)) return false;
  size_t common = std::min(left.slice->dims.size(), right.slice->dims.size());
  for (size_t d = 0; d < common; ++d) {
    if (!Meet(state, left.slice->dims[d], right.slice->dims[d])) return false;
  }
  return true;
}

}  // namespace kdl::sema
