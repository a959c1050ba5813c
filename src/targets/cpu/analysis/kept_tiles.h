#pragma once

#include <vector>

#include "targets/cpu/facts.h"

namespace kdl::cpu {

/// The maximum nesting depth of the choices that are examined.
inline constexpr int kDeepestChoice = 8;

/// Whether the value is an element of a tile that the loop's body reads at the elementwise loop's own point.
bool IsElementHere(const ir::Op* elementwise, const ir::Value* value);

/// Returns the tiles whose elements are kept in result `i` of the elementwise loop unless its conditions
/// choose another value.
std::vector<ir::Value*> KeptTiles(const ir::Op* elementwise, size_t i);

}  // namespace kdl::cpu
