#pragma once

#include <optional>

#include "ir/contract.h"

namespace kdl::irgen {

/// Copies the function of a clause, which holds values alone, into `module`: with the sizes that it uses as its `dims`, and
/// after every f64 the bound of its rounding (ir/eval/bound.h). `value` is the result whose bound the copy gives after it; none:
/// no bounds are carried. clause.function becomes the copy, and clause.params its parameters.
void CarryBounds(ir::Clause& clause, std::optional<size_t> value, ir::Module& module);

}  // namespace kdl::irgen
