#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/builder.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/analysis/kernel_shape.h"

namespace kdl::cpu {

// Blocks that a launch takes where its sizes say so: an `spmd` stands twice then.

/// The binder of the axis, where no result depends on how long its blocks are.
std::optional<size_t> FreeBinderOf(const ir::Function& kernel, const ir::Op* spmd, ir::AxisId axis);

/// What an axis like that one is, with blocks of so many elements.
ir::Axis AxisLike(ir::Module& module, const ir::Function& kernel, ir::AxisId axis,
                  std::string_view suffix, int64_t extent);

/// Whether tiles that the spmd makes stay in the second-level cache where blocks of these axes have so many elements, or take no
/// more than before. What `passing` makes, no block keeps.
bool TilesStayInCache(const KernelShape& kernel, const ir::Op* spmd,
                      const std::map<ir::AxisId, int64_t>& extents,
                      const std::vector<const ir::Op*>& passing = {});

/// The spmd becomes `if condition { its copy, over the other axes } else { the spmd }`; the builder stands before it.
void SplitOff(ir::Builder& b, ir::Op* spmd, ir::Value* condition, const passes::OtherAxes& others);

}  // namespace kdl::cpu
