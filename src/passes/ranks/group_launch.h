#pragma once

#include <vector>

#include "passes/names.h"
#include "passes/ranks/group_kernels.h"
#include "passes/ranks/launch_code.h"

namespace kdl::passes {

/// Shares a launch whose blocks reduce into tensors: each rank runs some of the groups, and the partial results are combined
/// where the elements are needed. The order of a reduction depends only on the groups, so the results do not depend on the
/// number of ranks.
///
///   launch @sums (%x, %t)
///   -> %parts = alloc "t_parts" {rank_axes = [-2, -1]} : [min(blocks, 256), sizes of t]   // groups over all ranks
///      … each rank fetches the elements of %x that the blocks of its groups read
///      loop %r in %local_first .. %local_end {
///        launch @sums_groups(%xr, %partsr, %first, %end)
///        launch @sums_subtotals(%partsr, %first, %end) }
///      rewritten %parts
///      … each rank fetches the subtotals (segment_tree.h) of the elements of %t that it owns
///      loop %r in %local_first .. %local_end { launch @sums_combine_part(%partsr, %tr, %count, %begin, %after) }
///
/// A tensor that is not distributed is combined in every process. `needs` says what the blocks read.
void ShareGroups(ir::Module& module, LaunchCode& code, GroupKernels& kernels,
                 const ir::Function& kernel, const std::vector<RankArgument>& arguments,
                 const std::vector<RankNeed>& needs);

/// Returns the number of groups of a launch in the sizes of the program, or null if an argument does not determine it.
Size GroupsOfLaunch(SizeTable& sizes, const Op* launch, const ir::Function& kernel,
                    const GroupKernels& kernels);

}  // namespace kdl::passes
