#pragma once

#include <vector>

#include "support/arena.h"
#include "syntax/ast.h"

namespace kdl::syntax {

/// Copies syntax trees. A derived class can replace statements and expressions; everything else is copied node
/// by node. A copy has the number of its original.
class TreeCopier {
 public:
  explicit TreeCopier(Arena& arena) : arena_(arena) {}
  TreeCopier(const TreeCopier&) = delete;
  TreeCopier& operator=(const TreeCopier&) = delete;
  virtual ~TreeCopier() = default;

  // If the argument is null, the result is null, too.
  const BlockStmt* Block(const BlockStmt* block);
  const Stmt* Statement(const Stmt* stmt);
  const Expr* Expression(const Expr* expr);
  const TypeRef* Type(const TypeRef* type);
  void Expressions(std::vector<const Expr*>& exprs);
  void Sides(Equation& equation);

 protected:
  /// Returns the node that replaces the argument, or null if the argument is to be copied.
  virtual const Stmt* Replacement(const Stmt*) { return nullptr; }
  virtual const Expr* Replacement(const Expr*) { return nullptr; }

  /// Copies a node that is not replaced. Its children may be replaced.
  const Stmt* CopyOf(const Stmt* stmt);
  const Expr* CopyOf(const Expr* expr);

  Arena& arena_;

 private:
  template <class T, class Change>
  const Stmt* With(const Stmt* stmt, Change change);
  template <class T, class Change>
  const Expr* With(const Expr* expr, Change change);
  void Each(const Expr*& expr) { expr = Expression(expr); }
  void Each(const BlockStmt*& block) { block = Block(block); }
  void Each(Extent& extent);
  void Each(std::vector<Arg>& args);
};

}  // namespace kdl::syntax
