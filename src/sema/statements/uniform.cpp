#include "sema/statements/uniform.h"

#include "sema/model/ast_walk.h"

namespace kdl::sema {

using syntax::Expr;
using syntax::FunctionKind;

void ReportDivergent(FunctionState& state, Span head, bool is_sync) {
  Diagnostic& report = is_sync ? state.diagnostics.Report(diag::DivergentSync, head)
                               : state.diagnostics.Report(diag::DivergentSpmd, head);
  report.Help(
      "conditions and bounds around it can use sizes, `in` parameters and core_num, but not "
      "core_id or tensors that the kernel may write");
}

bool CheckUniformPlace(FunctionState& state, Span span, bool is_sync) {
  if (state.divergent > 0) {
    ReportDivergent(state, span, is_sync);
    return false;
  }
  for (const Expr* condition : state.conditions)
    state.uniform.push_back({condition, span, is_sync});
  for (LoopState& around : state.loops) around.places.push_back({nullptr, span, is_sync});
  return true;
}

/// The conditions that enclose an `spmd for` have already been checked once. They must be checked again here,
/// because loops carry values back to them: a variable may have turned out later to differ between cores.
void CheckUniform(FunctionState& state) {
  if (state.uniform.empty()) return;
  for (bool progress = true; progress;) {
    progress = false;
    for (const Influence& influence : state.influences) {
      if (state.varying.contains(influence.variable)) continue;
      if (!MayVary(state, influence.value)) continue;
      state.varying.insert(influence.variable);
      progress = true;
    }
  }
  for (const UniformPlace& place : state.uniform) {
    if (MayVary(state, place.condition)) ReportDivergent(state, place.span, place.is_sync);
  }
}

void RecordInfluence(FunctionState& state, const Entity* variable, const Expr* value) {
  if (state.kind() != FunctionKind::Kernel) return;
  bool by_core = state.divergent > 0 || DependsOnCore(state, value);
  if (by_core && state.spmd_depth == 0) state.core_dependent.insert(variable);
  if (state.divergent > 0 || MayVary(state, value)) state.varying.insert(variable);
  state.influences.push_back({variable, value});
  for (const Expr* condition : state.conditions) state.influences.push_back({variable, condition});
}

bool MayVary(FunctionState& state, const Expr* expr) {
  if (DependsOnCore(state, expr)) return true;
  return AnySubexpression(expr, [&](const Expr* inner) {
    auto info = state.fn.exprs.find(inner);
    if (info == state.fn.exprs.end()) return false;
    if (state.varying.contains(info->second.entity)) return true;
    const IndexInfo* index = info->second.index;
    if (index == nullptr || state.kind() != FunctionKind::Kernel) return false;
    bool is_input = index->base->kind == EntityKind::TensorParam &&
                    state.fn.params[index->base->param].direction == syntax::Direction::In;
    return !is_input && index->base->kind != EntityKind::Const;
  });
}

bool DependsOnCore(FunctionState& state, const Expr* expr) {
  return AnySubexpression(expr, [&](const Expr* inner) {
    auto info = state.fn.exprs.find(inner);
    if (info == state.fn.exprs.end()) return false;
    const Builtin* builtin = info->second.builtin;
    bool popped = info->second.pipe != nullptr && state.spmd_depth == 0;
    return popped || (builtin != nullptr && builtin->kind == BuiltinKind::CoreId) ||
           state.core_dependent.contains(info->second.entity);
  });
}

}  // namespace kdl::sema
