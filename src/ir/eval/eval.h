#pragma once

#include <cstdint>
#include <optional>

#include "ir/attr.h"
#include "ir/eval/eval_fn.h"
#include "ir/op.h"
#include "support/scalar.h"

namespace kdl::ir {

// Defines exactly what elementwise ops compute, for both the interpreter and constant folding. A scalar value
// is a uint64_t that contains its bit pattern, zero-extended. The sign and payload of a NaN are unspecified,
// except in the result of to_bits.

/// Returns the function of an elementwise op whose last operand has type `operand` and whose result has type
/// `result`. Returns null for `call` and for types on which the op is not defined. On f16 and bf16, only ops
/// whose results are exact are defined (casts, comparisons, min, max, neg, abs, select).
EvalFn FindEval(OpKind kind, Scalar operand, Scalar result);

/// Evaluates an op once. Returns nothing if FindEval returns null for the op, or if the op traps.
std::optional<uint64_t> Evaluate(OpKind kind, Scalar operand, Scalar result,
                                 const uint64_t* operands);

uint64_t EvaluateCast(Scalar from, Scalar to, uint64_t bits);

/// Returns the value from which a reduction starts. It is also the result if there are no elements.
uint64_t FoldIdentity(ReductionKind fold, Scalar acc);

/// Returns the op that combines the accumulator with a term in a reduction.
OpKind CombineOf(ReductionKind fold);

/// Returns the op that combines the element with the value in an update; UpdateKind::Set has no such op.
OpKind CombineOf(UpdateKind how);

/// Returns the value with which an update leaves every element unchanged.
uint64_t UpdateIdentity(UpdateKind how, Scalar acc);

/// Returns the function (accumulator, term) -> accumulator, or null if the reduction is not defined on the
/// scalar type.
EvalFn FindFold(ReductionKind fold, Scalar acc);

/// Returns the function (a, b, c) -> a * b + c, or null if the scalar type has none. It is a single fma for
/// f32 and f64, and wraps for integers.
EvalFn FindMultiplyAdd(Scalar acc);

/// Returns an integer as an i64, extended according to its signedness; a u64 keeps its bits.
int64_t Extended(Scalar scalar, uint64_t bits);

}  // namespace kdl::ir
