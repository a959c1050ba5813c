#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "ir/module.h"
#include "passes/names.h"
#include "passes/ranks/part_kernel.h"

namespace kdl::passes {

/// A tensor into which the blocks of a kernel reduce.
struct ReducedTensor {
  size_t param = 0;  ///< of the kernel
  Scalar acc = Scalar::F32;
  /// Combines the partial results of a rank's own segments to subtotals (segment_tree.h). Its parameters are the partial results,
  /// and the first and the end of the segments.
  ir::Function* subtotals = nullptr;
  /// Combines the subtotals of all segments, which are in its first parameter, with the tensor, which is the second one. The third
  /// one is the number of ranks.
  ir::Function* combine = nullptr;
  std::map<std::vector<size_t>, PartKernel> parts = {};  ///< of `combine`, by limited binders
};

/// Returns the name of the partial results of a tensor.
Name PartsName(const ir::Module& module, const Value* tensor);
/// Returns the type of the partial results of a tensor of this type: a tensor with elements `acc` for each segment.
ir::Type PartsType(ir::Module& module, ir::Type tensor, Scalar acc, Size segments);

/// Makes the kernels that combine the partial results of one tensor into which `kernel` reduces.
void MakeCombineKernels(ir::Module& module, const ir::Function& kernel, ir::UpdateKind how,
                        ReducedTensor& reduced);

}  // namespace kdl::passes
