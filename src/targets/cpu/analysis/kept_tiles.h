#pragma once

#include <vector>

#include "targets/cpu/facts.h"

namespace kdl::cpu {

/// The maximum nesting depth of the `select` ops that are examined.
inline constexpr int kDeepestChoice = 8;

/// Whether the value is the element of a tile at the current indices of the elementwise loop.
bool IsElementHere(const ir::Op* elementwise, const ir::Value* value);

/// Returns the tiles to which result `i` of the elementwise loop is equal, except for elements where
/// conditions select a different value.
std::vector<ir::Value*> KeptTiles(const ir::Op* elementwise, size_t i);

}  // namespace kdl::cpu
