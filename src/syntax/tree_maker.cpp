#include "syntax/tree_maker.h"

#include <utility>

namespace kdl::syntax {

Ident TreeMaker::Id(std::string_view text) const {
  Ident ident;
  ident.span = span_;
  ident.name = builder_.names.Intern(text);
  return ident;
}

TypeName TreeMaker::Type(std::string_view text) const {
  TypeName type;
  static_cast<Ident&>(type) = Id(text);
  return type;
}

const Expr* TreeMaker::Name(const Ident& name) const {
  auto* expr = builder_.MakeExpr<NameExpr>(span_);
  expr->name = name.name;
  return expr;
}

const Expr* TreeMaker::Int(uint64_t value) const {
  auto* expr = builder_.MakeExpr<IntLit>(span_);
  expr->value = value;
  expr->text = builder_.names.Intern(std::to_string(value)).text();
  return expr;
}

const Expr* TreeMaker::I64(uint64_t value) const { return As(Int(value), Type("i64")); }

const Expr* TreeMaker::As(const Expr* value, const TypeName& type) const {
  auto* expr = builder_.MakeExpr<CastExpr>(span_);
  expr->operand = value;
  expr->type = type;
  return expr;
}

const Expr* TreeMaker::Binary(BinaryOp op, const Expr* lhs, const Expr* rhs) const {
  auto* expr = builder_.MakeExpr<BinaryExpr>(span_);
  expr->op = op;
  expr->op_span = span_;
  expr->lhs = lhs;
  expr->rhs = rhs;
  return expr;
}

const Expr* TreeMaker::Call(std::string_view callee,
                            std::initializer_list<const Expr*> args) const {
  auto* expr = builder_.MakeExpr<CallExpr>(span_);
  expr->callee = Id(callee);
  for (const Expr* value : args) {
    Arg& arg = expr->args.emplace_back();
    arg.span = span_;
    arg.value = value;
  }
  return expr;
}

const Expr* TreeMaker::Reduce(std::string_view op, const Expr* value, const Ident& range,
                              bool exclusive) const {
  auto* expr = builder_.MakeExpr<ReduceExpr>(span_);
  expr->op = Id(op);
  expr->operands = {value};
  expr->over = {range};
  expr->exclusive = exclusive;
  expr->appends = true;
  return expr;
}

const Expr* TreeMaker::OneIf(const Expr* condition) const {
  auto* expr = builder_.MakeExpr<IfExpr>(span_);
  expr->condition = condition;
  expr->then_value = I64(1);
  expr->else_value = Int(0);
  return expr;
}

const Expr* TreeMaker::Field(const Ident& base, std::string_view field) const {
  auto* expr = builder_.MakeExpr<FieldExpr>(span_);
  expr->base = Name(base);
  expr->name = Id(field);
  return expr;
}

const Expr* TreeMaker::Element(const Ident& tensor, const std::vector<const Expr*>& indices) const {
  auto* expr = builder_.MakeExpr<IndexExpr>(span_);
  expr->base = Name(tensor);
  for (const Expr* value : indices) {
    Index& index = expr->indices.emplace_back();
    index.span = span_;
    index.value = value;
  }
  return expr;
}

const LetStmt* TreeMaker::Let(const Ident& name, const Expr* value, bool is_var) const {
  auto* stmt = builder_.MakeStmt<LetStmt>(span_);
  stmt->is_var = is_var;
  stmt->name = name;
  stmt->value = value;
  return stmt;
}

const LetStmt* TreeMaker::LocalTensor(const Ident& name,
                                      const std::vector<const Expr*>& dims) const {
  auto* type = builder_.arena.Make<TypeRef>();
  type->span = span_;
  type->name = Type("i64");
  type->has_brackets = true;
  type->dims = dims;
  auto* stmt = builder_.MakeStmt<LetStmt>(span_);
  stmt->name = name;
  stmt->type = type;
  return stmt;
}

const AssignStmt* TreeMaker::Assign(const Expr* target, AssignOp op, const Expr* value) const {
  auto* stmt = builder_.MakeStmt<AssignStmt>(span_);
  stmt->op = op;
  stmt->target = target;
  stmt->value = value;
  return stmt;
}

const ForStmt* TreeMaker::ForEach(const Ident& name, const Expr* hi,
                                  std::vector<const Stmt*> body) const {
  Binder binder;
  binder.span = span_;
  binder.name = name;
  binder.extent.span = span_;
  binder.extent.lo = Int(0);
  binder.extent.hi = hi;
  return For({binder}, std::move(body), false);
}

const ForStmt* TreeMaker::For(std::vector<Binder> binders, std::vector<const Stmt*> body,
                              bool is_spmd) const {
  auto* stmt = builder_.MakeStmt<ForStmt>(span_);
  stmt->is_spmd = is_spmd;
  stmt->binders = std::move(binders);
  stmt->body = Block(std::move(body));
  return stmt;
}

Binder TreeMaker::Blocks(const Ident& name, const Expr* hi) const {
  Binder binder;
  binder.span = span_;
  binder.name = name;
  binder.extent.span = span_;
  binder.extent.hi = hi;
  binder.extent.by = Int(256);
  return binder;
}

const BlockStmt* TreeMaker::Block(std::vector<const Stmt*> stmts) const {
  auto* block = builder_.MakeStmt<BlockStmt>(span_);
  block->stmts = std::move(stmts);
  return block;
}

const Stmt* TreeMaker::Assert(const Expr* condition, std::string message) const {
  auto* text = builder_.MakeExpr<StringLit>(span_);
  text->value = std::move(message);
  auto* stmt = builder_.MakeStmt<AssertStmt>(span_);
  stmt->condition = condition;
  stmt->message = text;
  return stmt;
}

}  // namespace kdl::syntax
