#include "sema/walk/stmt.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "sema/contracts/contract.h"
#include "sema/programs/definite_writes.h"
#include "sema/programs/fuse.h"
#include "sema/programs/host_calls.h"
#include "sema/programs/launch.h"
#include "sema/stages/pipe_places.h"
#include "sema/stages/pipes.h"
#include "sema/stages/stages.h"
#include "sema/statements/assign.h"
#include "sema/statements/flow.h"
#include "sema/statements/let.h"
#include "sema/statements/loops.h"
#include "sema/statements/ranges.h"
#include "sema/statements/returns.h"
#include "sema/statements/uniform.h"
#include "sema/statements/updates.h"
#include "sema/statements/view.h"
#include "sema/statements/watch.h"
#include "sema/types/attributes.h"
#include "sema/walk/expr.h"
#include "sema/walk/resolve.h"
#include "syntax/counted_outputs.h"

namespace kdl::sema {

namespace {

using syntax::As;
using syntax::Expr;
using syntax::FunctionKind;
using syntax::Stmt;
using syntax::StmtKind;

enum class Allowed : uint8_t { Ok, No };

struct StmtRule {
  std::string_view text;
  StmtKind kind;
  std::array<Allowed, 3> places;  ///< indexed by FunctionKind
};

constexpr StmtRule kStmtRules[] = {
#define KDL_STMT(kind, text, in_fn, in_kernel, in_program) \
  {text, StmtKind::kind, {Allowed::in_fn, Allowed::in_kernel, Allowed::in_program}},
#include "sema/statements/stmt_rules.def"
};

const StmtRule& StatementRule(StmtKind kind) {
  const StmtRule& rule = kStmtRules[static_cast<size_t>(kind)];
  KDL_CHECK(rule.kind == kind, "the rows of stmt_rules.def are not in the order of StmtKind");
  return rule;
}

std::string_view Describe(FunctionKind kind) {
  switch (kind) {
    case FunctionKind::Fn:
      return "a fn";
    case FunctionKind::Kernel:
      return "a kernel";
    case FunctionKind::Program:
      return "a program";
  }
  KDL_UNREACHABLE("function kind {}", static_cast<int>(kind));
}

/// Declares faulty entities for the names that a rejected statement would declare, so that uses of these
/// names are not reported as unknown.
void DeclareNamesOf(FunctionState& state, const Stmt* stmt) {
  if (const auto* domain = syntax::DynAs<syntax::DomainStmt>(stmt)) {
    DeclareFaulty(state, domain->name);
  } else if (const auto* stage = syntax::DynAs<syntax::StageStmt>(stmt)) {
    DeclareFaulty(state, stage->name);
  } else if (const auto* pipe = syntax::DynAs<syntax::PipeStmt>(stmt)) {
    DeclareFaulty(state, pipe->name);
  } else if (const auto* view = syntax::DynAs<syntax::ViewStmt>(stmt)) {
    DeclareFaulty(state, view->name);
  } else if (const auto* range = syntax::DynAs<syntax::RangeStmt>(stmt)) {
    DeclareFaulty(state, range->name);
  }
}

/// Returns the first line of a statement.
Span StatementHead(const FunctionState& state, const Stmt* stmt) {
  Span span = stmt->span;
  size_t line = state.Text(span).find('\n');
  if (line != std::string_view::npos) span.end = span.begin + static_cast<uint32_t>(line);
  return span;
}

bool MayStand(FunctionState& state, const Stmt* stmt) {
  const StmtRule& rule = StatementRule(stmt->kind);
  Allowed place = rule.places[static_cast<size_t>(state.kind())];
  bool is_static = stmt->kind == StmtKind::Assert && As<syntax::AssertStmt>(stmt).is_static;
  bool is_fuse = stmt->kind == StmtKind::Block && As<syntax::BlockStmt>(stmt).fused;
  if (is_fuse && state.kind() != FunctionKind::Program) place = Allowed::No;
  if (stmt->kind == StmtKind::Expect && state.fn.item->test == nullptr) place = Allowed::No;
  if (is_static && state.kind() == FunctionKind::Program) place = Allowed::No;
  if (place == Allowed::Ok) return true;
  std::string_view what = is_static ? "`static_assert`" : is_fuse ? "`fuse`" : rule.text;
  Diagnostic& report = state.diagnostics.Report(diag::Misplaced, StatementHead(state, stmt), what,
                                                Describe(state.kind()));
  if (is_static) report.Help("write `assert`, which is checked at run time");
  if (stmt->kind == StmtKind::Launch || is_fuse) report.Help("launch kernels from a program");
  if (stmt->kind == StmtKind::Expect) report.Help("use `expect` in a test");
  if (stmt->kind == StmtKind::Return)
    report.Help(
        "store the result in a parameter, such as `result: out f32[1]`: `if core_id == 0 { "
        "result[0] = …; }`");
  DeclareNamesOf(state, stmt);
  return false;
}

void CheckSync(FunctionState& state, const Stmt* stmt) {
  std::string_view place = state.stages.current != nullptr ? "a stage"
                           : state.spmd_depth != 0         ? "`spmd for`"
                                                           : "";
  if (place.empty()) {
    CheckUniformPlace(state, stmt->span, true);
    return;
  }
  state.diagnostics.Report(diag::SyncPlace, stmt->span, place)
      .Help(
          state.stages.current != nullptr
              ? "use pipes to make stages wait for each other, or two kernels if a barrier is "
                "needed"
              : "remove it: the statements of a block run in order. If it waits for other blocks, "
                "end the loop before it, and start another one after it");
}

/// Returns whether the condition implies `core_id == 0`. That comparison may be an operand of `&&`.
bool HoldsOnCoreZero(const FunctionState& state, const Expr* condition) {
  const auto* binary = syntax::DynAs<syntax::BinaryExpr>(condition);
  if (binary == nullptr) return false;
  if (binary->op == syntax::BinaryOp::And) {
    return HoldsOnCoreZero(state, binary->lhs) || HoldsOnCoreZero(state, binary->rhs);
  }
  if (binary->op != syntax::BinaryOp::Eq) return false;
  auto is_core = [&](const Expr* expr) {
    auto info = state.fn.exprs.find(expr);
    return info != state.fn.exprs.end() && info->second.builtin != nullptr &&
           info->second.builtin->kind == BuiltinKind::CoreId;
  };
  return is_core(binary->lhs) ? !is_core(binary->rhs) : is_core(binary->rhs);
}

void CheckStmt(FunctionState& state, const Stmt* stmt);

void CheckIf(FunctionState& state, const syntax::IfStmt& choice) {
  CheckCondition(state, choice.condition, "the condition of `if`", true);
  int divergent = MayVary(state, choice.condition) ? 1 : 0;
  int core_zero = HoldsOnCoreZero(state, choice.condition) ? 1 : 0;
  state.divergent += divergent;
  state.core_zero += core_zero;
  state.conditions.push_back(choice.condition);
  CheckBlock(state, *choice.then_block);
  state.core_zero -= core_zero;
  if (choice.else_stmt != nullptr) CheckStmt(state, choice.else_stmt);
  state.conditions.pop_back();
  state.divergent -= divergent;
}

void CheckCallStmt(FunctionState& state, const syntax::CallStmt& stmt) {
  const syntax::CallExpr& call = *stmt.call;
  if (state.kind() == FunctionKind::Program && CheckHostCall(state, stmt)) return;
  Type type = CheckExpr(state, &call);
  bool popped = state.fn.exprs[&call].pipe != nullptr;
  if (type.is_error() || type.kind == TypeKind::Nothing || popped) return;
  state.diagnostics.Report(diag::UnusedResult, call.span, call.callee.name.text());
}

bool HasStopped(FunctionState& state, const Stmt* stmt) {
  if (state.diagnostics.error_count() <= kMaxErrors) return false;
  if (!std::exchange(state.has_stopped, true)) {
    state.diagnostics.Report(diag::TooManyErrors, StatementHead(state, stmt), kMaxErrors);
  }
  return true;
}

void Dispatch(FunctionState& state, const Stmt* stmt) {
  switch (stmt->kind) {
    case StmtKind::Let:
      return CheckLet(state, As<syntax::LetStmt>(stmt));
    case StmtKind::Assign:
      return CheckAssign(state, As<syntax::AssignStmt>(stmt));
    case StmtKind::Call:
      return CheckCallStmt(state, As<syntax::CallStmt>(stmt));
    case StmtKind::Launch:
      return CheckLaunch(state, As<syntax::LaunchStmt>(stmt));
    case StmtKind::Block:
      if (As<syntax::BlockStmt>(stmt).fused) CheckFuse(state, As<syntax::BlockStmt>(stmt));
      return CheckBlock(state, As<syntax::BlockStmt>(stmt));
    case StmtKind::If:
      return CheckIf(state, As<syntax::IfStmt>(stmt));
    case StmtKind::For:
      return CheckFor(state, As<syntax::ForStmt>(stmt));
    case StmtKind::While:
      return CheckWhile(state, As<syntax::WhileStmt>(stmt));
    case StmtKind::Assert:
      return CheckAssert(state, As<syntax::AssertStmt>(stmt));
    case StmtKind::Print:
      return CheckPrint(state, As<syntax::PrintStmt>(stmt));
    case StmtKind::Break:
    case StmtKind::Continue:
      return CheckJump(state, stmt);
    case StmtKind::Return:
      return CheckReturn(state, As<syntax::ReturnStmt>(stmt));
    case StmtKind::Range:
      return CheckRange(state, As<syntax::RangeStmt>(stmt));
    case StmtKind::Domain:
      return CheckDomain(state, As<syntax::DomainStmt>(stmt));
    case StmtKind::Pipe:
      return CheckPipe(state, As<syntax::PipeStmt>(stmt));
    case StmtKind::Stage:
      return CheckStage(state, As<syntax::StageStmt>(stmt));
    case StmtKind::View:
      return CheckView(state, As<syntax::ViewStmt>(stmt));
    case StmtKind::Sync:
      return CheckSync(state, stmt);
    case StmtKind::Expect:
      return CheckExpect(state, As<syntax::ExpectStmt>(stmt));
  }
}

/// Declares the name of a statement that is not checked, because the statement has an error.
void DeclareNames(FunctionState& state, const Stmt* stmt) {
  if (const auto* let = syntax::DynAs<syntax::LetStmt>(stmt)) DeclareFaulty(state, let->name);
}

void CheckStmt(FunctionState& state, const Stmt* stmt) {
  if (HasStopped(state, stmt)) return;
  if (!CheckAttributes(state, stmt->attributes)) return DeclareNames(state, stmt);
  if (!MayStand(state, stmt)) return;
  Dispatch(state, stmt);
  CheckPipePlaces(state, stmt);
}

}  // namespace

void CheckBlock(FunctionState& state, const syntax::BlockStmt& block) {
  ScopeGuard scope(state.scopes);
  ++state.block_depth;
  size_t errors = state.diagnostics.error_count();
  if (block.unrolled) OpenLoop(state, false);
  for (const Stmt* stmt : block.stmts) {
    CheckStmt(state, stmt);
    // An error in one copy of an unrolled loop body occurs in all copies.
    if (block.unrolled && state.diagnostics.error_count() != errors) break;
  }
  if (block.unrolled) CloseLoop(state);
  --state.block_depth;
}

void CheckBody(FunctionState& state) {
  std::vector<syntax::Attribute> attributes = state.fn.item->attributes;
  std::erase_if(attributes, syntax::ListsCounts);
  CheckAttributes(state, attributes);
  CheckBlock(state, *state.fn.item->body);
  CheckUniform(state);
  SettleDynamic(state);
  SettleGroups(state);
  if (state.kind() == FunctionKind::Kernel) CheckOutsideStages(state, *state.fn.item->body);
  if (state.kind() == FunctionKind::Fn) {
    CheckEndsUsed(state);
    CheckLastReturn(state);
    CheckEarlyReturn(state);
  }
  bool is_program = state.kind() == FunctionKind::Program && state.fn.item->test == nullptr;
  if (is_program && state.diagnostics.error_count() == 0) CheckDefiniteWrites(state);
}

}  // namespace kdl::sema
