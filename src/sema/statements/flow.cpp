#include "sema/statements/flow.h"

#include "sema/accesses/tensor_effects.h"
#include "sema/statements/uniform.h"
#include "sema/walk/expr.h"
#include "sema/walk/stmt.h"

// Checks the statements `while`, `break` and `continue`.

namespace kdl::sema {

void OpenLoop(FunctionState& state, bool is_spmd) {
  state.loops.push_back({is_spmd, state.conditions.size(), state.influences.size(), {}, {}});
}

/// Takes into account the conditions around the jumps of the loop: they affect the values that variables have
/// after the loop, and how often each core reaches a statement in the loop.
void CloseLoop(FunctionState& state) {
  LoopState loop = std::move(state.loops.back());
  state.loops.pop_back();
  size_t assigned = state.influences.size();
  for (const syntax::Expr* condition : loop.jumps) {
    for (const UniformPlace& place : loop.places)
      state.uniform.push_back({condition, place.span, place.is_sync});
    for (size_t i = loop.influences; i < assigned; ++i)
      state.influences.push_back({state.influences[i].variable, condition});
  }
}

void CheckWhile(FunctionState& state, const syntax::WhileStmt& loop) {
  CheckCondition(state, loop.condition, "the condition of `while`", true);
  int divergent = MayVary(state, loop.condition) ? 1 : 0;
  state.divergent += divergent;
  ++state.loop_depth;
  state.conditions.push_back(loop.condition);
  OpenLoop(state, false);
  CheckBlock(state, *loop.body);
  CloseLoop(state);
  state.conditions.pop_back();
  --state.loop_depth;
  SettleReads(state);
  state.divergent -= divergent;
}

void CheckJump(FunctionState& state, const syntax::Stmt* jump) {
  bool is_break = jump->kind == syntax::StmtKind::Break;
  if (state.loops.empty()) {
    state.diagnostics.Report(diag::JumpOutsideLoop, jump->span, is_break ? "break" : "continue");
    return;
  }
  LoopState& loop = state.loops.back();
  if (is_break && loop.is_spmd) {
    state.diagnostics.Report(diag::BreakFromSpmd, jump->span)
        .Help("use `continue` to end only this block; use `if` to skip work in other blocks");
    return;
  }
  for (size_t i = loop.conditions; i < state.conditions.size(); ++i)
    loop.jumps.push_back(state.conditions[i]);
}

}  // namespace kdl::sema
