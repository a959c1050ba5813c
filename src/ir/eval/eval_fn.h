#pragma once

#include <cstdint>

namespace kdl::ir {

/// Evaluates an elementwise op on scalars. `operands` contains the bit pattern of each operand,
/// zero-extended. Sets `*division_by_zero` if the op traps; otherwise leaves it unchanged.
using EvalFn = uint64_t (*)(const uint64_t* operands, bool* division_by_zero);

}  // namespace kdl::ir
