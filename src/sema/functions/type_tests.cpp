#include "sema/functions/type_tests.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "sema/functions/optional_params.h"
#include "sema/functions/type_lists.h"
#include "sema/walk/imports.h"
#include "sema/walk/resolve.h"
#include "syntax/copy_tree.h"

namespace kdl::sema {

namespace {

using syntax::BlockStmt;
using syntax::Expr;
using syntax::FunctionItem;
using syntax::IfExpr;
using syntax::IfStmt;
using syntax::Stmt;
using syntax::TypeName;
using syntax::TypeTestExpr;

/// A word that stands for several types after `is`.
struct TypeClass {
  std::string_view word;
  bool (*contains)(Scalar);
};
constexpr TypeClass kClasses[] = {
    {"float", [](Scalar scalar) { return IsFloat(scalar); }},
    {"int", [](Scalar scalar) { return IsInteger(scalar); }},
    {"signed", [](Scalar scalar) { return IsSigned(scalar); }},
    {"unsigned", [](Scalar scalar) { return IsInteger(scalar) && !IsSigned(scalar); }},
};

const TypeClass* FindClass(const FunctionState& state, const TypeName& name) {
  if (name.member || state.scopes.Find(name.name) != nullptr) return nullptr;
  const auto* found = std::ranges::find(kClasses, name.name.text(), &TypeClass::word);
  return found != std::end(kClasses) ? found : nullptr;
}

/// Returns the list of types to which a name refers, or null.
const Entity* FindList(FunctionState& state, const TypeName& name) {
  const Entity* entity = state.scopes.Find(name.name);
  if (entity != nullptr && entity->kind == EntityKind::Import && name.member)
    entity = ResolveMember(state, *entity, name.member);
  return entity != nullptr && entity->kind == EntityKind::TypeList ? entity : nullptr;
}

bool Includes(FunctionState& state, const TypeName& name, Scalar scalar) {
  if (const TypeClass* type_class = FindClass(state, name)) return type_class->contains(scalar);
  if (const Entity* list = FindList(state, name)) {
    const std::vector<Scalar>& types = TypesOf(state.module, *list);
    return std::ranges::find(types, scalar) != types.end();
  }
  return ResolveScalar(state, name) == scalar;
}

/// Returns whether the test is true for the types of the instance.
bool IsTrue(FunctionState& state, const TypeTestExpr& test) {
  const Entity* entity = state.scopes.Find(test.type.name);
  bool is_type = entity != nullptr ? entity->kind == EntityKind::TypeGeneric
                                   : ScalarFromSpelling(test.type.name.text()).has_value();
  if (!is_type) {
    state.diagnostics.Report(diag::TypeTestOf, test.type.span, ToString(test.type))
        .Help("test a type parameter, such as T in <T: f16 | f32>");
    return true;
  }
  std::optional<Scalar> scalar = ResolveScalar(state, test.type);
  bool is_true = !scalar;
  for (const TypeName& name : test.among)
    is_true = (scalar && Includes(state, name, *scalar)) || is_true;
  return is_true;
}

/// Returns whether the condition is decided when the function is instantiated.
bool IsDecided(const FunctionItem& item, const Expr* condition) {
  return syntax::DynAs<TypeTestExpr>(condition) != nullptr || PresenceTestOf(item, condition);
}

const IfStmt* DecidedChoice(const FunctionItem& item, const Stmt* stmt) {
  const auto* choice = syntax::DynAs<IfStmt>(stmt);
  return choice != nullptr && IsDecided(item, choice->condition) ? choice : nullptr;
}

const IfExpr* DecidedChoice(const FunctionItem& item, const Expr* expr) {
  const auto* choice = syntax::DynAs<IfExpr>(expr);
  return choice != nullptr && IsDecided(item, choice->condition) ? choice : nullptr;
}

class BranchSelector : public syntax::TreeCopier {
 public:
  BranchSelector(FunctionState& state, const FunctionItem& item)
      : TreeCopier(state.module.arena), state_(state), item_(item) {}

  /// Moves the statements of a branch that ends the body of a fn into the body, so that its `return` is the
  /// last statement there.
  const BlockStmt* OpenLastBlock(const BlockStmt* body) {
    auto* opened = arena_.Make<BlockStmt>(*body);
    std::vector<const Stmt*>& stmts = opened->stmts;
    while (!stmts.empty() && selected_.contains(stmts.back())) {
      const auto& block = syntax::As<BlockStmt>(stmts.back());
      stmts.pop_back();
      stmts.insert(stmts.end(), block.stmts.begin(), block.stmts.end());
    }
    return opened;
  }

