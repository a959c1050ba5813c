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

// Helpers for passes that give an `spmd` alternative blocks. In the result, the kernel contains two copies of
// the `spmd`, and each launch runs the copy that suits its sizes better.

/// Returns which of the spmd's induction variables iterates over blocks of the axis. Returns nothing if a
/// result depends on the length of these blocks.
std::optional<size_t> FreeBinderOf(const ir::Function& kernel, const ir::Op* spmd, ir::AxisId axis);

/// Returns a copy of the axis that has `suffix` at the end of its name and blocks of `extent` elements.
ir::Axis AxisLike(ir::Module& module, const ir::Function& kernel, ir::AxisId axis,
                  std::string_view suffix, int64_t extent);

/// Whether the tiles that the spmd computes stay in the second-level cache if blocks of these axes have the
/// given extents. Tiles that need no more space than before are also accepted. The ops in `passing` make
/// tiles that need no memory, so these are not counted.
bool TilesStayInCache(const KernelShape& kernel, const ir::Op* spmd,
                      const std::map<ir::AxisId, int64_t>& extents,
                      const std::vector<const ir::Op*>& passing = {});

/// Replaces the spmd by `if condition { a copy of the spmd with the axes in others } else { the spmd }`. The
/// builder must be positioned before the spmd. Returns the copy.
ir::Op* SplitOff(ir::Builder& b, ir::Op* spmd, ir::Value* condition,
                 const passes::OtherAxes& others);

}  // namespace kdl::cpu
