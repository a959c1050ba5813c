#pragma once

#include <optional>

#include "ir/contract.h"

namespace kdl::irgen {

/// Copies the function of a clause, which computes only values, into `module`. The copy has the sizes that it
/// uses as its `dims`, and carries the bound of the rounding error (ir/eval/bound.h) next to each f64.
/// `value` is the result after which the copy returns its bound; without it, no bounds are carried. Sets
/// clause.function to the copy and clause.params to its parameters.
void CarryBounds(ir::Clause& clause, std::optional<size_t> value, ir::Module& module);

}  // namespace kdl::irgen
