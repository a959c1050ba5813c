#pragma once

#include <optional>

#include "ir/contract.h"

namespace kdl::irgen {

/// Copies the function of a clause, which computes only values, into `module`. The copy carries a bound
/// of the rounding error (ir/eval/bound.h) next to each f64, and its `dims` are the sizes that it uses.
/// `value` is the number of a result; the copy returns the bound of that result directly after the
/// result. Without `value`, no bounds are carried. Sets clause.function to the copy and clause.params to
/// its parameters.
void CarryBounds(ir::Clause& clause, std::optional<size_t> value, ir::Module& module);

}  // namespace kdl::irgen
