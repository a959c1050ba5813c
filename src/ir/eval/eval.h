#pragma once

#include <cstdint>
#include <optional>

#include "ir/attr.h"
#include "ir/eval/eval_fn.h"
#include "ir/op.h"
#include "support/scalar.h"

namespace kdl::ir {

// What the elementwise ops compute, to the bit: the one definition behind the interpreter and the
// folding of constants. A scalar value is a uint64_t: its bit pattern, zero-extended. Sign and
// payload of a NaN are unspecified, but what to_bits gives of it.

/// The function of an elementwise op whose last operand is an `operand` and whose result is a
/// `result`. Null where the op has none: for `call`, and for scalars that it is not defined on. f16
/// and bf16 take part in what is exact in them (casts, comparisons, min, max, neg, abs, select).
EvalFn FindEval(OpKind kind, Scalar operand, Scalar result);

/// One application. Nothing where FindEval has nothing or the op traps.
std::optional<uint64_t> Evaluate(OpKind kind, Scalar operand, Scalar result,
                                 const uint64_t* operands);

uint64_t EvaluateCast(Scalar from, Scalar to, uint64_t bits);

/// What a reduction starts from, which is also its value over nothing.
uint64_t FoldIdentity(ReductionKind fold, Scalar acc);

/// What a fold does with the accumulator and a term.
OpKind CombineOf(ReductionKind fold);

/// What an update does with the element and its value; there is no such op for one that sets.
OpKind CombineOf(UpdateKind how);

/// An update with this value leaves every element as it is.
uint64_t UpdateIdentity(UpdateKind how, Scalar acc);

/// (accumulator, term) -> accumulator. Null where the fold is not defined on the scalar.
EvalFn FindFold(ReductionKind fold, Scalar acc);

/// (a, b, c) -> a * b + c: one fma for f32 and f64, wrapping for integers. Null for other scalars.
EvalFn FindMultiplyAdd(Scalar acc);

/// An integer as i64: extended by its signedness; of u64 the same bits.
int64_t Extended(Scalar scalar, uint64_t bits);

}  // namespace kdl::ir
