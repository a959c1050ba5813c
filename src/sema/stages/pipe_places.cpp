#include "sema/stages/pipe_places.h"

#include <fmt/format.h>

#include <algorithm>

// A push or pop moves a whole tile, and must be executed exactly once, in the order of the statements. So a
// statement may contain only one push or pop. It must not be in an expression that is evaluated only for some
// elements, nor in the bounds of a loop, which may be evaluated repeatedly. Calls of fns on whole tiles are
// not allowed in expressions that are evaluated only for some elements either.

#include "sema/model/ast_walk.h"
#include "sema/walk/resolve.h"

namespace kdl::sema {

namespace {

using syntax::As;
using syntax::BinaryOp;
using syntax::Expr;
using syntax::ExprKind;
using syntax::Stmt;
using syntax::StmtKind;

class PlaceWalk {
 public:
  explicit PlaceWalk(FunctionState& state) : state_(state) {}

  /// Visits an expression. If no push or pop may occur in it, `place` describes the expression for a
  /// message; otherwise `place` is empty.
  void Visit(const Expr* expr, std::string_view place) {
    if (const PipeInfo* pipe = PipeOf(expr)) Note(expr, *pipe, place);
    if (by_element_) NoteCall(expr);
    switch (expr->kind) {
      case ExprKind::If: {
        const auto& choice = As<syntax::IfExpr>(expr);
        Visit(choice.condition, place);
        VisitBranch(choice.then_value, choice.condition, "a branch of `if`", place);
        return VisitBranch(choice.else_value, choice.condition, "a branch of `if`", place);
      }
      case ExprKind::Binary: {
        const auto& binary = As<syntax::BinaryExpr>(expr);
        bool logic = binary.op == BinaryOp::And || binary.op == BinaryOp::Or;
        Visit(binary.lhs, place);
        if (logic) {
          return VisitBranch(binary.rhs, binary.lhs, "the right operand of `&&` or `||`", place);
        }
        return Visit(binary.rhs, place);
      }
      default:
        ForEachChild(expr, [&](const Expr* child) { Visit(child, place); });
    }
  }

  /// Visits an assignment. If it has a condition, the stored value is evaluated only for elements that
  /// satisfy the condition.
  void VisitAssign(const syntax::AssignStmt& assign) {
    Visit(assign.target, "an index on the left side");
    if (assign.condition == nullptr) return Visit(assign.value, "");
    Visit(assign.condition, "");
    VisitBranch(assign.value, assign.condition, "a store with `where`", "");
  }

 private:
  const PipeInfo* PipeOf(const Expr* expr) const {
    auto info = state_.fn.exprs.find(expr);
    return info != state_.fn.exprs.end() ? info->second.pipe : nullptr;
  }

  void VisitBranch(const Expr* expr, const Expr* condition, std::string_view branch,
                   std::string_view place) {
    std::string_view around = branch_;
    bool by_element = by_element_;
    auto info = state_.fn.exprs.find(condition);
    branch_ = branch;
    by_element_ |= info != state_.fn.exprs.end() && !info->second.type.ranges.empty();
    Visit(expr, place);
    branch_ = around;
    by_element_ = by_element;
  }

  /// Reports a call of a fn on whole tiles, because such a call cannot be evaluated for some elements only.
  void NoteCall(const Expr* expr) {
    auto info = state_.fn.exprs.find(expr);
    const CheckedFunction* callee = info != state_.fn.exprs.end() ? info->second.callee : nullptr;
    if (callee == nullptr || callee->ranges.empty()) return;
    state_.diagnostics
        .Report(diag::TileCallInBranch, expr->span, callee->item->name.name.text(), branch_)
        .Help(fmt::format("make it a separate statement before this one: let t = {};",
                          state_.Text(expr->span)));
  }

  void Note(const Expr* expr, const PipeInfo& pipe, std::string_view place) {
    std::string_view what = pipe.pushes ? "a push" : "a pop";
    std::string help = fmt::format("make it a separate statement before this one: {}{};",
                                   pipe.pushes ? "" : "let t = ", state_.Text(expr->span));
    if (!place.empty()) {
      state_.diagnostics.Report(diag::PipeInBound, expr->span, what, place).Help(help);
    } else if (!branch_.empty()) {
      state_.diagnostics.Report(diag::PipeInBranch, expr->span, what, branch_).Help(help);
    } else if (first_ != nullptr) {
      state_.diagnostics.Report(diag::PipeTwice, expr->span, what)
          .Note(first_->span, "the other pop")
          .Help(help);
    }
    // A statement such as `p.push(q.pop());` is allowed, because the nested pop always comes first.
    if (first_ == nullptr && !pipe.pushes) first_ = expr;
  }

