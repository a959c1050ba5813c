#include <fmt/format.h>

#include "sema/devices.h"
#include "sema/expr.h"
#include "sema/groups.h"
#include "sema/imports.h"
#include "sema/resolve.h"
#include "sema/sizes.h"
#include "sema/stmt.h"
#include "sema/tensor_effects.h"

// Statements of a program that are calls: of another program, `copy(from, to);`, `swap(a, b);`.

namespace kdl::sema {

namespace {

using syntax::CallExpr;

/// The program that is called; null: it is something else.
const Entity* CalledProgram(FunctionState& state, const CallExpr& call) {
  const Entity* import = ImportOf(state, call.receiver);
  if (call.receiver != nullptr && import == nullptr) return nullptr;
  const Entity* entity = nullptr;
  if (import == nullptr) {
    entity = state.scopes.Find(call.callee.name);
  } else if (auto item = import->file->items.find(call.callee.name);
             item != import->file->items.end() && item->second->kind == EntityKind::Program) {
    entity = ResolveMember(state, *import, call.callee);
  }
  return entity != nullptr && entity->kind == EntityKind::Program ? entity : nullptr;
}

const Entity* TensorOf(FunctionState& state, const syntax::Arg& arg) {
  Type type = CheckExpr(state, arg.value);
  const Entity* entity = state.fn.exprs[arg.value].entity;
  return type.is_tensor() ? entity : nullptr;
}

bool HaveOneType(FunctionState& state, const CallExpr& call, const Type& a, const Type& b) {
  bool same = a.scalar == b.scalar && a.dims.size() == b.dims.size();
  for (size_t d = 0; same && d < a.dims.size(); ++d) {
    std::optional<int64_t> difference =
        ConstantDifference(state.module.sizes, a.dims[d], b.dims[d]);
    bool may_differ = call.callee.name.text() == "copy" && !difference;  // asked when it runs
    same = may_differ || difference == 0;
  }
  return same;
}

/// Exchanging memory needs memory that is the program's own.
bool MaySwap(FunctionState& state, const CallExpr& call, const Entity* const tensors[2]) {
  for (size_t i = 0; i < 2; ++i) {
    if (tensors[i]->kind == EntityKind::LocalTensor) continue;
    state.diagnostics
        .Report(diag::SwapOfOther, call.args[i].value->span, tensors[i]->name.text(),
                Describe(tensors[i]->kind))
        .Note(tensors[i]->span, "declared here")
        .Help(
            fmt::format("let the steps work on tensors of the program, and end with `copy(…, {});`",
                        tensors[i]->name.text()));
    return false;
  }
  auto place = [&](const Entity* tensor) {
    return tensor->on ? tensor->on : OnlyDevice(*state.group.file);
  };
  if (place(tensors[0]) == place(tensors[1])) return true;
  state.diagnostics
      .Report(diag::SwapDevices, call.span, tensors[0]->name.text(), tensors[1]->name.text())
      .Help("copy(a, b) moves the elements");
  return false;
}

void CheckTensorCall(FunctionState& state, const syntax::CallStmt& stmt) {
  const CallExpr& call = *stmt.call;
  std::string_view name = call.callee.name.text();
  bool bare =
      call.args.size() == 2 && call.generics.empty() && !call.args[0].name && !call.args[1].name;
  const Entity* tensors[2] = {};
  size_t errors = state.diagnostics.error_count();
  for (size_t i = 0; bare && i < 2; ++i) tensors[i] = TensorOf(state, call.args[i]);
  if (state.diagnostics.error_count() != errors) return;
  if (tensors[0] == nullptr || tensors[1] == nullptr) {
    state.diagnostics.Report(diag::TensorCallArguments, call.span, name);
    return;
  }
  bool swaps = name == "swap";
  if (tensors[0] == tensors[1]) {
    state.diagnostics.Report(diag::ArgumentsOverlap, call.args[1].value->span,
                             tensors[1]->name.text(), swaps ? "b" : "to", swaps ? "a" : "from");
    return;
  }
  if (!HaveOneType(state, call, tensors[0]->type, tensors[1]->type)) {
    state.diagnostics
        .Report(diag::TensorsDiffer, call.span, tensors[0]->name.text(), ToString(tensors[0]->type),
                tensors[1]->name.text(), ToString(tensors[1]->type), name)
        .Note(tensors[0]->span, "declared here")
        .Note(tensors[1]->span, "declared here");
    return;
  }
  if (swaps && !MaySwap(state, call, tensors)) return;
  if (!swaps) NoteRead(state, tensors[0], call.args[0].value->span);
  NoteWritten(state, tensors[1], call.args[1].value->span, "copy", "to");
  if (swaps) NoteWritten(state, tensors[0], call.args[0].value->span, "swap", "a");
  state.fn.stmts[&stmt].tensors =
      state.module.arena.Make<TensorCallInfo>(TensorCallInfo{swaps, tensors[0], tensors[1]});
}

}  // namespace

bool CheckHostCall(FunctionState& state, const syntax::CallStmt& stmt) {
  const CallExpr& call = *stmt.call;
  if (const Entity* program = CalledProgram(state, call)) {
    auto* bound = state.module.arena.Make<LaunchInfo>(LaunchInfo{});
    if (BindCallee(state, call, program, *bound)) state.fn.stmts[&stmt].launch = bound;
    return true;
  }
  std::string_view name = call.callee.name.text();
  bool known = call.receiver == nullptr && state.scopes.Find(call.callee.name) == nullptr &&
               (name == "copy" || name == "swap");
  if (known) CheckTensorCall(state, stmt);
  return known;
}

}  // namespace kdl::sema
