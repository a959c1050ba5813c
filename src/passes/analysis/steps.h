#pragma once

#include <optional>

#include "ir/module.h"
#include "passes/names.h"

namespace kdl::passes {

/// The number of turns from `lo` on, below `hi`, every `step`, which is at least 1: max(0, floor((hi - lo - 1) / step) + 1).
struct Steps {
  const ir::Value* lo;
  const ir::Value* hi;
  const ir::Value* step;
};
/// What irgen writes for it, in u64 where lo < hi, ends with this select; nothing: it does not.
std::optional<Steps> StepsOf(const ir::Op* select);

}  // namespace kdl::passes
