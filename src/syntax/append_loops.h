#pragma once

#include <vector>

#include "syntax/append_survey.h"
#include "syntax/builder.h"

namespace kdl::syntax {

/// A counted output `y: out T[n <= N]`.
struct Counted {
  Ident output;
  Ident count;
  TypeName element;
  std::vector<const Expr*> dims;   ///< N, and the sizes after it
  const Append* append = nullptr;  ///< the statement that writes it
};

/// Adds the statements that replace an `spmd for` with `append` statements (lower_appends.h).
void AddAppendLoops(Builder& builder, const ForStmt& loop, const AppendSurvey& survey,
                    const std::vector<Counted>& counted, std::vector<const Stmt*>& body);

}  // namespace kdl::syntax
