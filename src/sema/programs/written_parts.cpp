#include "sema/programs/written_parts.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "sema/model/builtins.h"
#include "sema/types/size_arithmetic.h"

namespace kdl::sema {

namespace {

using syntax::Expr;

/// Returns the loop variable if the index consists only of a loop variable; otherwise returns null.
const Entity* BinderOf(const FunctionState& state, const IndexDim& dim) {
  if (dim.terms.size() != 1 || !IsConstant(dim.offset, 0)) return nullptr;
  const IndexTerm& term = dim.terms[0];
  if (term.value == nullptr || !IsConstant(term.coefficient, 1)) return nullptr;
  const Entity* binder = state.fn.Info(term.value).entity;
  return binder != nullptr && binder->kind == EntityKind::ScalarBinder ? binder : nullptr;
}

/// If the expression is the sum of the loop variable and a size, returns the size. Otherwise returns null.
Size BeyondBinder(const FunctionState& state, const Expr* expr, const Entity* binder) {
  const auto* sum = syntax::DynAs<syntax::BinaryExpr>(expr);
  if (sum == nullptr || sum->op != syntax::BinaryOp::Add) return nullptr;
  for (auto [name, number] : {std::pair(sum->lhs, sum->rhs), std::pair(sum->rhs, sum->lhs)}) {
    if (state.fn.Info(name).entity == binder) return state.fn.Info(number).size;
  }
  return nullptr;
}

bool IsSize(FunctionState& state, Size a, Size b) {
  return a != nullptr && b != nullptr && ConstantDifference(state.module.sizes, a, b) == 0;
}

/// If the expression is a name that a `let` defines, returns the value of the `let`; otherwise returns the
/// expression itself.
const Expr* LetValue(const FunctionState& state, const Sources& sources, const Expr* expr) {
  auto source = sources.find(state.fn.Info(expr).entity);
  return source == sources.end() ? expr : LetValue(state, sources, source->second);
}

/// Returns the width of a part that starts at `binder` and ends at `end`: 8 for `i + 8` or `min(i + 8, N)`.
/// Returns null if the width is unknown.
Size WidthTo(FunctionState& state, const Sources& sources, const Entity* binder, const Expr* end,
             Size extent) {
  const auto* call = syntax::DynAs<syntax::CallExpr>(end);
  const Builtin* builtin = call == nullptr ? nullptr : state.fn.Info(call).builtin;
  if (builtin == nullptr || builtin->spelling != "min" || call->args.size() != 2)
    return BeyondBinder(state, end, binder);
  for (size_t i = 0; i < 2; ++i) {
    Size width = BeyondBinder(state, LetValue(state, sources, call->args[i].value), binder);
    bool is_split = IsSize(state, state.fn.Info(call->args[1 - i].value).size, extent);
    if (width != nullptr && is_split) return width;
  }
  return nullptr;
}

Size WidthFrom(FunctionState& state, const Sources& sources, const Entity* binder,
               const SliceDim& dim, Size extent) {
  const IndexDim& hi = *dim.hi;
  bool is_value =
      hi.terms.size() == 1 && IsConstant(hi.offset, 0) && IsConstant(hi.terms[0].coefficient, 1);
  if (!is_value) return dim.is_fresh ? nullptr : dim.size;
  return WidthTo(state, sources, binder, LetValue(state, sources, hi.terms[0].value), extent);
}

/// Returns the indices that a slice selects, or nothing if they are unknown.
std::optional<PartDim> PartDimOf(FunctionState& state, const Sources& sources, const SliceDim& dim,
                                 Size extent) {
  SizeTable& sizes = state.module.sizes;
  if (const Entity* binder = BinderOf(state, dim.lo)) {
    Size width = dim.hi ? WidthFrom(state, sources, binder, dim, extent) : sizes.Constant(1);
    return width != nullptr ? std::optional(PartDim{binder, width}) : std::nullopt;
  }
  if (!dim.lo.terms.empty() || (dim.hi && !dim.hi->terms.empty())) return std::nullopt;
  Size lo = dim.lo.offset;
  Size hi = dim.hi ? dim.hi->offset : sizes.Binary(SizeKind::Add, lo, sizes.Constant(1));
  if (IsConstant(lo, 0) && IsSize(state, hi, extent)) return PartDim{};
  return PartDim{nullptr, nullptr, lo, hi};
}

/// The tensor to which an expression refers, as a part of the underlying tensor's memory.
struct Place {
  Part part;
  /// For each dimension of the expression, the dimension of the underlying tensor. Nothing if a view
  /// changes the dimensions.
  std::optional<std::vector<size_t>> dims;
};

Place WholePlace(const Entity* tensor) {
  Place place{{tensor, std::vector<PartDim>(tensor->type.dims.size())}, std::vector<size_t>()};
  for (size_t d = 0; d < tensor->type.dims.size(); ++d) place.dims->push_back(d);
  return place;
}

std::optional<Place> TensorPlace(FunctionState& state, const Sources& sources, const Expr* expr) {
  const ExprInfo& info = state.fn.Info(expr);
  if (info.slice == nullptr) {
    if (ShownTensor(info.entity) == info.entity) return WholePlace(info.entity);
    auto source = sources.find(info.entity);
    std::optional<Place> place =
        source == sources.end() ? std::nullopt : TensorPlace(state, sources, source->second);
    if (place) place->dims = std::nullopt;
    return place;
  }
  std::optional<Place> place = TensorPlace(state, sources, info.slice->of);
  if (!place || !place->dims) return std::nullopt;
  std::vector<size_t> kept;
  for (size_t d = 0; d < place->dims->size(); ++d) {
    size_t at = (*place->dims)[d];
    bool is_whole = d >= info.slice->dims.size();
    if (is_whole || info.slice->dims[d].hi) kept.push_back(at);
    if (is_whole) continue;
    std::optional<PartDim> dim =
        PartDimOf(state, sources, info.slice->dims[d], state.fn.Info(info.slice->of).type.dims[d]);
    if (!dim || !place->part.dims[at].is_all()) return std::nullopt;
    place->part.dims[at] = *dim;
  }
  place->dims = std::move(kept);
  return place;
}

/// Returns a loop bound as a size. If the bound is a variable that occurs in dimensions of the program's
/// tensors, the size is a symbol with the variable's name.
Size BoundSize(const FunctionState& state, const ExprInfo& bound) {
  bool is_number = bound.entity != nullptr && state.fn.sizes.contains(bound.entity);
  return is_number ? state.module.sizes.Symbol(bound.entity->name) : bound.size;
}

/// Returns whether the iterations of the loop cover the dimension, if each of them covers `width` indices,
/// starting at the loop variable.
bool Walks(FunctionState& state, const Entity& binder, Size width, Size dim) {
  Size lo = binder.lo == nullptr ? nullptr : state.fn.Info(binder.lo).size;
  Size hi = binder.hi == nullptr ? nullptr : BoundSize(state, state.fn.Info(binder.hi));
  Size step =
      binder.step == nullptr ? state.module.sizes.Constant(1) : state.fn.Info(binder.step).size;
  if (step == nullptr || lo == nullptr) return false;
  std::optional<int64_t> overlap = ConstantDifference(state.module.sizes, width, step);
  return overlap && *overlap >= 0 && IsConstant(lo, 0) && IsSize(state, hi, dim);
}

/// Returns the dimension along which part `b` continues part `a`, if the parts are equal along all
/// other dimensions.
std::optional<size_t> ContinuedAlong(FunctionState& state, const Part& a, const Part& b) {
  if (a.tensor != b.tensor) return std::nullopt;
  std::optional<size_t> along;
  for (size_t d = 0; d < a.dims.size(); ++d) {
    if (a.dims[d] == b.dims[d]) continue;
    bool continues = a.dims[d].hi != nullptr && IsSize(state, a.dims[d].hi, b.dims[d].lo);
    if (along || !continues) return std::nullopt;
    along = d;
  }
  return along;
}

/// Returns whether `outer` contains every index of `inner`.
bool Holds(FunctionState& state, const PartDim& outer, const PartDim& inner) {
  if (outer.is_all() || outer == inner) return true;
  if (outer.hi == nullptr || inner.hi == nullptr) return false;
  SizeTable& sizes = state.module.sizes;
  std::optional<int64_t> before = ConstantDifference(sizes, inner.lo, outer.lo);
  std::optional<int64_t> after = ConstantDifference(sizes, outer.hi, inner.hi);
  return before && *before >= 0 && after && *after >= 0;
}

bool Holds(FunctionState& state, const std::set<Part>& parts, const Part& inner) {
  return std::ranges::any_of(parts, [&](const Part& outer) {
    return outer.tensor == inner.tensor &&
           std::ranges::equal(outer.dims, inner.dims, [&](const PartDim& a, const PartDim& b) {
             return Holds(state, a, b);
           });
  });
}

}  // namespace

bool Part::is_all() const { return std::ranges::all_of(dims, &PartDim::is_all); }

std::optional<Part> PartOfElement(FunctionState& state, const IndexInfo& index) {
  if (ShownTensor(index.base) != index.base) return std::nullopt;
  Part part{index.base, {}};
  for (size_t d = 0; d < index.dims.size(); ++d) {
    const SliceDim element{index.dims[d], std::nullopt};
    std::optional<PartDim> dim = PartDimOf(state, {}, element, index.base->type.dims[d]);
    if (!dim) return std::nullopt;
    part.dims.push_back(*dim);
  }
  return part;
}

std::optional<Part> PartOfTensor(FunctionState& state, const Sources& sources, const Expr* expr) {
  std::optional<Place> place = TensorPlace(state, sources, expr);
  return place ? std::optional(std::move(place->part)) : std::nullopt;
}

void AddPart(FunctionState& state, std::set<Part>& parts, Part part) {
  for (auto other = parts.begin(); other != parts.end();) {
    std::optional<size_t> before = ContinuedAlong(state, *other, part);
    std::optional<size_t> after = ContinuedAlong(state, part, *other);
    if (!before && !after) {
      ++other;
      continue;
    }
    PartDim& dim = part.dims[before ? *before : *after];
    if (before) dim.lo = other->dims[*before].lo;
    if (after) dim.hi = other->dims[*after].hi;
    Size extent = part.tensor->type.dims[before ? *before : *after];
    if (IsConstant(dim.lo, 0) && IsSize(state, dim.hi, extent)) dim = {};
    parts.erase(other);
    other = parts.begin();
  }
  parts.insert(std::move(part));
}

std::set<Part> CommonParts(FunctionState& state, const std::set<Part>& a, const std::set<Part>& b) {
  std::set<Part> common;
  for (const Part& part : a) {
    if (Holds(state, b, part)) common.insert(part);
  }
  for (const Part& part : b) {
    if (Holds(state, a, part)) common.insert(part);
  }
  return common;
}

std::optional<Part> OverAllIterations(FunctionState& state, Part part, const StmtInfo& loop) {
  for (const Entity* binder : loop.entities) {
    auto is_walked = [&](const PartDim& dim) { return dim.binder == binder; };
    auto place = std::ranges::find_if(part.dims, is_walked);
    if (place == part.dims.end() ||
        std::find_if(place + 1, part.dims.end(), is_walked) != part.dims.end())
      return std::nullopt;
    Size dim = part.tensor->type.dims[static_cast<size_t>(place - part.dims.begin())];
    if (!Walks(state, *binder, place->width, dim)) return std::nullopt;
    *place = {};
  }
  return part;
}

}  // namespace kdl::sema
