#include "sema/stages/pipes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sema/model/reduction_kinds.h"
#include "sema/stages/stages.h"
#include "sema/types/attributes.h"
#include "sema/types/coerce.h"
#include "sema/types/extents.h"
#include "sema/types/foreign_calls.h"
#include "sema/types/size_arithmetic.h"
#include "sema/walk/expr.h"
#include "sema/walk/quote.h"
#include "sema/walk/resolve.h"

namespace kdl::sema {

namespace {

using syntax::Arg;
using syntax::CallExpr;
using syntax::Expr;
using Ranges = std::vector<const Entity*>;

bool Same(FunctionState& state, Size a, Size b) {
  return ConstantDifference(state.module.sizes, a, b) == 0;
}

/// Returns whether a range can have this extent. A range of a fn whose extent is not set yet can have any
/// extent.
bool ExtentFits(FunctionState& state, const Entity* range, Size extent) {
  Size own = range->range.extent;
  if (own == nullptr) return Contains(state.fn.ranges, range);
  return Same(state, own, extent);
}

/// Sets the extents of a fn's ranges from the pipe dimensions for which the ranges are used.
void TakeExtents(const Entity* pipe, const Ranges& ranges) {
  for (size_t i = 0; i < ranges.size(); ++i) {
    Size& extent = const_cast<Entity*>(ranges[i])->range.extent;
    if (extent == nullptr) extent = pipe->type.dims[i];
  }
}

/// Finds assignments of candidate ranges to the pipe's dimensions. Each candidate is used at most once and
/// must have the extent of its dimension. Stops after two assignments, because the choice is then ambiguous.
void FindAssignments(FunctionState& state, const Entity* pipe, const Ranges& candidates,
                     Ranges& chosen, std::vector<Ranges>& found) {
  if (found.size() == 2) return;
  const std::vector<Size>& extents = pipe->type.dims;
  if (chosen.size() == extents.size()) return found.push_back(chosen);
  for (const Entity* range : candidates) {
    bool fits = !Contains(chosen, range) && ExtentFits(state, range, extents[chosen.size()]);
    if (!fits) continue;
    chosen.push_back(range);
    FindAssignments(state, pipe, candidates, chosen, found);
    chosen.pop_back();
  }
}

std::string ExtentsText(const Entity* pipe) {
  std::string text;
  for (Size extent : pipe->type.dims) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", SizeText(extent));
  }
  return text;
}

/// Infers the ranges of a push or pop that does not state them.
std::optional<Ranges> Infer(FunctionState& state, const CallExpr& call, const Entity* pipe,
                            const Ranges& candidates, bool pushes) {
  std::vector<Ranges> found;
  Ranges chosen;
  bool count_fits = !pushes || candidates.size() == pipe->type.dims.size();
  if (count_fits) FindAssignments(state, pipe, candidates, chosen, found);
  if (found.size() == 1) return found[0];
  std::string_view start = pushes ? "push(tile, " : "pop(";
  if (found.empty()) {
    std::string reason = pushes ? fmt::format("the tile has {}", RangesText(candidates))
                                : std::string("no ranges in scope fit");
    state.diagnostics
        .Report(diag::PipeNoRanges, call.span, reason, pipe->name.text(), ExtentsText(pipe))
        .Note(pipe->span, "declared here")
        .Help(fmt::format("name the ranges: {}.{}…)", pipe->name.text(), start));
  } else {
    state.diagnostics
        .Report(diag::PipeAmbiguous, call.span, pipe->name.text(), Joined(found[0]),
                Joined(found[1]))
        .Note(pipe->span, "declared here")
        .Help(fmt::format("name the ranges: {}.{}{})", pipe->name.text(), start, Joined(found[0])));
  }
  return std::nullopt;
}

/// Checks the range that is given for one dimension of a pipe. If `expr` is not a range with the dimension's
/// extent, reports an error and returns null.
const Entity* CheckPosition(FunctionState& state, const Entity* pipe, size_t position,
                            const Expr* expr) {
  const auto* name = syntax::DynAs<syntax::NameExpr>(expr);
  const Entity* range = name != nullptr ? Resolve(state, name->name, name->span) : nullptr;
  if (name != nullptr && (range == nullptr || IsFaulty(*range))) return nullptr;
  if (range == nullptr || range->kind != EntityKind::Range) {
    state.diagnostics
        .Report(diag::PipeNeedsRange, expr->span, Quote(state, expr), pipe->name.text())
        .Note(pipe->span, "declared here");
    return nullptr;
  }
  Size wanted = pipe->type.dims[position];
  if (ExtentFits(state, range, wanted)) return range;
  std::string found = range->range.extent != nullptr ? SizeText(range->range.extent) : "any size";
  state.diagnostics
      .Report(diag::PipeExtent, expr->span, range->name.text(), found, position + 1,
              pipe->name.text(), SizeText(wanted))
      .Note(range->span, fmt::format("'{}' is bound here", range->name.text()))
      .Note(pipe->span, "the pipe is declared here")
      .Help("make the blocks of the range as long as the extent of the pipe");
  return nullptr;
}

std::optional<Ranges> CheckPositions(FunctionState& state, const CallExpr& call, const Entity* pipe,
                                     size_t first, const Ranges& candidates) {
  size_t rank = pipe->type.dims.size();
  size_t given = call.args.size() - first;
  if (given == 0 && rank > 0) return Infer(state, call, pipe, candidates, first == 1);
  if (given != rank) {
    state.diagnostics
        .Report(diag::PipePositions, call.span, pipe->name.text(), Counted(rank, "dimension"),
                Counted(given, "range"))
        .Note(pipe->span, fmt::format("'{}' carries {}", pipe->name.text(), ToString(pipe->type)));
    return std::nullopt;
  }
  Ranges ranges;
  bool ok = true;
  for (size_t i = 0; i < rank; ++i) {
    const Entity* range = CheckPosition(state, pipe, i, call.args[first + i].value);
    if (range != nullptr && Contains(ranges, range)) {
      state.diagnostics.Report(diag::RangeTwice, call.args[first + i].span, range->name.text());
      range = nullptr;
    }
    ok = ok && range != nullptr;
    ranges.push_back(range);
  }
  return ok ? std::optional(ranges) : std::nullopt;
}

Type CheckPush(FunctionState& state, const CallExpr& call, const Entity* pipe, PipeInfo& info) {
  if (call.args.empty()) {
    state.diagnostics.Report(diag::PushNeedsTile, call.span, pipe->name.text());
    return Type{};
  }
  info.tile = call.args[0].value;
  Type value = CheckValue(state, info.tile);
  if (value.is_error()) return Type{};
  if (!Fits(state, info.tile, pipe->type.scalar)) {
    state.diagnostics
        .Report(diag::PushType, info.tile->span, pipe->name.text(), Spelling(pipe->type.scalar),
                std::string(Spelling(value.scalar)))
        .Note(pipe->span, "declared here")
        .Help(fmt::format("write '{}'", AsHint(state, info.tile, pipe->type.scalar)));
    return Type{};
  }
  value = state.fn.exprs[info.tile].type;
  if (value.is_error()) return Type{};
  std::optional<Ranges> ranges = CheckPositions(state, call, pipe, 1, value.ranges);
  if (!ranges) return Type{};
  info.ranges = *ranges;
  TakeExtents(pipe, info.ranges);
  Ranges missing = Missing(value.ranges, info.ranges);
  Type type;
  if (missing.empty()) {
    type.kind = TypeKind::Nothing;
    return type;
  }
  state.diagnostics
      .Report(diag::PushRanges, info.tile->span, RangesText(missing), pipe->name.text())
      .Note(pipe->span, fmt::format("'{}' carries {}", pipe->name.text(), ToString(pipe->type)))
      .Help(fmt::format("reduce the tile, for example {}", ReducedText(state, info.tile, missing)));
  return type;
}

Ranges LiveRanges(const FunctionState& state) {
  Ranges ranges;
  for (const Entity* entity : state.scopes.All()) {
    if (entity->kind == EntityKind::Range && !IsFaulty(*entity)) ranges.push_back(entity);
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const Entity* a, const Entity* b) { return a->number < b->number; });
  return ranges;
}

