#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/module.h"
#include "passes/fusion/producer.h"
#include "passes/names.h"
#include "passes/ranks/combine_kernels.h"
#include "passes/ranks/part_kernel.h"

namespace kdl::passes {

/// The indices 0 .. hi - 1 of a binder, in blocks of this length.
struct GroupBinder {
  Size hi = nullptr;  ///< in the sizes of the kernel
  int64_t length = 1;
  bool is_combined = true;  ///< whether its blocks are combined (ir/groups.h)
};

/// Kernels that do the work of a kernel whose blocks reduce into tensors, so that ranks can share it:
///
///   kernel @sums(%x in, %t out)                             spmd (%i: block<i> in 0 .. %N) {distribute = grouped}
///   -> kernel @sums_groups(%x in, %t_parts inout, %first, %end)   // runs the segments first .. end - 1
///      kernel @sums_subtotals(%t_parts inout, %first, %end)       // sums of %t_parts[…, e] in these segments by a tree
///      kernel @sums_combine(%t_parts in, %t out, %ranks)          // %t[e] = 0 + the sum of the subtotals by the same tree
struct GroupKernels {
  /// Its parameters are those of the kernel without the reduced tensors, then their partial results, then the first and the
  /// end of the segments that it runs.
  ir::Function* groups = nullptr;
  std::vector<ReducedTensor> reduced;  ///< in the order of the partial results
  std::vector<GroupBinder> binders;
  Size blocks = nullptr;  ///< the number of blocks that are combined, in the sizes of the kernel
  /// The kernel with limits for all binders, only for proofs: it does not belong to the module.
  PartKernel limited;
};

/// Returns whether blocks of the kernel reduce into a tensor.
bool Reduces(const ir::Function& kernel);

/// Returns the only loop of a kernel whose blocks reduce. If there is another one, or if the kernel does anything else that ranks
/// cannot share, returns null and states why.
const Op* FindGroupLoop(const ir::Function& kernel, Obstacle& obstacle);

/// Erases the loops that only fill tensors into which blocks reduce later.
void EraseFillLoops(ir::Function& kernel);

/// Makes the kernels. If that is impossible, returns nothing and states why.
std::optional<GroupKernels> MakeGroupKernels(ir::Module& module, const ir::Function& kernel,
                                             Obstacle& obstacle);

}  // namespace kdl::passes
