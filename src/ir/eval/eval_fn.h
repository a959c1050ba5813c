#pragma once

#include <cstdint>

namespace kdl::ir {

/// The function of an elementwise op on scalars, each a bit pattern, zero-extended.
/// `operands` are the op's, in order. Sets `*division_by_zero` where the op traps, else leaves it
/// alone.
using EvalFn = uint64_t (*)(const uint64_t* operands, bool* division_by_zero);

}  // namespace kdl::ir
