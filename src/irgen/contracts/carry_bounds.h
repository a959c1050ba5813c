#pragma once

#include <optional>

#include "ir/contract.h"

namespace kdl::irgen {

/// Copies the function of a clause into `module`. Next to each f64, the copy computes a bound of its rounding
/// error (ir/eval/bound.h). The copy's `dims` are the sizes that it uses. `value` is the number of a result;
/// the copy returns the bound of that result directly after the result. Without `value`, no bounds are
/// computed. Sets `clause.function` to the copy and `clause.params` to its parameters.
void CarryBounds(ir::Clause& clause, std::optional<size_t> value, ir::Module& module);

}  // namespace kdl::irgen
