#pragma once

#include <functional>

#include "targets/cpu/expand/accumulate.h"

namespace kdl::cpu {

/// Returns a function that emits the loops of one register block over the reduced axes. For a tile whose
/// shape is known, it returns the accumulators after all terms, row by row.
std::function<Values(const RegisterTile&)> RegisterBlockSteps(Expander& e, const Accumulation& what,
                                                              const RegisterBlock& block);

}  // namespace kdl::cpu
