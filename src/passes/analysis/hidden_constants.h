#pragma once

#include <cstdint>
#include <map>

#include "passes/names.h"

#include "ir/module.h"

namespace kdl::passes {

/// Returns the unbound `auto` constants of a tile-level kernel that do not affect its results. They only set
/// the lengths of blocks, and nothing in the kernel can observe where a block ends. Each constant is mapped
/// to a number, and its values must be multiples of that number, because a matrix instruction multiplies that
/// many terms at once.
///
///   for k in K by BK { acc += dot(a[i, k], b[k, j] over k); }     BK is hidden: the sum continues from block to block
///   for c in C by BC { s += sum(x[r, c] over c); }                BC is not: each block is reduced separately
std::map<Name, int64_t> HiddenConstants(const ir::Function& kernel, const ir::Context& context);

}  // namespace kdl::passes
