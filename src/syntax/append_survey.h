#pragma once

#include <map>
#include <vector>

#include "syntax/copy_tree.h"

namespace kdl::syntax {

/// An `append` statement and the loops around it, from the outermost to the innermost one.
struct Append {
  const AssignStmt* stmt;
  std::vector<const ForStmt*> loops;
  Ident count;  ///< the name of the size that the statement increases

  const std::vector<const Expr*>& targets() const { return As<TupleExpr>(stmt->target).elements; }
  const std::vector<const Expr*>& values() const { return As<TupleExpr>(stmt->value).elements; }
};

/// Whether the statement is an `append`: its target and its value are tuples.
bool IsAppend(const AssignStmt& stmt);
/// Returns the name of the tensor or variable to which a target belongs; null after an error.
const NameExpr* BaseOf(const Expr* target);
/// Whether each iteration of the loop binds a range instead of a number.
bool IsRange(const Binder& binder);

/// What a statement of a kernel contains.
struct AppendSurvey {
  std::vector<Append> appends;
  std::map<Name, const Expr*>
      stored;                        ///< the tensors that are written otherwise, each with a place
  std::map<Name, const Expr*> read;  ///< the names that are read, each with a place
  std::vector<const ViewStmt*> views;
  const Stmt* leaves =
      nullptr;  ///< a `continue` of the statement itself, which is a loop; may be null
};
AppendSurvey SurveyAppends(Arena& arena, const Stmt* stmt);

}  // namespace kdl::syntax
