#pragma once

#include <cstdint>
#include <map>

#include "passes/names.h"

#include "ir/module.h"

namespace kdl::passes {

/// The `auto` constants of a kernel at tile level that are still open and that no result depends on: they say nothing but how
/// long blocks are, and nothing in the kernel can see that. Each with the number that its values must be multiples of, since
/// a unit takes so many terms at once.
///
///   for k in K by BK { acc += dot(a[i, k], b[k, j] over k); }     BK is one: the chain goes on from block to block
///   for c in C by BC { s += sum(x[r, c] over c); }                BC is none: each block is folded by itself
std::map<Name, int64_t> HiddenConstants(const ir::Function& kernel, const ir::Context& context);

}  // namespace kdl::passes
