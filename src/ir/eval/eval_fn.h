#pragma once

#include <cstdint>

namespace kdl::ir {

/// Evaluates an elementwise op on scalars. Each scalar is a bit pattern, zero-extended; `operands`
/// are the operands of the op, in order. Sets `*division_by_zero` if the op traps, and leaves it
/// unchanged otherwise.
using EvalFn = uint64_t (*)(const uint64_t* operands, bool* division_by_zero);

}  // namespace kdl::ir