Type CheckPop(FunctionState& state, const CallExpr& call, const Entity* pipe, PipeInfo& info) {
  std::optional<Ranges> ranges = CheckPositions(state, call, pipe, 0, LiveRanges(state));
  if (!ranges) return Type{};
  info.ranges = *ranges;
  TakeExtents(pipe, info.ranges);
  Ranges ascending;
  for (const Entity* range : info.ranges) ascending = UnionOf(ascending, {range});
  return ValueType(pipe->type.scalar, std::move(ascending));
}

/// Records the stage that uses this end of the pipe. Reports an error if a second stage uses the end, or if
/// one stage uses both ends.
void RecordEnd(FunctionState& state, const Entity* pipe, bool pushes, Span span) {
  StageState& stages = state.stages;
  StageUse& own = pushes ? stages.pushes[pipe] : stages.pops[pipe];
  const StageUse& other = pushes ? stages.pops[pipe] : stages.pushes[pipe];
  if (own.stage != nullptr && own.stage != stages.current) {
    state.diagnostics
        .Report(diag::PipeEndTaken, span, stages.current->name.text(),
                pushes ? "pushes to" : "pops from", pipe->name.text(), own.stage->name.text())
        .Note(own.span, fmt::format("'{}' {} it here", own.stage->name.text(),
                                    pushes ? "pushes to" : "pops from"))
        .Help("give each stage a pipe of its own");
  }
  if (own.stage == nullptr && other.stage == stages.current) {
    state.diagnostics
        .Report(diag::PipeWithinStage, span, stages.current->name.text(), pipe->name.text())
        .Note(other.span, pushes ? "it pops here" : "it pushes here")
        .Help("move one of the two into another stage");
  }
  if (own.stage == nullptr) own = {stages.current, span};
}