  FunctionState& state_;
  const Expr* first_ = nullptr;  ///< the first pop in the statement
  std::string_view branch_;      ///< the innermost enclosing branch; empty if there is none
  bool by_element_ = false;      ///< an enclosing condition is a tile, so it selects elements
};

/// Returns whether an expression pushes to the pipe, pops from it or passes it to a fn.
bool Uses(const FunctionState& state, const Expr* expr, const Entity* pipe) {
  return AnySubexpression(expr, [&](const Expr* inner) {
    auto info = state.fn.exprs.find(inner);
    return info != state.fn.exprs.end() &&
           (info->second.entity == pipe ||
            (info->second.pipe != nullptr && info->second.pipe->pipe == pipe));
  });
}

bool AlwaysUses(const FunctionState& state, const Stmt* stmt, const Entity* pipe) {
  switch (stmt->kind) {
    case StmtKind::Block: {
      const auto& stmts = As<syntax::BlockStmt>(stmt).stmts;
      return std::any_of(stmts.begin(), stmts.end(),
                         [&](const Stmt* inner) { return AlwaysUses(state, inner, pipe); });
    }
    case StmtKind::If: {
      const auto& choice = As<syntax::IfStmt>(stmt);
      if (Uses(state, choice.condition, pipe)) return true;
      return choice.else_stmt != nullptr && AlwaysUses(state, choice.then_block, pipe) &&
             AlwaysUses(state, choice.else_stmt, pipe);
    }
    case StmtKind::Let: {
      const Expr* value = As<syntax::LetStmt>(stmt).value;
      return value != nullptr && Uses(state, value, pipe);
    }
    case StmtKind::Assign: {
      const auto& assign = As<syntax::AssignStmt>(stmt);
      bool decides = assign.condition != nullptr && Uses(state, assign.condition, pipe);
      return decides || Uses(state, assign.value, pipe);
    }
    case StmtKind::Call:
      return Uses(state, As<syntax::CallStmt>(stmt).call, pipe);
    case StmtKind::For:  // a loop may have no iteration
    case StmtKind::While:
    case StmtKind::Assert:  // these must not contain a push or pop
    case StmtKind::Print:
    case StmtKind::Launch:
    case StmtKind::Break:
    case StmtKind::Continue:
    case StmtKind::Return:
    case StmtKind::Range:
    case StmtKind::Domain:
    case StmtKind::Pipe:
    case StmtKind::Stage:
    case StmtKind::View:
    case StmtKind::Sync:
    case StmtKind::Expect:
      break;
  }
  return false;
}

}  // namespace

void CheckEndsUsed(FunctionState& state) {
  // If there is an error, the wrong code may have been meant as a push or pop.
  if (state.diagnostics.has_errors()) return;
  for (const ParamInfo& param : state.fn.params) {
    const Entity* pipe = param.entity;
    bool judged = pipe->kind == EntityKind::Pipe && !IsFaulty(*pipe);
    if (!judged || AlwaysUses(state, state.fn.item->body, pipe)) continue;
    std::string_view verb = pipe->end == syntax::Direction::Push ? "push" : "pop";
    state.diagnostics
        .Report(diag::PipeEndMissing, pipe->span, state.fn.item->name.name.text(), verb,
                pipe->name.text())
        .Help(fmt::format("{} in both branches of an `if`, or outside of it", verb));
  }
}

void CheckPipePlaces(FunctionState& state, const Stmt* stmt) {
  PlaceWalk walk(state);
  switch (stmt->kind) {
    case StmtKind::Let:
      if (const Expr* value = As<syntax::LetStmt>(stmt).value) walk.Visit(value, "");
      return;
    case StmtKind::Assign:
      return walk.VisitAssign(As<syntax::AssignStmt>(stmt));
    case StmtKind::Call:
      return walk.Visit(As<syntax::CallStmt>(stmt).call, "");
    case StmtKind::If:
      return walk.Visit(As<syntax::IfStmt>(stmt).condition, "");
    case StmtKind::Assert:
      return walk.Visit(As<syntax::AssertStmt>(stmt).condition, "an assertion");
    case StmtKind::Print:
      for (const Expr* value : As<syntax::PrintStmt>(stmt).values) walk.Visit(value, "`print`");
      return;
    case StmtKind::While:
      return walk.Visit(As<syntax::WhileStmt>(stmt).condition, "the condition of `while`");
    case StmtKind::Range:
      for (const Expr* expr :
           {As<syntax::RangeStmt>(stmt).window, As<syntax::RangeStmt>(stmt).extent}) {
        if (expr != nullptr) walk.Visit(expr, "the extent of a range");
      }
      return;
    case StmtKind::Return:
      if (const Expr* value = As<syntax::ReturnStmt>(stmt).value) walk.Visit(value, "`return`");
      return;
    case StmtKind::For:
      for (const syntax::Binder& binder : As<syntax::ForStmt>(stmt).binders) {
        for (const Expr* bound : {binder.extent.lo, binder.extent.hi, binder.extent.step}) {
          if (bound != nullptr) walk.Visit(bound, "the bound of a loop");
        }
      }
      return;
    case StmtKind::Domain:
      for (const syntax::Extent& dim : As<syntax::DomainStmt>(stmt).dims) {
        for (const Expr* bound : {dim.lo, dim.hi, dim.step}) {
          if (bound != nullptr) walk.Visit(bound, "a domain");
        }
      }
      return;
    case StmtKind::Block:  // their statements are visited separately
    case StmtKind::Stage:
    case StmtKind::Launch:  // programs and tests have no pipes
    case StmtKind::Expect:
    case StmtKind::Break:
    case StmtKind::Continue:
    case StmtKind::Pipe:
    case StmtKind::View:
    case StmtKind::Sync:
      return;
  }
}

}  // namespace kdl::sema
