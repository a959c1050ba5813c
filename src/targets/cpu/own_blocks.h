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

// Alternative blocks that a launch uses if they suit its sizes better. The kernel then contains two copies of
// an `spmd`.

/// Returns the position of the axis's binder in the spmd, if no result depends on the length of the axis's
/// blocks.
std::optional<size_t> FreeBinderOf(const ir::Function& kernel, const ir::Op* spmd, ir::AxisId axis);

/// Returns an axis like the given one, with blocks of `extent` elements.
ir::Axis AxisLike(ir::Module& module, const ir::Function& kernel, ir::AxisId axis,
                  std::string_view suffix, int64_t extent);

/// Whether the tiles that the spmd computes, if blocks of these axes have the given extents, stay in the
/// second-level cache or need no more space than before. Results of the ops in `passing` are not kept.
bool TilesStayInCache(const KernelShape& kernel, const ir::Op* spmd,
                      const std::map<ir::AxisId, int64_t>& extents,
                      const std::vector<const ir::Op*>& passing = {});

/// Replaces the spmd by `if condition { a copy of the spmd over the other axes } else { the spmd }`. The
/// builder must be positioned before the spmd.
void SplitOff(ir::Builder& b, ir::Op* spmd, ir::Value* condition, const passes::OtherAxes& others);

}  // namespace kdl::cpu
