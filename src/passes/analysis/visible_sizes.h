#pragma once

#include <functional>

#include "passes/names.h"

#include "ir/module.h"

// Tells whether a kernel's results may depend on a number that the compiler chooses, such as the size of blocks.

namespace kdl::passes {

using IsNumber = std::function<bool(Name)>;

/// Returns whether a size contains one of the numbers.
bool MentionsNumber(Size size, const IsNumber& is_number);

/// Returns whether an op computes with one of the numbers, or has it in a dimension or an index. Computations for static
/// assertions and the extents of pipes do not count.
bool UsesNumber(const Op* op, const IsNumber& is_number);

/// Returns an access in a `for` loop over blocks whose effect may depend on where blocks end, or null if there is none.
/// Atomic updates are left to the caller.
///
///   for k in K by BK { y[r, k] = x[r, k]; }      each element is written once, for all sizes of blocks
///   for k in K by BK { n[r] += 1; }              each block adds 1
///   for k in K by BK { y[k + 1] = y[k]; }        the elements of a block are read before any of them is written
const Op* AccessThatShowsBlocks(const Op* loop);

}  // namespace kdl::passes
