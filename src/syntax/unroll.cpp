#include "syntax/unroll.h"

#include <fmt/format.h>

#include <unordered_map>
#include <utility>

namespace kdl::syntax {

namespace {

/// Copies syntax trees. Unrolls loops over lists, and replaces the variables of these loops with list
/// elements.
class Copier {
 public:
  explicit Copier(Builder& builder) : builder_(builder) {}

  const BlockStmt* Block(const BlockStmt* block) {
    if (block == nullptr) return nullptr;
    auto* copy = Clone<BlockStmt>(block);
    for (const Stmt*& stmt : copy->stmts) stmt = Statement(stmt);
    return copy;
  }

 private:
  template <class T>
  T* Clone(const Stmt* stmt) {
    auto* copy = builder_.arena.Make<T>(As<T>(stmt));
    copy->id = builder_.module.stmt_count++;
    return copy;
  }
  template <class T>
  T* Clone(const Expr* expr) {
    auto* copy = builder_.arena.Make<T>(As<T>(expr));
    copy->id = builder_.module.expr_count++;
    return copy;
  }

  const Stmt* Statement(const Stmt* stmt) {
    if (stmt == nullptr) return nullptr;
    switch (stmt->kind) {
      case StmtKind::Block:
        return Block(&As<BlockStmt>(stmt));
      case StmtKind::Let: {
        auto* copy = Clone<LetStmt>(stmt);
        copy->type = CopyType(copy->type);
        copy->value = Expression(copy->value);
        return copy;
      }
      case StmtKind::Assign: {
        auto* copy = Clone<AssignStmt>(stmt);
        for (const Expr** part : {&copy->target, &copy->value, &copy->condition})
          *part = Expression(*part);
        return copy;
      }
      case StmtKind::Call: {
        auto* copy = Clone<CallStmt>(stmt);
        copy->call = DynAs<CallExpr>(Expression(copy->call));  // null after an error
        return copy;
      }
      case StmtKind::Assert: {
        auto* copy = Clone<AssertStmt>(stmt);
        copy->condition = Expression(copy->condition);
        return copy;
      }
      case StmtKind::Launch: {
        auto* copy = Clone<LaunchStmt>(stmt);
        Args(copy->config);
        for (const Expr*& queue : copy->queues) queue = Expression(queue);
        copy->call = DynAs<CallExpr>(Expression(copy->call));  // null after an error
        return copy;
      }
      case StmtKind::If: {
        auto* copy = Clone<IfStmt>(stmt);
        copy->condition = Expression(copy->condition);
        copy->then_block = Block(copy->then_block);
        copy->else_stmt = Statement(copy->else_stmt);
        return copy;
      }
      case StmtKind::While: {
        auto* copy = Clone<WhileStmt>(stmt);
        copy->condition = Expression(copy->condition);
        copy->body = Block(copy->body);
        return copy;
      }
      case StmtKind::For:
        return Loop(As<ForStmt>(stmt));
      case StmtKind::Expect: {
        auto* copy = Clone<ExpectStmt>(stmt);
        Equation& equation = copy->equation;
        for (const Expr** part : {&equation.lhs, &equation.rhs, &equation.rtol, &equation.atol})
          *part = Expression(*part);
        return copy;
      }
      case StmtKind::View: {
        auto* copy = Clone<ViewStmt>(stmt);
        copy->type = CopyType(copy->type);
        copy->source = Expression(copy->source);
        return copy;
      }
      case StmtKind::Break:
      case StmtKind::Continue:
        return stmt;
      case StmtKind::Print:  // not allowed in a program; a later phase reports it
      case StmtKind::Return:
      case StmtKind::Range:
      case StmtKind::Domain:
      case StmtKind::Pipe:
      case StmtKind::Stage:
      case StmtKind::Sync:
        return stmt;
    }
    return stmt;
  }

  const Stmt* Loop(const ForStmt& loop) {
    const ListExpr* list = loop.binders.size() == 1 && loop.binders[0].extent.lo == nullptr
                               ? DynAs<ListExpr>(loop.binders[0].extent.hi)
                               : nullptr;
    if (list == nullptr) {
      auto* copy = Clone<ForStmt>(&loop);
      for (Binder& binder : copy->binders) {
        Extent& extent = binder.extent;
        for (const Expr** part : {&extent.lo, &extent.hi, &extent.by, &extent.step})
          *part = Expression(*part);
      }
      copy->body = Block(copy->body);
      return copy;
    }
    auto* copies = builder_.MakeStmt<BlockStmt>(loop.span);
    copies->unrolled = true;
    Name name = loop.binders[0].name.name;
    for (const Expr* element : list->elements) {
      const Expr* outer = std::exchange(elements_[name], element);
      copies->stmts.push_back(Block(loop.body));
      elements_[name] = outer;
    }
    return copies;
  }

