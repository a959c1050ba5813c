#pragma once

#include <functional>

#include "targets/cpu/expand/accumulate.h"

namespace kdl::cpu {

/// The walk of one register block over the folded axes: for a tile whose shape is known, the accumulators after all terms, row by
/// row.
std::function<Values(const RegisterTile&)> StepsOf(Expander& e, const Accumulation& what,
                                                   const RegisterBlock& block);

}  // namespace kdl::cpu
