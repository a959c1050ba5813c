#pragma once

#include <cstdint>

#include "targets/cpu/analysis/kernel_shape.h"

namespace kdl::cpu {

/// Returns the smallest length of a binder's blocks with which a block of the spmd takes as long as it takes to wake a
/// thread. Returns 1 if the time is not known, because the spmd has loops, reductions or products, or tiles whose sizes
/// are known only at launch.
int64_t LeastWorthwhileLength(const KernelShape& kernel, const ir::Op* spmd,
                              const ir::Value* binder);

}  // namespace kdl::cpu