  /// Returns the list element that replaces the name, or null if the name is not replaced.
  const Expr* Element(const Expr* expr) const {
    const auto* name = DynAs<NameExpr>(expr);
    auto known = name == nullptr ? elements_.end() : elements_.find(name->name);
    return known == elements_.end() ? nullptr : known->second;
  }

  const Expr* Expression(const Expr* expr) {
    if (expr == nullptr) return nullptr;
    if (const Expr* element = Element(expr)) return Copy(element);
    if (const auto* field = DynAs<FieldExpr>(expr)) {
      const auto* tuple = DynAs<TupleExpr>(Element(field->base));
      if (tuple != nullptr && !field->name && field->index < tuple->elements.size())
        return Copy(tuple->elements[field->index]);
    }
    return Copy(expr);
  }

  const Expr* Copy(const Expr* expr) {
    switch (expr->kind) {
      case ExprKind::IntLit:
        return Clone<IntLit>(expr);
      case ExprKind::FloatLit:
        return Clone<FloatLit>(expr);
      case ExprKind::BoolLit:
        return Clone<BoolLit>(expr);
      case ExprKind::StringLit:
        return Clone<StringLit>(expr);
      case ExprKind::AutoLit:
        return Clone<AutoLit>(expr);
      case ExprKind::Name:
        return Clone<NameExpr>(expr);
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
                              [&](auto& e) { Each(e.receiver), Args(e.generics), Args(e.args); });
      case ExprKind::Reduce:
        return With<ReduceExpr>(expr,
                                [&](auto& e) { All(e.operands), Each(e.combine), Each(e.init); });
      case ExprKind::Index:
        return With<IndexExpr>(
            expr, [&](auto& e) { Each(e.base), Indices(e.indices), Each(e.otherwise); });
      case ExprKind::Field:
        return With<FieldExpr>(expr, [&](auto& e) { Each(e.base); });
      case ExprKind::Tuple:
        return With<TupleExpr>(expr, [&](auto& e) { All(e.elements); });
      case ExprKind::List:
        return With<ListExpr>(expr, [&](auto& e) { All(e.elements); });
      case ExprKind::Type:
        return With<TypeExpr>(expr, [&](auto& e) { e.type = CopyType(e.type); });
      case ExprKind::Move:
        return With<MoveExpr>(expr, [&](auto& e) { Each(e.operand); });
    }
    return expr;
  }

  template <class T, class Change>
  const Expr* With(const Expr* expr, Change change) {
    T* copy = Clone<T>(expr);
    change(*copy);
    return copy;
  }
  void Each(const Expr*& expr) { expr = Expression(expr); }
  void All(std::vector<const Expr*>& exprs) {
    for (const Expr*& expr : exprs) Each(expr);
  }
  void Indices(std::vector<Index>& indices) {
    for (Index& index : indices) Each(index.value), Each(index.hi);
  }
  void Args(std::vector<Arg>& args) {
    for (Arg& arg : args) Each(arg.value);
  }
  const TypeRef* CopyType(const TypeRef* type) {
    if (type == nullptr) return nullptr;
    auto* copy = builder_.arena.Make<TypeRef>(*type);
    All(copy->dims);
    for (const TypeRef*& element : copy->elements) element = CopyType(element);
    return copy;
  }

  Builder& builder_;
  /// The list element that replaces each loop variable; null if the variable is not replaced.
  std::unordered_map<Name, const Expr*> elements_;
};

}  // namespace

const FunctionItem* ProgramOf(Builder& builder, const TestItem& test) {
  auto* program = builder.arena.Make<FunctionItem>();
  program->span = test.span;
  program->function_kind = FunctionKind::Program;
  uint32_t line = builder.sources.Locate(test.span).line;
  program->name.span = test.span;
  program->name.span.end = program->name.span.begin + 4;  // the span covers the keyword `test`
  program->name.name = builder.names.Intern(fmt::format("test.{}", line));
  program->test = &test;
  program->body = Copier(builder).Block(test.body);
  return program;
}

}  // namespace kdl::syntax
