#include <fmt/format.h>

#include "sema/ast_walk.h"
#include "sema/pipes.h"

// A push or pop is for a whole tile, once, in the order of statements. So in one statement there is
// one, outside of what runs for some elements only, and not in a bound, which may be evaluated again.

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

  /// `place`: what the expression is, where no push or pop may stand in it; else empty.
  void Visit(const Expr* expr, std::string_view place) {
    if (const PipeInfo* pipe = PipeOf(expr)) Note(expr, *pipe, place);
    switch (expr->kind) {
      case ExprKind::If: {
        const auto& choice = As<syntax::IfExpr>(expr);
        Visit(choice.condition, place);
        VisitBranch(choice.then_value, "a branch of `if`", place);
        return VisitBranch(choice.else_value, "a branch of `if`", place);
      }
      case ExprKind::Binary: {
        const auto& binary = As<syntax::BinaryExpr>(expr);
        bool logic = binary.op == BinaryOp::And || binary.op == BinaryOp::Or;
        Visit(binary.lhs, place);
        if (logic) return VisitBranch(binary.rhs, "the right side of `&&` or `||`", place);
        return Visit(binary.rhs, place);
      }
      default:
        ForEachChild(expr, [&](const Expr* child) { Visit(child, place); });
    }
  }

 private:
  const PipeInfo* PipeOf(const Expr* expr) const {
    auto info = state_.fn.exprs.find(expr);
    return info != state_.fn.exprs.end() ? info->second.pipe : nullptr;
  }

  void VisitBranch(const Expr* expr, std::string_view branch, std::string_view place) {
    std::string_view around = branch_;
    branch_ = branch;
    Visit(expr, place);
    branch_ = around;
  }

  void Note(const Expr* expr, const PipeInfo& pipe, std::string_view place) {
    std::string_view what = pipe.pushes ? "a push" : "a pop";
    std::string help = fmt::format("make it a statement of its own, before: {}{};",
                                   pipe.pushes ? "" : "let t = ", state_.Text(expr->span));
    if (!place.empty()) {
      state_.diagnostics.Report(diag::PipeInBound, expr->span, what, place).Help(help);
    } else if (!branch_.empty()) {
      state_.diagnostics.Report(diag::PipeInBranch, expr->span, what, branch_).Help(help);
    } else if (first_ != nullptr) {
      state_.diagnostics.Report(diag::PipeTwice, expr->span, what)
          .Note(first_->span, "the other one")
          .Help(help);
    }
    // A push of what is popped is in order: the pop in it comes first.
    if (first_ == nullptr && !pipe.pushes) first_ = expr;
  }

  FunctionState& state_;
  const Expr* first_ = nullptr;  ///< the first pop
  std::string_view branch_;      ///< the innermost branch around; empty: none
};

}  // namespace

void CheckPipePlaces(FunctionState& state, const Stmt* stmt) {
  PlaceWalk walk(state);
  switch (stmt->kind) {
    case StmtKind::Let:
      if (const Expr* value = As<syntax::LetStmt>(stmt).value) walk.Visit(value, "");
      return;
    case StmtKind::Assign:
      walk.Visit(As<syntax::AssignStmt>(stmt).target, "an index of the left side");
      return walk.Visit(As<syntax::AssignStmt>(stmt).value, "");
    case StmtKind::Call:
      return walk.Visit(As<syntax::CallStmt>(stmt).call, "");
    case StmtKind::If:
      return walk.Visit(As<syntax::IfStmt>(stmt).condition, "");
    case StmtKind::Range:
      return walk.Visit(As<syntax::RangeStmt>(stmt).extent, "the extent of a range");
    case StmtKind::Return:
      if (const Expr* value = As<syntax::ReturnStmt>(stmt).value) walk.Visit(value, "a return");
      return;
    case StmtKind::For:
      for (const syntax::Binder& binder : As<syntax::ForStmt>(stmt).binders) {
        for (const Expr* bound : {binder.extent.lo, binder.extent.hi, binder.extent.step}) {
          if (bound != nullptr) walk.Visit(bound, "a loop's bound");
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
    default:
      return;
  }
}

}  // namespace kdl::sema
