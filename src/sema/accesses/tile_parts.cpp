#include "sema/accesses/tile_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "sema/accesses/index_dim.h"
#include "sema/accesses/windows.h"
#include "sema/walk/expr.h"
#include "sema/walk/quote.h"
#include "sema/walk/resolve.h"

namespace kdl::sema {

namespace {

using syntax::Expr;

/// Returns the range of the tile that an index names. If the tile has no such range, reports an error and
/// returns null.
const Entity* IndexedRange(FunctionState& state, const syntax::IndexExpr& index,
                           const syntax::Arg& arg, const Type& tile) {
  if (!arg.name) {
    state.diagnostics
        .Report(diag::TileIndexed, arg.value->span, Quote(state, index.base),
                RangesText(tile.ranges))
        .Help("name the range of the index: t[k = e]");
    return nullptr;
  }
  const Entity* range = Resolve(state, arg.name.name, arg.name.span);
  if (range == nullptr || Contains(tile.ranges, range)) return range;
  state.diagnostics.Report(diag::TileLacksRange, arg.name.span, Quote(state, index.base),
                           RangesText(tile.ranges), arg.name.name.text());
  return nullptr;
}

/// Checks the indices of a subtile of `tile` and returns the type of the subtile, or an error type.
Type CheckIndices(FunctionState& state, const syntax::IndexExpr& index, const Type& tile,
                  PartInfo& part) {
  bool ok = true;
  std::vector<const Entity*> ranges;
  for (const syntax::Arg& arg : index.indices) {
    const Entity* range = IndexedRange(state, index, arg, tile);
    std::optional<IndexDim> dim = CheckIndexDim(state, arg.value);
    ok = ok && range != nullptr && dim;
    if (!ok) continue;
    if (Contains(part.ranges, range)) {
      state.diagnostics.Report(diag::RangeTwice, arg.name.span, range->name.text());
      ok = false;
    }
    ranges = UnionOf(ranges, RangesOfIndex(state, *dim));
    part.ranges.push_back(range);
    part.dims.push_back(std::move(*dim));
  }
  if (!ok) return Type{};
  return ValueType(tile.scalar, UnionOf(ranges, Missing(tile.ranges, part.ranges)));
}

/// Checks the indices along ranges with windows. If the tile has only such ranges, all indices are inside,
/// unless a window may be empty.
bool CheckWindows(FunctionState& state, PartInfo& part) {
  bool ok = true;
  part.is_inside = part.otherwise == nullptr;
  for (size_t i = 0; i < part.ranges.size(); ++i) {
    std::optional<bool> exists = false;
    if (part.ranges[i]->range.window != nullptr)
      exists = CheckIndexInWindow(state, *part.ranges[i], part.dims[i], part.otherwise);
    ok = ok && exists;
    part.is_inside = part.is_inside && exists.value_or(false);
  }
  return ok;
}

/// Returns whether an index of an assigned subtile is allowed. The index may be a single element, or a range
/// (possibly shifted or reversed) that the tile does not already have.
bool IsAssignable(const FunctionState& state, const PartInfo& part, size_t number,
                  const Type& tile) {
  const Entity* walked = nullptr;
  for (const IndexTerm& term : part.dims[number].terms) {
    if (term.range == nullptr) {
      if (!state.fn.exprs.at(term.value).type.ranges.empty()) return false;
      continue;
    }
    bool whole = IsConstant(term.coefficient, 1) || IsConstant(term.coefficient, -1);
    if (walked != nullptr || !whole) return false;
    walked = term.range;
  }
  if (walked == nullptr || walked == part.ranges[number]) return true;
  for (size_t other = 0; other < number; ++other) {
    for (const IndexTerm& term : part.dims[other].terms) {
      if (term.range == walked) return false;
    }
  }
  return !Contains(tile.ranges, walked);
}

}  // namespace

bool IsTilePart(const FunctionState& state, const Expr* expr) {
  const auto* index = syntax::DynAs<syntax::IndexExpr>(expr);
  if (index == nullptr || index->indices.empty() || !index->indices[0].name) return false;
  const auto* name = syntax::DynAs<syntax::NameExpr>(index->base);
  const Entity* entity = name != nullptr ? state.scopes.Find(name->name) : nullptr;
  return name == nullptr || (entity != nullptr && entity->type.is_value());
}

Type CheckTilePart(FunctionState& state, const syntax::IndexExpr& index, ExprInfo& info) {
  Type tile = CheckFinalValue(state, index.base);
  if (state.contract != nullptr && !tile.is_error()) {
    state.diagnostics.Report(diag::PartInContract, index.span)
        .Help("index the tensor itself: contracts refer to elements, not tiles");
    return Type{};
  }
  auto* part = state.module.arena.Make<PartInfo>(PartInfo{});
  Type type = tile.is_error() ? Type{} : CheckIndices(state, index, tile, *part);
  part->otherwise = index.otherwise;
  if (!type.is_error() && !CheckWindows(state, *part)) type = Type{};
  info.part = part;
  return index.otherwise == nullptr ? type
                                    : CheckOtherwise(state, index.otherwise, std::move(type));
}

Type CheckAssignedPart(FunctionState& state, const syntax::IndexExpr& index, const Type& tile,
                       ExprInfo& info) {
  auto* part = state.module.arena.Make<PartInfo>(PartInfo{});
  Type type = CheckIndices(state, index, tile, *part);
  if (type.is_error()) return type;
  for (size_t i = 0; i < part->dims.size(); ++i) {
    if (IsAssignable(state, *part, i, tile)) continue;
    state.diagnostics
        .Report(diag::PartAssigned, index.indices[i].value->span,
                Quote(state, index.indices[i].value))
        .Help("choose the elements instead: if iota(k) == … then … else t");
    return Type{};
  }
  info.part = part;
  return type;
}

}  // namespace kdl::sema
