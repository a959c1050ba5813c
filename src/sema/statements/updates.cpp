#include "sema/statements/updates.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sema/accesses/tile_parts.h"
#include "sema/walk/expr.h"
#include "sema/walk/quote.h"
#include "sema/walk/resolve.h"

namespace kdl::sema {

namespace {

using syntax::AssignMode;
using syntax::AssignStmt;

std::string_view Word(const AssignStmt& assign) {
  return assign.mode == AssignMode::Atomic ? "atomic" : "reduce";
}

/// Returns whether a `reduce` is allowed in a stage. The partial results of groups of blocks are combined
/// after all stages have ended. So the loop must be executed only once, and its blocks must be known before
/// the stages start.
bool MayReduceAfterStages(FunctionState& state, const AssignStmt& assign) {
  const syntax::ForStmt& loop = *state.spmd_loop;
  const std::vector<const Entity*>& binders = state.fn.stmts[&loop].entities;
  bool named = binders.empty() || binders[0]->of != nullptr;
  const auto& stmts = state.stages.stmt->body->stmts;
  bool once = std::find(stmts.begin(), stmts.end(), &loop) != stmts.end();
  if (named && once) return true;
  Span head = loop.span;
  head.end = loop.body->span.begin;
  state.diagnostics
      .Report(diag::ReduceInStage, assign.span,
              named ? "not be in a loop or a branch" : "iterate over a named domain")
      .Note(head, "the `spmd for`")
      .Help(named
                ? "move the `spmd for` to the top level of the stage"
                : "declare the domain before the stages, `domain blocks = (…);`, and iterate over "
                  "it: `spmd for i, j in blocks`");
  return false;
}

/// Checks that a `reduce` is inside an `spmd for`, because it reduces over the blocks of that loop.
bool IsInBlocks(FunctionState& state, const AssignStmt& assign) {
  if (state.spmd_loop != nullptr)
    return state.stages.stmt == nullptr || MayReduceAfterStages(state, assign);
  state.diagnostics.Report(diag::ReduceOutside, assign.span)
      .Help("move it into an `spmd for`, or use `atomic`");
  return false;
}

/// Checks that the target is not a view, because partial results are kept for the tensor itself.
bool NamesMemory(FunctionState& state, const AssignStmt& assign) {
  const auto& index = syntax::As<syntax::IndexExpr>(assign.target);
  const auto* name = syntax::DynAs<syntax::NameExpr>(index.base);
  const Entity* tensor = name != nullptr ? state.scopes.Find(name->name) : nullptr;
  if (tensor == nullptr || ShownTensor(tensor) == tensor) return true;
  std::string_view memory = ShownTensor(tensor)->name.text();
  state.diagnostics.Report(diag::ReduceView, name->span, tensor->name.text(), memory)
      .Help(fmt::format("index {} instead", memory));
  return false;
}

/// Records the target of a `reduce`. All updates of a tensor in one loop must use the same operator.
void NoteReduced(FunctionState& state, const AssignStmt& assign) {
  const auto& index = syntax::As<syntax::IndexExpr>(assign.target);
  const auto* name = syntax::DynAs<syntax::NameExpr>(index.base);
  const Entity* tensor = name != nullptr ? state.scopes.Find(name->name) : nullptr;
  if (tensor == nullptr) return;
  state.fn.stmts[state.spmd_loop].is_grouped = true;
  auto [known, is_new] = state.reduced[state.spmd_loop].try_emplace(tensor, &assign);
  if (is_new || known->second->op == assign.op) return;
  state.diagnostics
      .Report(diag::ReduceOperators, assign.span, tensor->name.text(), Spelling(assign.op),
              Spelling(known->second->op))
      .Note(known->second->span, "it is also reduced here")
      .Help("use a separate loop for each operator");
}

}  // namespace

bool CheckUpdate(FunctionState& state, const AssignStmt& assign) {
  if (state.kind() != syntax::FunctionKind::Kernel) {
    bool fn = state.kind() == syntax::FunctionKind::Fn;
    state.diagnostics.Report(
        diag::Misplaced, assign.span,
        assign.mode == AssignMode::Atomic ? "an `atomic` statement" : "a `reduce` statement",
        fn ? "a fn" : "a program");
    return false;
  }
  if (assign.target->kind != syntax::ExprKind::Index || IsTilePart(state, assign.target)) {
    Diagnostic& report = state.diagnostics.Report(diag::UpdateTarget, assign.target->span,
                                                  Word(assign), Quote(state, assign.target));
    if (const auto* name = syntax::DynAs<syntax::NameExpr>(assign.target)) {
      const Entity* tensor = state.scopes.Find(name->name);
      bool is_single = tensor != nullptr && tensor->type.is_tensor() && tensor->type.dims.empty();
      report.Help(fmt::format("name the element: {}[{}]", Quote(state, assign.target),
                              is_single ? "" : "0"));
    }
    return false;
  }
  if (assign.mode == AssignMode::Atomic) return true;
  if (!IsInBlocks(state, assign) || !NamesMemory(state, assign)) return false;
  NoteReduced(state, assign);
  return true;
}

void CheckStoreCondition(FunctionState& state, const AssignStmt& assign, const Type& target) {
  if (assign.condition == nullptr) return;
  bool stores = state.kind() == syntax::FunctionKind::Kernel &&
                assign.target->kind == syntax::ExprKind::Index && !IsTilePart(state, assign.target);
  if (!stores) {
    state.diagnostics.Report(diag::WhereTarget, assign.condition->span, Quote(state, assign.target))
        .Help(state.kind() == syntax::FunctionKind::Program
                  ? "put the assignment into an `if` statement"
                  : "choose the value instead, with `if … then … else …`");
  }
  Type type = CheckCondition(state, assign.condition, "the condition of `where`", false);
  if (type.is_error() || target.is_error() || assign.mode == AssignMode::Atomic) return;
  std::vector<const Entity*> missing = Missing(type.ranges, target.ranges);
  if (missing.empty()) return;
  state.diagnostics
      .Report(diag::StoreLacksDimension, assign.condition->span, RangesText(missing),
              Quote(state, assign.target))
      .Help(fmt::format("reduce the condition to one for each stored element: any({} over {})",
                        Quote(state, assign.condition), Joined(missing)));
}

namespace {

/// The initial value of the partial result of a group of blocks.
enum class Identity : uint8_t { Zero, One, Lowest, Highest, AllBits };
Identity UpdateIdentity(syntax::AssignOp op) {
  switch (op) {
    case syntax::AssignOp::Mul:
      return Identity::One;
    case syntax::AssignOp::Max:
      return Identity::Lowest;
    case syntax::AssignOp::Min:
      return Identity::Highest;
    case syntax::AssignOp::BitAnd:
      return Identity::AllBits;
    default:
      return Identity::Zero;
  }
}

/// Checks that all operators that update a tensor have the same identity. An element that has never been
/// written starts with this value.
void CheckIdentities(FunctionState& state) {
  std::vector<std::pair<const AssignStmt*, const Entity*>> all;
  for (const auto& [loop, tensors] : state.reduced) {
    for (const auto& [tensor, assign] : tensors) all.emplace_back(assign, tensor);
  }
  std::ranges::sort(all, {}, [](const auto& one) { return one.first->span.begin; });
  std::unordered_map<const Entity*, const AssignStmt*> first;
  for (const auto& [assign, tensor] : all) {
    bool starts_empty = tensor->kind == EntityKind::LocalTensor ||
                        (tensor->kind == EntityKind::TensorParam &&
                         state.fn.params[tensor->param].direction == syntax::Direction::Out);
    const AssignStmt& known = *first.try_emplace(tensor, assign).first->second;
    if (!starts_empty || UpdateIdentity(known.op) == UpdateIdentity(assign->op)) continue;
    state.diagnostics
        .Report(diag::ReduceIdentities, assign->span, tensor->name.text(), Spelling(assign->op),
                Spelling(known.op))
        .Note(known.span, "it is also reduced here")
        .Help(
            "use a separate tensor for each operator, or declare it as `inout` and let the caller "
            "fill it");
  }
}

}  // namespace

void SettleGroups(FunctionState& state) {
  CheckIdentities(state);
  auto domain_of = [&](const syntax::Stmt* loop) -> const Entity* {
    const StmtInfo& info = state.fn.stmts[loop];
    return info.entities.empty() ? nullptr : info.entities[0]->of;
  };
  for (const auto& [loop, tensors] : state.reduced) {
    const Entity* domain = domain_of(loop);
    for (auto& [other, info] : state.fn.stmts) {
      bool alike = domain != nullptr && !info.entities.empty() && info.entities[0]->of == domain &&
                   info.entities[0]->in_spmd;
      if (alike) info.is_grouped = true;
    }
  }
}

}  // namespace kdl::sema
