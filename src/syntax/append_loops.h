#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "syntax/append_survey.h"
#include "syntax/builder.h"
#include "syntax/tree_maker.h"

namespace kdl::syntax {

/// A counted output `y: out T[n <= N]`.
struct Counted {
  Ident output;
  Ident count;
  TypeName element;
  std::vector<const Expr*> dims;   ///< N, and the sizes after it
  const Append* append = nullptr;  ///< the statement that writes it
};

/// The names of what is made for counted outputs, such as `_n_blocks`. They begin with `_`, so that they cause no warnings,
/// or with as many `_` as it takes to differ from all names in the kernel.
class MadeNames {
 public:
  /// `kernel` is the text of the kernel.
  MadeNames(std::string_view kernel, const std::vector<Counted>& counted);
  Ident NameFor(const TreeMaker& make, const Ident& base, std::string_view role) const;

 private:
  std::string prefix_ = "_";
};

/// Adds the statements that replace an `spmd for` with `append` statements (lower_appends.h).
void AddAppendLoops(Builder& builder, const ForStmt& loop, const AppendSurvey& survey,
                    const std::vector<Counted>& counted, const MadeNames& names,
                    std::vector<const Stmt*>& body);

}  // namespace kdl::syntax
