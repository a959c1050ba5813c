#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

// The tensors of a program and parts of them: `x`, `w[l]`, `x[i0..i1]`, `w[l][0..n]`.

/// Checks an expression where a program expects a tensor. An index selects a part: w[l] has all
/// dimensions after the first. ExprInfo::entity becomes the tensor that is named. An expression
/// that is not a tensor keeps its own type.
Type CheckTensor(FunctionState& state, const syntax::Expr* expr);

/// Whether a single element is indexed with a slice `lo..hi`, which is reported as an error.
bool HasSlice(FunctionState& state, const syntax::IndexExpr& index);

/// Whether two tensors or parts certainly have common elements, unless one of them is empty.
bool ShareElements(FunctionState& state, const syntax::Expr* a, const syntax::Expr* b);

}  // namespace kdl::sema
