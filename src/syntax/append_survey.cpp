#include "syntax/append_survey.h"

#include <cstddef>
#include <unordered_set>
#include <utility>

namespace kdl::syntax {

namespace {

/// Visits a statement by copying it; the copy is not used.
class Surveyor : public TreeCopier {
 public:
  using TreeCopier::TreeCopier;
  AppendSurvey found;

 private:
  const Stmt* Replacement(const Stmt* stmt) override {
    if (const auto* assign = DynAs<AssignStmt>(stmt)) return Assign(*assign);
    if (const auto* let = DynAs<LetStmt>(stmt)) declared_.insert(let->name.name);
    if (const auto* view = DynAs<ViewStmt>(stmt)) found.views.push_back(view);
    if (const auto* branch = DynAs<IfStmt>(stmt)) Ask(branch->condition);
    if (stmt->kind == StmtKind::Continue && depth_ == 1) found.leaves = stmt;
    const auto* loop = DynAs<ForStmt>(stmt);
    if (loop == nullptr && stmt->kind != StmtKind::While) return nullptr;
    ++depth_;
    if (loop != nullptr) loops_.push_back(loop);
    const Stmt* copy = CopyOf(stmt);
    if (loop != nullptr) loops_.pop_back();
    --depth_;
    return copy;
  }

  const Expr* Replacement(const Expr* expr) override {
    if (const auto* choice = DynAs<IfExpr>(expr)) Ask(choice->condition);
    const auto* name = DynAs<NameExpr>(expr);
    if (name != nullptr && !asked_.contains(expr)) found.read.emplace(name->name, expr);
    return nullptr;
  }

  /// Records a condition such as `bias` or `!bias`, which asks whether a tensor is present but does not read it.
  void Ask(const Expr* condition) {
    const auto* inverse = DynAs<UnaryExpr>(condition);
    if (inverse != nullptr && inverse->op == UnaryOp::Not) condition = inverse->operand;
    asked_.insert(condition);
  }

  const Stmt* Assign(const AssignStmt& assign) {
    Expression(assign.value);
    Expression(assign.condition);
    if (IsAppend(assign)) {
      found.appends.push_back({&assign, loops_, {}});
      for (const Expr* target : found.appends.back().targets()) Indices(target);
      return &assign;
    }
    Indices(assign.target);
    const NameExpr* base = BaseOf(assign.target);
    if (base != nullptr && !declared_.contains(base->name)) found.stored.emplace(base->name, base);
    return &assign;
  }

  void Indices(const Expr* target) {
    const auto* index = DynAs<IndexExpr>(target);
    if (index == nullptr) return;
    for (const Index& at : index->indices) Expression(at.value);
  }

  std::vector<const ForStmt*> loops_;
  size_t depth_ = 0;  ///< the number of loops, also of `while`
  std::unordered_set<Name> declared_;
  std::unordered_set<const Expr*> asked_;
};

}  // namespace

bool IsAppend(const AssignStmt& stmt) { return DynAs<TupleExpr>(stmt.target) != nullptr; }

const NameExpr* BaseOf(const Expr* target) {
  const auto* index = DynAs<IndexExpr>(target);
  return DynAs<NameExpr>(index != nullptr ? index->base : target);
}

bool IsRange(const Binder& binder) {
  const auto* pack = DynAs<NameExpr>(binder.extent.hi);
  return binder.extent.by != nullptr || (pack != nullptr && pack->is_pack);
}

AppendSurvey SurveyAppends(Arena& arena, const Stmt* stmt) {
  Surveyor surveyor(arena);
  surveyor.Statement(stmt);
  return std::move(surveyor.found);
}

}  // namespace kdl::syntax
