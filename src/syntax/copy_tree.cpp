#include "syntax/copy_tree.h"

namespace kdl::syntax {

const BlockStmt* TreeCopier::Block(const BlockStmt* block) {
  if (block == nullptr) return nullptr;
  auto* copy = arena_.Make<BlockStmt>(*block);
  for (const Stmt*& stmt : copy->stmts) stmt = Statement(stmt);
  return copy;
}

const Stmt* TreeCopier::Statement(const Stmt* stmt) {
  if (stmt == nullptr) return nullptr;
  const Stmt* replacement = Replacement(stmt);
  return replacement != nullptr ? replacement : CopyOf(stmt);
}

const Expr* TreeCopier::Expression(const Expr* expr) {
  if (expr == nullptr) return nullptr;
  const Expr* replacement = Replacement(expr);
  return replacement != nullptr ? replacement : CopyOf(expr);
}

const TypeRef* TreeCopier::Type(const TypeRef* type) {
  if (type == nullptr) return nullptr;
  auto* copy = arena_.Make<TypeRef>(*type);
  Expressions(copy->dims);
  for (const TypeRef*& element : copy->elements) element = Type(element);
  return copy;
}

void TreeCopier::Expressions(std::vector<const Expr*>& exprs) {
  for (const Expr*& expr : exprs) Each(expr);
}

void TreeCopier::Sides(Equation& equation) {
  for (const Expr** part :
       {&equation.lhs, &equation.rhs, &equation.condition, &equation.rtol, &equation.atol})
    Each(*part);
}

void TreeCopier::Each(Extent& extent) {
  for (const Expr** part : {&extent.lo, &extent.hi, &extent.by, &extent.step}) Each(*part);
}

void TreeCopier::Each(std::vector<Arg>& args) {
  for (Arg& arg : args) Each(arg.value);
}

template <class T, class Change>
const Stmt* TreeCopier::With(const Stmt* stmt, Change change) {
  auto* copy = arena_.Make<T>(As<T>(stmt));
  for (Attribute& attribute : copy->attributes) Each(attribute.args);
  change(*copy);
  return copy;
}

template <class T, class Change>
const Expr* TreeCopier::With(const Expr* expr, Change change) {
  auto* copy = arena_.Make<T>(As<T>(expr));
  change(*copy);
  return copy;
}

const Stmt* TreeCopier::CopyOf(const Stmt* stmt) {
  switch (stmt->kind) {
    case StmtKind::Block:
      return Block(&As<BlockStmt>(stmt));
    case StmtKind::Let:
      return With<LetStmt>(stmt, [&](auto& s) {
        s.type = Type(s.type), Each(s.value);
        for (DistributedDim& dim : s.on.by) Each(dim.size), Each(dim.block);
      });
    case StmtKind::Assign:
      return With<AssignStmt>(stmt,
                              [&](auto& s) { Each(s.target), Each(s.value), Each(s.condition); });
    case StmtKind::Call:
      // After an error, the copy of a call may be something else.
      return With<CallStmt>(stmt, [&](auto& s) { s.call = DynAs<CallExpr>(Expression(s.call)); });
    case StmtKind::Assert:
      return With<AssertStmt>(stmt, [&](auto& s) { Each(s.condition); });
    case StmtKind::Print:
      return With<PrintStmt>(stmt, [&](auto& s) { Expressions(s.values); });
    case StmtKind::Launch:
      return With<LaunchStmt>(stmt, [&](auto& s) {
        Each(s.config), Expressions(s.queues), s.call = DynAs<CallExpr>(Expression(s.call));
      });
    case StmtKind::If:
      return With<IfStmt>(stmt, [&](auto& s) {
        Each(s.condition), Each(s.then_block), s.else_stmt = Statement(s.else_stmt);
      });
    case StmtKind::For:
      return With<ForStmt>(stmt, [&](auto& s) {
        for (Binder& binder : s.binders) Each(binder.extent);
        Each(s.domain), Each(s.body);
      });
    case StmtKind::While:
      return With<WhileStmt>(stmt, [&](auto& s) { Each(s.condition), Each(s.body); });
    case StmtKind::Return:
      return With<ReturnStmt>(stmt, [&](auto& s) { Each(s.value); });
    case StmtKind::Range:
      return With<RangeStmt>(stmt, [&](auto& s) { Each(s.window), Each(s.extent), Each(s.max); });
    case StmtKind::Domain:
      return With<DomainStmt>(stmt, [&](auto& s) {
        for (Extent& extent : s.dims) Each(extent);
      });
    case StmtKind::Pipe:
      return With<PipeStmt>(stmt, [&](auto& s) { s.type = Type(s.type); });
    case StmtKind::Stage:
      return With<StageStmt>(stmt, [&](auto& s) { Each(s.body); });
    case StmtKind::View:
      return With<ViewStmt>(stmt, [&](auto& s) { s.type = Type(s.type), Each(s.source); });
    case StmtKind::Expect:
      return With<ExpectStmt>(stmt, [&](auto& s) { Sides(s.equation); });
    case StmtKind::Break:
    case StmtKind::Continue:
    case StmtKind::Sync:
      return stmt;
  }
  return stmt;
}

const Expr* TreeCopier::CopyOf(const Expr* expr) {
  auto as_it_is = [](auto&) {};
  switch (expr->kind) {
    case ExprKind::IntLit:
      return With<IntLit>(expr, as_it_is);
    case ExprKind::FloatLit:
      return With<FloatLit>(expr, as_it_is);
    case ExprKind::BoolLit:
      return With<BoolLit>(expr, as_it_is);
    case ExprKind::StringLit:
      return With<StringLit>(expr, as_it_is);
    case ExprKind::AutoLit:
      return With<AutoLit>(expr, as_it_is);
    case ExprKind::Name:
      return With<NameExpr>(expr, as_it_is);
    case ExprKind::TypeTest:
      return With<TypeTestExpr>(expr, as_it_is);
    case ExprKind::Unary:
      return With<UnaryExpr>(expr, [&](auto& e) { Each(e.operand); });
    case ExprKind::Binary:
      return With<BinaryExpr>(expr, [&](auto& e) { Each(e.lhs), Each(e.rhs); });
    case ExprKind::If:
      return With<IfExpr>(
          expr, [&](auto& e) { Each(e.condition), Each(e.then_value), Each(e.else_value); });
    case ExprKind::Cast:
      return With<CastExpr>(expr, [&](auto& e) { Each(e.operand); });
    case ExprKind::Call:
      return With<CallExpr>(expr,
                            [&](auto& e) { Each(e.receiver), Each(e.generics), Each(e.args); });
    case ExprKind::Reduce:
      return With<ReduceExpr>(
          expr, [&](auto& e) { Expressions(e.operands), Each(e.combine), Each(e.init); });
    case ExprKind::Index:
      return With<IndexExpr>(expr, [&](auto& e) {
        Each(e.base);
        for (Index& index : e.indices) Each(index.value), Each(index.hi);
        Each(e.otherwise);
      });
    case ExprKind::Field:
      return With<FieldExpr>(expr, [&](auto& e) { Each(e.base); });
    case ExprKind::Tuple:
      return With<TupleExpr>(expr, [&](auto& e) { Expressions(e.elements); });
    case ExprKind::List:
      return With<ListExpr>(expr, [&](auto& e) { Expressions(e.elements); });
    case ExprKind::Type:
      return With<TypeExpr>(expr, [&](auto& e) { e.type = Type(e.type); });
    case ExprKind::Move:
      return With<MoveExpr>(expr, [&](auto& e) { Each(e.operand); });
  }
  return expr;
}

}  // namespace kdl::syntax
