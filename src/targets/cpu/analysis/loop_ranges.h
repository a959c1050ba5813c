#pragma once

#include "passes/names.h"

namespace kdl::cpu {

/// Whether loops around say that 0 <= index < size, of two i64. What they do not say is not known.
bool StaysBelow(const ir::Value* index, const ir::Value* size);

}  // namespace kdl::cpu
