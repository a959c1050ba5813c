#pragma once

#include <cstdint>

#include "ir/eval/eval_fn.h"
#include "support/scalar.h"

// Conversions from one scalar type to another. The functions return null if there is no such conversion.

namespace kdl::ir {

EvalFn FindCast(Scalar from, Scalar to);
EvalFn FindToBits(Scalar operand, Scalar result);
EvalFn FindFromBits(Scalar operand, Scalar result);

/// Returns the operand unchanged.
inline uint64_t PassThrough(const uint64_t* operands, bool*) { return operands[0]; }

}  // namespace kdl::ir
