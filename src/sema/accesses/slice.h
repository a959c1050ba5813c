#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

// The tensors of a program, and parts of these tensors: `x`, `w[l]`, `x[i0..i1]`, `w[l][0..n]`.

/// Checks an expression where a program expects a tensor. An index selects a part: for example, `w[l]` has
/// all dimensions of `w` except the first. Sets ExprInfo::entity to the tensor that the expression names. If
/// the expression is not a tensor, returns its own type.
Type CheckTensor(FunctionState& state, const syntax::Expr* expr);

/// Reports an error if the access contains a slice `lo..hi`, because a single element is required. Returns
/// whether there is such a slice.
bool HasSlice(FunctionState& state, const syntax::IndexExpr& index);

/// Returns whether two tensors or parts certainly have common elements, unless one of them is empty.
bool ShareElements(FunctionState& state, const syntax::Expr* a, const syntax::Expr* b);

}  // namespace kdl::sema
