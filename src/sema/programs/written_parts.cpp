#include "sema/programs/written_parts.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "sema/model/builtins.h"
#include "sema/types/size_arithmetic.h"

namespace kdl::sema {

namespace {

using syntax::Expr;

/// Returns the loop variable if the index is a loop variable plus a size; otherwise returns null.
const Entity* BinderOf(const FunctionState& state, const IndexDim& dim) {
  if (dim.terms.size() != 1) return nullptr;
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
  if (!IsConstant(dim.lo.offset, 0)) return nullptr;
  return WidthTo(state, sources, binder, LetValue(state, sources, hi.terms[0].value), extent);
}

/// Returns an index as a size, or null if it contains other variables than those that occur in the dimensions of the
/// program's tensors and slices, which cannot be assigned.
Size IndexSize(FunctionState& state, const IndexDim& index) {
  SizeTable& sizes = state.module.sizes;
  Size sum = index.offset;
  for (const IndexTerm& term : index.terms) {
    const Entity* entity = term.value == nullptr ? nullptr : state.fn.Info(term.value).entity;
    if (entity == nullptr || !state.fn.sizes.contains(entity)) return nullptr;
    Size product = sizes.Binary(SizeKind::Mul, term.coefficient, sizes.Symbol(entity->name));
    sum = sizes.Binary(SizeKind::Add, sum, product);
  }
  return sum;
}

/// Returns the indices that a slice selects, or nothing if they are unknown.
std::optional<PartDim> PartDimOf(FunctionState& state, const Sources& sources, const SliceDim& dim,
                                 Size extent) {
  SizeTable& sizes = state.module.sizes;
  if (const Entity* binder = BinderOf(state, dim.lo)) {
    Size width = dim.hi ? WidthFrom(state, sources, binder, dim, extent) : sizes.Constant(1);
    return width != nullptr ? std::optional(PartDim{binder, width, dim.lo.offset}) : std::nullopt;
  }
  bool is_free = !dim.hi && dim.lo.terms.size() == 1 && dim.lo.terms[0].range != nullptr &&
                 IsConstant(dim.lo.terms[0].coefficient, 1) && IsConstant(dim.lo.offset, 0);
  if (is_free) return PartDim{};  // in `expect y[0, i] ~ …`, i takes all values
  Size lo = IndexSize(state, dim.lo);
  if (lo == nullptr) return std::nullopt;
  Size hi = dim.hi ? IndexSize(state, *dim.hi) : sizes.Binary(SizeKind::Add, lo, sizes.Constant(1));
  if (hi == nullptr) return std::nullopt;
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

/// The bounds of a loop with one variable; unknown bounds are null.
struct LoopBounds {
  Size lo;
  Size hi;
  Size step;
};

LoopBounds BoundsOf(FunctionState& state, const Entity& binder) {
  Size one = state.module.sizes.Constant(1);
  return {binder.lo == nullptr ? nullptr : state.fn.Info(binder.lo).size,
          binder.hi == nullptr ? nullptr : BoundSize(state, state.fn.Info(binder.hi)),
          binder.step == nullptr ? one : state.fn.Info(binder.step).size};
}

Size Sum(FunctionState& state, Size a, Size b) {
  return state.module.sizes.Binary(SizeKind::Add, a, b);
}

bool IsAtMost(FunctionState& state, Size a, Size b) {
  std::optional<int64_t> apart = ConstantDifference(state.module.sizes, b, a);
  return apart && *apart >= 0;
}

/// Returns the indices that the iterations of a loop cover, if each of them covers `part`, which starts at the
/// loop variable.
std::optional<PartDim> Covered(FunctionState& state, const Entity& binder, const PartDim& part,
                               Size extent) {
  LoopBounds loop = BoundsOf(state, binder);
  bool known = loop.lo != nullptr && loop.hi != nullptr && loop.step != nullptr;
  if (!known || !IsAtMost(state, loop.step, part.width)) return std::nullopt;
  Size from = Sum(state, loop.lo, part.lo);
  Size to = Sum(state, loop.hi, part.lo);
  bool is_all = IsSize(state, from, state.module.sizes.Constant(0)) && IsSize(state, to, extent);
  return is_all ? PartDim{} : PartDim{nullptr, nullptr, from, to};
}

/// Returns the dimension along which part `b` continues part `a`, if the parts are equal along all
/// other dimensions.
std::optional<size_t> ContinuedAlong(FunctionState& state, const Part& a, const Part& b) {
  if (a.tensor != b.tensor) return std::nullopt;
  std::optional<size_t> along;
  for (size_t d = 0; d < a.dims.size(); ++d) {
    if (a.dims[d] == b.dims[d]) continue;
    bool are_bounded = a.dims[d].hi != nullptr && b.dims[d].hi != nullptr;
    bool continues = are_bounded && IsSize(state, a.dims[d].hi, b.dims[d].lo);
    if (along || !continues) return std::nullopt;
    along = d;
  }
  return along;
}

bool Mentions(Size size, const std::set<Name>& names) {
  if (size == nullptr) return false;
  if (size->kind == SizeKind::Symbol) return names.contains(size->symbol);
  return Mentions(size->lhs, names) || Mentions(size->rhs, names);
}

/// Returns whether `outer` contains every index of `inner`.
bool Holds(FunctionState& state, const PartDim& outer, const PartDim& inner) {
  if (outer.is_all() || outer == inner) return true;
  if (outer.hi == nullptr || inner.is_all()) return false;
  Size lo = inner.lo;
  Size hi = inner.hi;
  if (inner.binder != nullptr) {  // the indices of all iterations
    LoopBounds loop = BoundsOf(state, *inner.binder);
    if (loop.lo == nullptr || loop.hi == nullptr) return false;
    lo = Sum(state, loop.lo, inner.lo);
    Size last = Sum(state, loop.hi, state.module.sizes.Constant(-1));
    hi = Sum(state, Sum(state, last, inner.lo), inner.width);
  }
  return IsAtMost(state, outer.lo, lo) && IsAtMost(state, hi, outer.hi);
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

bool IsIn(FunctionState& state, const Part& part, const std::set<Part>& parts) {
  return Holds(state, parts, part);
}

bool IsWrittenEarlier(FunctionState& state, const Part& part, const Entity& binder,
                      const std::set<Part>& before, const std::set<Part>& each) {
  auto starts = [&](const PartDim& dim) { return dim.binder == &binder; };
  if (std::ranges::count_if(part.dims, starts) != 1) return false;
  size_t along = static_cast<size_t>(std::ranges::find_if(part.dims, starts) - part.dims.begin());
  LoopBounds loop = BoundsOf(state, binder);
  if (loop.lo == nullptr || loop.step == nullptr) return false;
  const PartDim& read = part.dims[along];
  return std::ranges::any_of(each, [&](const Part& written) {
    if (written.tensor != part.tensor) return false;
    const PartDim& dim = written.dims[along];
    for (size_t d = 0; d < part.dims.size(); ++d) {
      if (d != along &&
          (written.dims[d].binder == &binder || !Holds(state, written.dims[d], part.dims[d])))
        return false;
    }
    bool is_earlier = dim.binder == &binder && IsAtMost(state, loop.step, dim.width) &&
                      IsAtMost(state, Sum(state, read.lo, read.width), dim.lo);
    if (!is_earlier) return false;
    Part first = part;  // what the first iteration has not written yet
    Size end = Sum(state, loop.lo, dim.lo);
    first.dims[along] = {nullptr, nullptr, Sum(state, loop.lo, read.lo), end};
    return IsAtMost(state, end, state.module.sizes.Constant(0)) || Holds(state, before, first);
  });
}

void EraseParts(std::set<Part>& parts, const StmtInfo& loop) {
  std::erase_if(parts, [&](const Part& part) {
    return std::ranges::any_of(part.dims, [&](const PartDim& dim) {
      return dim.binder != nullptr && std::ranges::count(loop.entities, dim.binder) > 0;
    });
  });
}

bool Mentions(const Part& part, const std::set<Name>& names) {
  return std::ranges::any_of(part.dims, [&](const PartDim& dim) {
    return Mentions(dim.width, names) || Mentions(dim.lo, names) || Mentions(dim.hi, names);
  });
}

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
    std::optional<PartDim> covered = Covered(state, *binder, *place, dim);
    if (!covered) return std::nullopt;
    *place = *covered;
  }
  return part;
}

}  // namespace kdl::sema
