#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

// Tensors of a program and parts of them: `x`, `w[l]`, `x[i0..i1]`, `w[l][0..n]`.

/// The type of an expression that stands where a program takes a tensor; an index there is a part of one: w[l] has all
/// dimensions after the first. What is no tensor has its own type. ExprInfo::entity is the tensor that is named.
Type CheckTensor(FunctionState& state, const syntax::Expr* expr);

/// Whether an index of an element is `lo..hi`, which is reported.
bool HasSlice(FunctionState& state, const syntax::IndexExpr& index);

/// Whether two of them have elements in common for certain, unless one has none at all.
bool ShareElements(FunctionState& state, const syntax::Expr* a, const syntax::Expr* b);

}  // namespace kdl::sema
