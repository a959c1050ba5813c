#pragma once

#include "ir/module.h"

namespace kdl::cpu {

/// Removes minima and maxima that have no effect on integers of the ranges that they get. Replaces sums and
/// differences that are limited to the range of u8 or u16 by computations in that type, for which processors have
/// instructions. Returns whether anything changed.
bool UseSaturation(ir::Module& module, ir::Function& kernel);

}  // namespace kdl::cpu
