#pragma once

#include <functional>

#include "targets/cpu/expand/accumulate.h"

namespace kdl::cpu {

/// Returns a function that emits one register block's loops over the reduced axes. Given a tile whose shape
/// is known, the function returns the accumulators after all terms, ordered row by row.
std::function<Values(const RegisterTile&)> RegisterBlockSteps(Expander& e, const Accumulation& what,
                                                              const RegisterBlock& block);

}  // namespace kdl::cpu