/// Returns the pipe `q` in `q.push(…)`, or reports an error and returns null.
const Entity* ResolvePipe(FunctionState& state, const CallExpr& call) {
  std::string_view operation = call.callee.name.text();
  bool known = operation == "push" || operation == "pop";
  const auto* name = syntax::DynAs<syntax::NameExpr>(call.receiver);
  const Entity* entity = name != nullptr ? state.scopes.Find(name->name) : nullptr;
  if (entity == nullptr && known && name != nullptr) {
    ReportUnknown(state, name->name.text(), name->span);
  } else if (entity != nullptr && entity->kind == EntityKind::Pipe) {
    if (known) return IsFaulty(*entity) ? nullptr : entity;
    state.diagnostics.Report(diag::PipeOperation, call.callee.span, operation)
        .Note(entity->span, fmt::format("'{}' is declared here", entity->name.text()))
        .Help("use push or pop");
  } else if (entity != nullptr && known) {
    if (IsFaulty(*entity)) return nullptr;
    state.diagnostics
        .Report(diag::NotAPipe, call.receiver->span, entity->name.text(), Describe(entity->kind),
                operation)
        .Note(entity->span, "declared here");
  } else {
    state.diagnostics.Report(diag::NoMethod, call.callee.span, operation)
        .Help(HelpForMethod(state, call));
  }
  return nullptr;
}

/// Returns whether the current code may use this end of the pipe. Reports an error if not.
bool MayUse(FunctionState& state, const Entity* pipe, bool pushes, Span span) {
  if (pipe->end != syntax::Direction::In) {
    bool fits = pushes == (pipe->end == syntax::Direction::Push);
    if (fits) return true;
    state.diagnostics
        .Report(diag::PipeOtherEnd, span, pipe->name.text(), Spelling(pipe->end),
                pushes ? "push" : "pop")
        .Note(pipe->span, "declared here");
    return false;
  }
  if (state.stages.current != nullptr) return true;
  state.diagnostics
      .Report(diag::PipeOutsideStage, span, pushes ? "a push to" : "a pop from", pipe->name.text())
      .Help("write it in a stage: stage name { … }");
  return false;
}

bool HasOddArgs(FunctionState& state, const CallExpr& call) {
  for (const Arg& arg : call.args) {
    if (!arg.name) continue;
    state.diagnostics.Report(diag::NamedArgument, arg.name.span, call.callee.name.text());
    return true;
  }
  if (call.generics.empty()) return false;
  state.diagnostics.Report(diag::NoGenerics, call.generics[0].span, call.callee.name.text());
  return true;
}

}  // namespace

bool UseEnd(FunctionState& state, const Expr* expr, syntax::Direction end) {
  const Entity* pipe = state.fn.exprs[expr].entity;
  bool pushes = end == syntax::Direction::Push;
  if (!MayUse(state, pipe, pushes, expr->span)) return false;
  if (state.stages.current != nullptr) RecordEnd(state, pipe, pushes, expr->span);
  return true;
}

void CheckPipe(FunctionState& state, const syntax::PipeStmt& stmt) {
  Span head = stmt.span;
  head.end = stmt.name.span.end;
  bool ok = IsAtTop(state, "a pipe", head);
  if (!stmt.type->elements.empty()) {
    state.diagnostics.Report(diag::TupleInPipe, stmt.type->span, stmt.name.name.text())
        .Help("use one pipe for each component");
    return DeclareFaulty(state, stmt.name);
  }
  Type type;
  type.kind = TypeKind::Pipe;
  std::optional<Scalar> scalar = ResolveScalar(state, stmt.type->name);
  type.scalar = scalar.value_or(Scalar::F32);
  for (const Expr* dim : stmt.type->dims) {
    type.dims.push_back(CheckBlockSize(state, dim, "the extent of a pipe"));
    ok = ok && type.dims.back() != nullptr;
  }
  const syntax::Attribute* asked = FindAttribute(stmt.attributes, "depth");
  Entity* entity = Declare(state, EntityKind::Pipe, stmt.name);
  state.fn.stmts[&stmt].entities = {entity};
  // If there is no `@depth`, a later pass finds the smallest depth with which no stage blocks forever.
  entity->depth = asked == nullptr ? 1 : AttributeNumber(state, *asked).value_or(1);
  if (ok && scalar) entity->type = std::move(type);
}

Type CheckMethod(FunctionState& state, const CallExpr& call, ExprInfo& info) {
  const Entity* pipe = ResolvePipe(state, call);
  if (pipe == nullptr || HasOddArgs(state, call)) return Type{};
  bool pushes = call.callee.name.text() == "push";
  if (!MayUse(state, pipe, pushes, call.span)) return Type{};
  auto* facts = state.module.arena.Make<PipeInfo>(PipeInfo{});
  facts->pipe = pipe;
  facts->pushes = pushes;
  Type type = pushes ? CheckPush(state, call, pipe, *facts) : CheckPop(state, call, pipe, *facts);
  if (state.stages.current != nullptr) RecordEnd(state, pipe, pushes, call.span);
  if (!type.is_error()) info.pipe = facts;
  return type;
}

}  // namespace kdl::sema
