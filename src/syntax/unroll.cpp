#include "syntax/unroll.h"

#include <fmt/format.h>

#include <unordered_map>
#include <utility>

#include "syntax/copy_tree.h"

namespace kdl::syntax {

namespace {

/// Copies a tree, unrolls its loops over lists, and replaces the variables of these loops with list elements.
class Unroller : public TreeCopier {
 public:
  explicit Unroller(Builder& builder) : TreeCopier(builder.arena), builder_(builder) {}

 private:
  const Stmt* Replacement(const Stmt* stmt) override {
    const auto* loop = DynAs<ForStmt>(stmt);
    const ListExpr* list =
        loop != nullptr && loop->binders.size() == 1 && loop->binders[0].extent.lo == nullptr
            ? DynAs<ListExpr>(loop->binders[0].extent.hi)
            : nullptr;
    if (list == nullptr) return nullptr;
    auto* copies = builder_.MakeStmt<BlockStmt>(loop->span);
    copies->unrolled = true;
    Name name = loop->binders[0].name.name;
    for (const Expr* element : list->elements) {
      const Expr* outer = std::exchange(elements_[name], element);
      copies->stmts.push_back(Block(loop->body));
      elements_[name] = outer;
    }
    return copies;
  }

  const Expr* Replacement(const Expr* expr) override {
    if (const Expr* element = Element(expr)) return CopyOf(element);
    const auto* field = DynAs<FieldExpr>(expr);
    const auto* tuple = field != nullptr ? DynAs<TupleExpr>(Element(field->base)) : nullptr;
    bool is_element = tuple != nullptr && !field->name && field->index < tuple->elements.size();
    return is_element ? CopyOf(tuple->elements[field->index]) : nullptr;
  }

  /// Returns the list element that replaces the name, or null if the name is not replaced.
  const Expr* Element(const Expr* expr) const {
    const auto* name = DynAs<NameExpr>(expr);
    auto known = name == nullptr ? elements_.end() : elements_.find(name->name);
    return known == elements_.end() ? nullptr : known->second;
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
  program->body = Unroller(builder).Block(test.body);
  return program;
}

}  // namespace kdl::syntax
