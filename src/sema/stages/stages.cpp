#include "sema/stages/stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "sema/model/ast_walk.h"
#include "sema/walk/resolve.h"
#include "sema/walk/stmt.h"

namespace kdl::sema {

namespace {

using syntax::Expr;
using syntax::Stmt;
using syntax::StmtKind;

std::string_view Verb(bool writes) { return writes ? "writes" : "reads"; }

/// Returns whether a `let` may be evaluated outside of the stages. Its value must not read a tensor.
bool IsStageless(const FunctionState& state, const syntax::LetStmt& let) {
  if (let.is_var || let.value == nullptr) return false;
  return !AnySubexpression(let.value, [&](const Expr* expr) {
    auto info = state.fn.exprs.find(expr);
    return info != state.fn.exprs.end() && info->second.index != nullptr;
  });
}

/// Returns whether each core checks at run time that the range is not longer than its `max`. If the length is
/// a size, the launch checks this instead.
bool IsCheckedWhenRun(const FunctionState& state, const syntax::RangeStmt& range) {
  auto info = state.fn.exprs.find(range.extent);
  bool is_size = info == state.fn.exprs.end() || info->second.size != nullptr;
  return range.max != nullptr && !is_size;
}

struct Outside {
  bool allowed = true;
  std::string_view what;
  std::string_view help;
};

Outside JudgeOutside(const FunctionState& state, const Stmt* stmt) {
  constexpr std::string_view kMove = "move it into the stage that needs it";
  switch (stmt->kind) {
    case StmtKind::Stage:
    case StmtKind::Domain:
    case StmtKind::Pipe:
    case StmtKind::View:
      return {};
    case StmtKind::Range:
      if (!IsCheckedWhenRun(state, syntax::As<syntax::RangeStmt>(stmt))) return {};
      return {false, "a range with a `max` over a value that is not a size",
              "declare it in each stage that uses it"};
    case StmtKind::Let: {
      const auto& let = syntax::As<syntax::LetStmt>(stmt);
      if (IsStageless(state, let)) return {};
      if (let.value == nullptr && let.type != nullptr)
        return {false, "the declaration of a tensor", "use a pipe to pass values between stages"};
      if (let.is_var)
        return {false, "the declaration of a variable",
                "declare it in a stage; stages cannot share variables"};
      return {false, "a `let` value that reads a tensor", kMove};
    }
    case StmtKind::For:
    case StmtKind::While:
      return {false, "a loop", kMove};
    case StmtKind::If:
      return {false, "an `if`", kMove};
    case StmtKind::Assign:
      return {false, "an assignment", kMove};
    case StmtKind::Block:
      return {false, "a block", kMove};
    case StmtKind::Sync:
      return {false, "`sync`", "use pipes to make stages wait for each other"};
    case StmtKind::Call:  // these are reported elsewhere
    case StmtKind::Assert:
    case StmtKind::Print:
    case StmtKind::Launch:
    case StmtKind::Break:
    case StmtKind::Continue:
    case StmtKind::Return:
    case StmtKind::Expect:
      break;
  }
  return {};
}

Span FirstLine(const FunctionState& state, Span span) {
  size_t line = state.Text(span).find('\n');
  if (line != std::string_view::npos) span.end = span.begin + static_cast<uint32_t>(line);
  return span;
}

}  // namespace

bool IsAtTop(FunctionState& state, std::string_view what, Span head) {
  bool in_stage = state.stages.current != nullptr;
  if (!in_stage && state.block_depth == 1) return true;
  Diagnostic& report = state.diagnostics.Report(
      diag::StagePlace, head, what, in_stage ? "a stage" : "another statement of the kernel");
  if (in_stage) report.Note(state.stages.current->span, "the stage");
  report.Help("move it to the top level of the kernel's body");
  return false;
}

void CheckStage(FunctionState& state, const syntax::StageStmt& stmt) {
  Span head = stmt.span;
  head.end = stmt.name.span.end;
  bool at_top = IsAtTop(state, "a stage", head);
  Entity* stage = Declare(state, EntityKind::Stage, stmt.name);
  state.fn.stmts[&stmt].entities = {stage};
  StageState& stages = state.stages;
  const auto around = std::pair(stages.current, stages.stmt);
  if (at_top) std::tie(stages.current, stages.stmt) = std::pair(stage, &stmt);
  CheckBlock(state, *stmt.body);
  std::tie(stages.current, stages.stmt) = around;
}

void CheckOutsideStages(FunctionState& state, const syntax::BlockStmt& body) {
  auto is_stage = [](const Stmt* stmt) { return stmt->kind == StmtKind::Stage; };
  auto first = std::find_if(body.stmts.begin(), body.stmts.end(), is_stage);
  if (first == body.stmts.end()) return;
  Span stage = (*first)->span;
  stage.end = syntax::As<syntax::StageStmt>(*first).name.span.end;
  for (const Stmt* stmt : body.stmts) {
    Outside outside = JudgeOutside(state, stmt);
    if (outside.allowed) continue;
    state.diagnostics.Report(diag::OutsideStages, FirstLine(state, stmt->span), outside.what)
        .Note(stage, "the first stage of the kernel")
        .Help(std::string(outside.help));
  }
}

void RecordTensorUse(FunctionState& state, const Entity* tensor, Span span, bool writes) {
  const Entity* stage = state.stages.current;
  if (stage == nullptr) return;
  TensorUses& uses = state.stages.tensors[ShownTensor(tensor)];
  if (uses.first.stage == nullptr) {
    uses.first = {stage, span};
    uses.first_writes = writes;
  }
  bool after_write = uses.written.stage != nullptr && uses.written.stage != stage;
  bool after_read = writes && uses.first.stage != stage;
  if (!uses.reported && (after_write || after_read)) {
    uses.reported = true;
    const StageUse& other = after_write ? uses.written : uses.first;
    bool other_writes = after_write || uses.first_writes;
    state.diagnostics
        .Report(diag::TensorInTwoStages, span, stage->name.text(), Verb(writes),
                tensor->name.text(), other.stage->name.text(), Verb(other_writes))
        .Note(other.span,
              fmt::format("'{}' {} it here", other.stage->name.text(), Verb(other_writes)))
        .Help("pass the values through a pipe, or let one stage do both");
  }
  if (writes && uses.written.stage == nullptr) uses.written = {stage, span};
}

}  // namespace kdl::sema