 private:
  const Stmt* Replacement(const Stmt* stmt) override {
    const IfStmt* choice = DecidedChoice(item_, stmt);
    if (choice == nullptr) return nullptr;
    if (Holds(choice->condition)) return Select(Block(choice->then_block));
    if (choice->else_stmt != nullptr) return Select(Statement(choice->else_stmt));
    auto* empty = arena_.Make<BlockStmt>();
    empty->span = stmt->span;
    return empty;
  }

  const Stmt* Select(const Stmt* branch) {
    if (branch->kind == syntax::StmtKind::Block) selected_.insert(branch);
    return branch;
  }

  const Expr* Replacement(const Expr* expr) override {
    const IfExpr* choice = DecidedChoice(item_, expr);
    if (choice == nullptr) return nullptr;
    return Expression(Holds(choice->condition) ? choice->then_value : choice->else_value);
  }

  bool Holds(const Expr* condition) {
    if (const auto* test = syntax::DynAs<TypeTestExpr>(condition)) return IsTrue(state_, *test);
    std::optional<PresenceTest> test = PresenceTestOf(item_, condition);
    state_.module.uses.Add(test->param->name.span);
    return state_.fn.IsAbsent(test->param->name.name) == test->is_negated;
  }

  FunctionState& state_;
  const FunctionItem& item_;
  std::unordered_set<const Stmt*> selected_;  ///< the blocks of the branches that were selected
};

class BranchCollector : public syntax::TreeCopier {
 public:
  BranchCollector(Arena& arena, const FunctionItem& item) : TreeCopier(arena), item_(item) {}

 private:
  const Stmt* Replacement(const Stmt* stmt) override {
    const IfStmt* choice = DecidedChoice(item_, stmt);
    if (choice == nullptr) return nullptr;
    auto* both = arena_.Make<BlockStmt>();
    both->span = stmt->span;
    both->stmts.push_back(Block(choice->then_block));
    if (choice->else_stmt != nullptr) both->stmts.push_back(Statement(choice->else_stmt));
    return both;
  }

  const Expr* Replacement(const Expr* expr) override {
    const IfExpr* choice = DecidedChoice(item_, expr);
    if (choice == nullptr) return nullptr;
    auto* both = arena_.Make<syntax::TupleExpr>();
    both->span = expr->span;
    both->elements = {Expression(choice->then_value), Expression(choice->else_value)};
    return both;
  }

  const FunctionItem& item_;
};

/// Returns whether the equation compares an absent output.
bool ComparesAbsent(const CheckedFunction& fn, const syntax::Equation& equation) {
  const auto* element = syntax::DynAs<syntax::IndexExpr>(equation.lhs);
  const auto* tensor =
      element != nullptr ? syntax::DynAs<syntax::NameExpr>(element->base) : nullptr;
  return tensor != nullptr && fn.IsAbsent(tensor->name);
}

FunctionItem* CopyItem(syntax::TreeCopier& copier, Arena& arena, const FunctionItem& item) {
  auto* copy = arena.Make<FunctionItem>(item);
  copy->has_type_tests = false;
  for (syntax::Param& param : copy->params) param.type = copier.Type(param.type);
  copy->result = copier.Type(item.result);
  copier.Expressions(copy->where);
  copy->body = copier.Block(item.body);
  copier.Expressions(copy->requirements);
  for (syntax::Equation& equation : copy->ensures) copier.Sides(equation);
  return copy;
}

}  // namespace

const FunctionItem* SelectBranches(FunctionState& state, const FunctionItem& item) {
  if (!item.has_type_tests) return &item;
  BranchSelector selector(state, item);
  FunctionItem* selected = CopyItem(selector, state.module.arena, item);
  std::erase_if(selected->ensures, [&](const syntax::Equation& equation) {
    return ComparesAbsent(state.fn, equation);
  });
  if (item.function_kind == syntax::FunctionKind::Fn)
    selected->body = selector.OpenLastBlock(selected->body);
  return selected;
}

const FunctionItem* WithAllBranches(Arena& arena, const FunctionItem& item) {
  BranchCollector collector(arena, item);
  return CopyItem(collector, arena, item);
}

}  // namespace kdl::sema
