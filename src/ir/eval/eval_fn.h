#pragma once

#include <cstdint>

namespace kdl::ir {

/// Evaluates an elementwise op on scalars. `operands` contains the operands of the op, in order, as
/// zero-extended bit patterns. Sets `*division_by_zero` if the op traps; otherwise leaves it unchanged.
using EvalFn = uint64_t (*)(const uint64_t* operands, bool* division_by_zero);

}  // namespace kdl::ir
