#include "sema/programs/host_calls.h"

#include <fmt/format.h>

#include <algorithm>

// Checks calls of programs, `copy(from, to);` and `swap(a, b);`, which are statements of programs. For checkpoints, see
// checkpoint.h.

#include "sema/accesses/slice.h"
#include "sema/accesses/tensor_effects.h"
#include "sema/functions/devices.h"
#include "sema/programs/checkpoint.h"
#include "sema/programs/launch.h"
#include "sema/types/size_arithmetic.h"
#include "sema/walk/imports.h"
#include "sema/walk/quote.h"

namespace kdl::sema {

namespace {

using syntax::CallExpr;

/// Returns the called program, or null if the call is something else.
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

const Entity* TensorArgument(FunctionState& state, const syntax::Arg& arg) {
  Type type = CheckTensor(state, arg.value);
  const Entity* entity = state.fn.exprs[arg.value].entity;
  return type.is_tensor() ? entity : nullptr;
}

/// Returns whether an argument uses something that an earlier error concerns.
bool HasFaulty(FunctionState& state, const CallExpr& call) {
  return state.diagnostics.error_count() > 0 &&
         std::ranges::any_of(call.args, [&](const syntax::Arg& arg) {
           return state.fn.exprs.contains(arg.value) && state.fn.Info(arg.value).type.is_error();
         });
}

bool HaveOneType(FunctionState& state, const CallExpr& call, const Type& a, const Type& b) {
  bool same = a.scalar == b.scalar && a.dims.size() == b.dims.size();
  for (size_t d = 0; same && d < a.dims.size(); ++d) {
    std::optional<int64_t> difference =
        ConstantDifference(state.module.sizes, a.dims[d], b.dims[d]);
    // `copy` compares sizes at run time if their difference is not known.
    bool may_differ = call.callee.name.text() == "copy" && !difference;
    same = may_differ || difference == 0;
  }
  return same;
}

/// Returns a view of the tensor if one is in scope at this point, otherwise null.
const Entity* VisibleView(const FunctionState& state, const Entity* tensor) {
  auto shows = [&](const Entity* entity) {
    return entity != tensor && ShownTensor(entity) == tensor &&
           state.scopes.Find(entity->name) == entity;
  };
  auto view = std::ranges::find_if(state.fn.entities, shows);
  return view == state.fn.entities.end() ? nullptr : *view;
}

/// Checks that the two tensors may be swapped. A program may exchange only memory that it owns.
bool MaySwap(FunctionState& state, const CallExpr& call, const Entity* const tensors[2]) {
  for (size_t i = 0; i < 2; ++i) {
    const syntax::Expr* arg = call.args[i].value;
    if (state.fn.Info(arg).slice != nullptr) {
      state.diagnostics.Report(diag::SliceSwapped, arg->span, Quote(state, arg))
          .Help("use copy(from, to) to copy the elements of slices");
      return false;
    }
    if (const Entity* view = VisibleView(state, ShownTensor(tensors[i]))) {
      state.diagnostics
          .Report(diag::ViewSwapped, arg->span, ShownTensor(tensors[i])->name.text(),
                  view->name.text())
          .Note(view->span, "declared here")
          .Help("put the view into a block of its own that ends before the swap: { view … }");
      return false;
    }
    if (tensors[i]->kind == EntityKind::LocalTensor) continue;
    state.diagnostics
        .Report(diag::SwapOfOther, call.args[i].value->span, tensors[i]->name.text(),
                tensors[i]->kind == EntityKind::TensorParam ? "a parameter"
                                                            : Describe(tensors[i]->kind))
        .Note(tensors[i]->span, "declared here")
        .Help(fmt::format(
            "compute in tensors of the program, and copy the result at the end: `copy(…, {});`",
            tensors[i]->name.text()));
    return false;
  }
  auto place = [&](const Entity* tensor) {
    return tensor->on ? tensor->on : OnlyDevice(*state.group.file);
  };
  if (place(tensors[0]) == place(tensors[1])) return true;
  state.diagnostics
      .Report(diag::SwapDevices, call.span, tensors[0]->name.text(), tensors[1]->name.text())
      .Help("use copy(a, b) to copy the elements");
  return false;
}

void CheckTensorCall(FunctionState& state, const syntax::CallStmt& stmt) {
  const CallExpr& call = *stmt.call;
  std::string_view name = call.callee.name.text();
  bool bare =
      call.args.size() == 2 && call.generics.empty() && !call.args[0].name && !call.args[1].name;
  const Entity* tensors[2] = {};
  size_t errors = state.diagnostics.error_count();
  for (size_t i = 0; bare && i < 2; ++i) tensors[i] = TensorArgument(state, call.args[i]);
  if (state.diagnostics.error_count() != errors || HasFaulty(state, call)) return;
  if (tensors[0] == nullptr || tensors[1] == nullptr) {
    state.diagnostics.Report(diag::TensorCallArguments, call.span, name);
    return;
  }
  bool swaps = name == "swap";
  const syntax::Expr* from = call.args[0].value;
  const syntax::Expr* to = call.args[1].value;
  if (ShareElements(state, from, to)) {
    if (swaps) {
      state.diagnostics.Report(diag::TensorCallArguments, call.span, name)
          .Help(fmt::format("'{}' is given twice: name another tensor, or remove the statement",
                            Quote(state, to)));
    } else {
      state.diagnostics.Report(diag::ArgumentsOverlap, to->span, Quote(state, to), "to", "from");
    }
    return;
  }
  const Type& type = state.fn.Info(from).type;
  const Type& other = state.fn.Info(to).type;
  if (!HaveOneType(state, call, type, other)) {
    state.diagnostics
        .Report(diag::TensorsDiffer, call.span, Quote(state, from), ToString(type),
                Quote(state, to), ToString(other), name)
        .Note(tensors[0]->span, "declared here")
        .Note(tensors[1]->span, "declared here");
    return;
  }
  if (swaps && !MaySwap(state, call, tensors)) return;
  if (!swaps) NoteRead(state, tensors[0], from->span);
  NoteWritten(state, tensors[1], to->span, "copy", "to");
  if (swaps) NoteWritten(state, tensors[0], from->span, "swap", "a");
  state.fn.stmts[&stmt].tensors =
      state.module.arena.Make<TensorCallInfo>(TensorCallInfo{swaps, from, to});
}

}  // namespace

bool CheckHostCall(FunctionState& state, const syntax::CallStmt& stmt) {
  const CallExpr& call = *stmt.call;
  if (const Entity* program = CalledProgram(state, call)) {
    auto* bound = state.module.arena.Make<LaunchInfo>(LaunchInfo{});
    if (BindCallee(state, call, program, *bound) && MayCall(state, call, *bound->kernel))
      state.fn.stmts[&stmt].launch = bound;
    else
      AssumeWritten(state, call);
    return true;
  }
  if (IsCheckpointCall(state, stmt)) return CheckCheckpoint(state, stmt), true;
  std::string_view name = call.callee.name.text();
  bool known = call.receiver == nullptr && state.scopes.Find(call.callee.name) == nullptr &&
               (name == "copy" || name == "swap");
  if (known) CheckTensorCall(state, stmt);
  return known;
}

}  // namespace kdl::sema
