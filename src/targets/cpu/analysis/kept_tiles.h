#pragma once

#include <vector>

#include "targets/cpu/facts.h"

namespace kdl::cpu {

/// Conditions and choices that are looked through.
inline constexpr int kDeepestChoice = 8;

/// Whether the value is, in the elementwise loop's body, the element of a tile at the elementwise loop's own point.
bool IsElementHere(const ir::Op* elementwise, const ir::Value* value);

/// The tiles whose elements result `i` of the elementwise loop has wherever its conditions choose nothing else.
std::vector<ir::Value*> KeptTiles(const ir::Op* elementwise, size_t i);

}  // namespace kdl::cpu
