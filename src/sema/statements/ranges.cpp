#include "sema/statements/ranges.h"

#include <fmt/format.h>

#include "sema/accesses/windows.h"
#include "sema/types/extents.h"
#include "sema/types/size_arithmetic.h"
#include "sema/walk/expr.h"
#include "sema/walk/quote.h"
#include "sema/walk/resolve.h"

namespace kdl::sema {

namespace {

using syntax::RangeStmt;

std::optional<RangeFacts> WholeRange(FunctionState& state, const RangeStmt& range) {
  RangeFacts facts;
  facts.whole = true;
  facts.hi = range.extent;
  if (CheckInteger(state, range.extent, "the extent of a range").is_error()) return std::nullopt;
  facts.domain = state.fn.exprs[range.extent].size;
  if (range.max != nullptr) {
    facts.extent = CheckBlockSize(state, range.max, "the `max` of a range");
  } else if (facts.domain != nullptr && IsStatic(state, facts.domain)) {
    facts.extent = facts.domain;
  } else {
    state.diagnostics.Report(diag::RangeNeedsMax, range.extent->span, Quote(state, range.extent))
        .Help(fmt::format("write `range {} in {} max 1024;`, or iterate over its blocks with `for`",
                          range.name.name.text(), Quote(state, range.extent)));
  }
  return facts.extent != nullptr ? std::optional(facts) : std::nullopt;
}

std::optional<RangeFacts> WindowRange(FunctionState& state, const RangeStmt& range) {
  RangeFacts facts;
  std::optional<IndexDim> window = CheckWindow(state, range.window);
  facts.hi = range.extent;
  if (facts.hi != nullptr && CheckInteger(state, facts.hi, "the extent of a range").is_error())
    return std::nullopt;
  if (!window) return std::nullopt;
  facts.extent = WindowExtent(state, *window);
  facts.window = state.module.arena.Make<IndexDim>(*std::move(window));
  bool is_known = IsConstant(facts.extent);
  if (is_known && !IsBlockSize(facts.extent->value)) {
    state.diagnostics.Report(diag::NoBlockSize, range.window->span, "the length of a window",
                             facts.extent->value);
    return std::nullopt;
  }
  return facts;
}

}  // namespace

Entity* DeclareRange(FunctionState& state, const syntax::Ident& name, const RangeFacts& facts) {
  Entity* entity = Declare(state, EntityKind::Range, name);
  entity->type.kind = TypeKind::Range;
  entity->range = facts;
  return entity;
}

void CheckRange(FunctionState& state, const RangeStmt& range) {
  std::optional<RangeFacts> facts =
      range.window != nullptr ? WindowRange(state, range) : WholeRange(state, range);
  if (!facts) return DeclareFaulty(state, range.name);
  state.fn.stmts[&range].entities = {DeclareRange(state, range.name, *facts)};
}

}  // namespace kdl::sema
