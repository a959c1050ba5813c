#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

// The tensors of a program, and parts of these tensors: `x`, `w[l]`, `x[i0..i1]`, `w[l][0..n]`.

/// Checks an expression where a program expects a tensor. An index selects a part, for example w[l] has all
/// dimensions of w after the first. Sets ExprInfo::entity to the tensor that the expression names. If the
/// expression is not a tensor, returns its own type.
Type CheckTensor(FunctionState& state, const syntax::Expr* expr);

/// Returns whether the access has a slice `lo..hi` although a single element is required. If so, reports an
/// error.
bool HasSlice(FunctionState& state, const syntax::IndexExpr& index);

/// Returns whether two tensors or parts certainly have common elements, unless one of them is empty.
bool ShareElements(FunctionState& state, const syntax::Expr* a, const syntax::Expr* b);

}  // namespace kdl::sema
