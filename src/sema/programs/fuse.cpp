#include "sema/programs/fuse.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "sema/walk/resolve.h"

namespace kdl::sema {

namespace {

using syntax::LaunchStmt;

std::string_view KernelOf(const LaunchStmt& launch) { return launch.call->callee.name.text(); }

/// Returns whether two launches name the same device and queues. Both are compared as they are written.
bool IsSamePlace(const FunctionState& state, const LaunchStmt& a, const LaunchStmt& b) {
  auto same = [&](const syntax::Expr* x, const syntax::Expr* y) {
    return state.Text(x->span) == state.Text(y->span);
  };
  return a.device.name == b.device.name && std::ranges::equal(a.queues, b.queues, same);
}

}  // namespace

void CheckFuse(FunctionState& state, const syntax::BlockStmt& fuse) {
  const LaunchStmt* last = nullptr;
  for (const syntax::Stmt* stmt : fuse.stmts) {
    last = syntax::DynAs<LaunchStmt>(stmt);
    if (last != nullptr) continue;
    state.diagnostics.Report(diag::FuseStatement, stmt->span)
        .Help("write it before or after the `fuse`");
    return;
  }
  if (fuse.stmts.size() < 2) {
    state.diagnostics.Report(diag::FuseOfOne, fuse.span, fuse.stmts.empty() ? "none" : "one")
        .Help("remove the `fuse`, or add the launch of another kernel to it");
    return;
  }
  for (const syntax::Stmt* stmt : fuse.stmts) {
    const auto& launch = syntax::As<LaunchStmt>(stmt);
    if (&launch == last) break;
    if (!IsSamePlace(state, launch, *last)) {
      state.diagnostics
          .Report(diag::FusePlace, launch.call->callee.span, KernelOf(launch), KernelOf(*last))
          .Note(last->call->callee.span, "this is the last launch of the `fuse`")
          .Help("write the same `on …` at all launches of the `fuse`");
    }
    if (!launch.config.empty()) {
      state.diagnostics.Report(diag::FuseCores, launch.config[0].span, KernelOf(launch))
          .Note(last->call->callee.span, "this is the last launch of the `fuse`")
          .Help(fmt::format("remove it, or write `spmd(core_num = …) {}(…)`", KernelOf(*last)));
    }
  }
}

}  // namespace kdl::sema
