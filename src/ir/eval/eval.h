#pragma once

#include <cstdint>
#include <optional>

#include "ir/attr.h"
#include "ir/eval/eval_fn.h"
#include "ir/op.h"
#include "support/scalar.h"

namespace kdl::ir {

// Defines what elementwise ops compute, bit by bit, for both the interpreter and constant folding. A scalar
// value is a uint64_t with its bit pattern, zero-extended. The sign and payload of a NaN are unspecified,
// except in the result of to_bits.

/// Returns the function of an elementwise op whose last operand has type `operand` and whose result has type
/// `result`. Null for `call` and for types on which the op is not defined. f16 and bf16 support only what is
/// exact in them (casts, comparisons, min, max, neg, abs, select).
EvalFn FindEval(OpKind kind, Scalar operand, Scalar result);

/// Evaluates an op once. Returns nothing if FindEval returns null or the op traps.
std::optional<uint64_t> Evaluate(OpKind kind, Scalar operand, Scalar result,
                                 const uint64_t* operands);

uint64_t EvaluateCast(Scalar from, Scalar to, uint64_t bits);

/// Returns the value from which a reduction starts, which is also its value over no elements.
uint64_t FoldIdentity(ReductionKind fold, Scalar acc);

/// Returns the op that combines the accumulator with a term.
OpKind CombineOf(ReductionKind fold);

/// Returns the op that combines the element with the value. There is none for UpdateKind::Set.
OpKind CombineOf(UpdateKind how);

/// Returns the value for which an update leaves every element unchanged.
uint64_t UpdateIdentity(UpdateKind how, Scalar acc);

/// Returns (accumulator, term) -> accumulator, or null if the reduction is not defined on the scalar.
EvalFn FindFold(ReductionKind fold, Scalar acc);

/// Returns (a, b, c) -> a * b + c: one fma for f32 and f64, wrapping for integers. Null for other scalars.
EvalFn FindMultiplyAdd(Scalar acc);

/// Returns an integer as an i64, extended according to its signedness; a u64 keeps its bits.
int64_t Extended(Scalar scalar, uint64_t bits);

}  // namespace kdl::ir
