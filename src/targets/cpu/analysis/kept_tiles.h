#pragma once

#include <vector>

#include "targets/cpu/facts.h"

namespace kdl::cpu {

/// How deeply nested the choices may be.
inline constexpr int kDeepestChoice = 8;

/// Whether the value is the element of a tile at the elementwise loop's own point, and is read in the loop's
/// body.
bool IsElementHere(const ir::Op* elementwise, const ir::Value* value);

/// Returns the tiles whose elements result `i` of the elementwise loop keeps unless its conditions choose
/// another value.
std::vector<ir::Value*> KeptTiles(const ir::Op* elementwise, size_t i);

}  // namespace kdl::cpu
