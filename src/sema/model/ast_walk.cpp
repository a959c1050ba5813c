#include "sema/model/ast_walk.h"

namespace kdl::sema {

namespace {

using syntax::As;
using syntax::Expr;
using syntax::ExprKind;
using syntax::StmtKind;
using Visit = std::function<void(const Expr*)>;

void VisitAll(const std::vector<const Expr*>& exprs, const Visit& visit) {
  for (const Expr* expr : exprs) visit(expr);
}

void VisitArgs(const std::vector<syntax::Arg>& args, const Visit& visit) {
  for (const syntax::Arg& arg : args) visit(arg.value);
}

void VisitOptional(const Expr* expr, const Visit& visit) {
  if (expr != nullptr) visit(expr);
}

void VisitCall(const syntax::CallExpr& call, const Visit& visit) {
  VisitOptional(call.receiver, visit);
  VisitArgs(call.generics, visit);
  VisitArgs(call.args, visit);
}

void VisitReduce(const syntax::ReduceExpr& reduce, const Visit& visit) {
  VisitAll(reduce.operands, visit);
  VisitOptional(reduce.combine, visit);
  VisitOptional(reduce.init, visit);
}

void VisitIndex(const syntax::IndexExpr& index, const Visit& visit) {
  visit(index.base);
  for (const syntax::Index& at : index.indices) {
    visit(at.value);
    VisitOptional(at.hi, visit);
  }
  VisitOptional(index.otherwise, visit);
}

}  // namespace

void ForEachChild(const Expr* expr, const Visit& visit) {
  switch (expr->kind) {
    case ExprKind::IntLit:
    case ExprKind::FloatLit:
    case ExprKind::BoolLit:
    case ExprKind::StringLit:
    case ExprKind::AutoLit:
    case ExprKind::Name:
    case ExprKind::TypeTest:
      return;
    case ExprKind::Unary:
      return visit(As<syntax::UnaryExpr>(expr).operand);
    case ExprKind::Binary: {
      const auto& binary = As<syntax::BinaryExpr>(expr);
      visit(binary.lhs);
      return visit(binary.rhs);
    }
    case ExprKind::If: {
      const auto& choice = As<syntax::IfExpr>(expr);
      visit(choice.condition);
      visit(choice.then_value);
      return visit(choice.else_value);
    }
    case ExprKind::Cast:
      return visit(As<syntax::CastExpr>(expr).operand);
    case ExprKind::Call:
      return VisitCall(As<syntax::CallExpr>(expr), visit);
    case ExprKind::Reduce:
      return VisitReduce(As<syntax::ReduceExpr>(expr), visit);
    case ExprKind::Index:
      return VisitIndex(As<syntax::IndexExpr>(expr), visit);
    case ExprKind::Field:
      return visit(As<syntax::FieldExpr>(expr).base);
    case ExprKind::Tuple:
      return VisitAll(As<syntax::TupleExpr>(expr).elements, visit);
    case ExprKind::List:
      return VisitAll(As<syntax::ListExpr>(expr).elements, visit);
    case ExprKind::Type:
      return VisitAll(As<syntax::TypeExpr>(expr).type->dims, visit);
    case ExprKind::Move:
      return visit(As<syntax::MoveExpr>(expr).operand);
  }
}

void ForEachInside(const syntax::Stmt* stmt,
                   const std::function<void(const syntax::Stmt*)>& visit) {
  switch (stmt->kind) {
    case StmtKind::Block:
      for (const syntax::Stmt* inner : As<syntax::BlockStmt>(stmt).stmts) visit(inner);
      return;
    case StmtKind::If: {
      const auto& choice = As<syntax::IfStmt>(stmt);
      visit(choice.then_block);
      if (choice.else_stmt != nullptr) visit(choice.else_stmt);
      return;
    }
    case StmtKind::For:
      return visit(As<syntax::ForStmt>(stmt).body);
    case StmtKind::While:
      return visit(As<syntax::WhileStmt>(stmt).body);
    case StmtKind::Stage:
      return visit(As<syntax::StageStmt>(stmt).body);
    case StmtKind::Let:
    case StmtKind::Assign:
    case StmtKind::Call:
    case StmtKind::Assert:
    case StmtKind::Print:
    case StmtKind::Launch:
    case StmtKind::Break:
    case StmtKind::Continue:
    case StmtKind::Return:
    case StmtKind::Range:
    case StmtKind::Domain:
    case StmtKind::Pipe:
    case StmtKind::View:
    case StmtKind::Sync:
    case StmtKind::Expect:
      return;
  }
}

bool IsLoop(const syntax::Stmt* stmt) {
  switch (stmt->kind) {
    case StmtKind::For:
    case StmtKind::While:
      return true;
    case StmtKind::Block:
      return As<syntax::BlockStmt>(stmt).unrolled;
    case StmtKind::If:
    case StmtKind::Stage:
    case StmtKind::Let:
    case StmtKind::Assign:
    case StmtKind::Call:
    case StmtKind::Assert:
    case StmtKind::Print:
    case StmtKind::Launch:
    case StmtKind::Break:
    case StmtKind::Continue:
    case StmtKind::Return:
    case StmtKind::Range:
    case StmtKind::Domain:
    case StmtKind::Pipe:
    case StmtKind::View:
    case StmtKind::Sync:
    case StmtKind::Expect:
      break;
  }
  return false;
}

bool AnySubexpression(const Expr* expr, const std::function<bool(const Expr*)>& test) {
  bool found = test(expr);
  if (!found) {
    ForEachChild(expr, [&](const Expr* child) { found = found || AnySubexpression(child, test); });
  }
  return found;
}

}  // namespace kdl::sema
