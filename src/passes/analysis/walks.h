#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ir/module.h"
#include "ir/target_facts.h"

namespace kdl::passes {

/// How the blocks of an `spmd` may be made and numbered. All that walk one domain have the same: a core gets the same
/// blocks of each.
struct Walk {
  std::vector<size_t>
      order;  ///< the binders' numbers, as the stored tensors' dimensions have them, outermost first
  std::vector<bool> free;  ///< per binder: no result depends on how long its blocks are
  std::vector<int64_t>
      granule;  ///< per binder: blocks shorter than this waste what a core does at once
};

/// Of each `spmd` of a kernel.
using Walks = std::vector<std::pair<ir::Op*, Walk>>;

Walks WalksOf(const ir::Function& kernel, const ir::TargetFacts& facts);

}  // namespace kdl::passes
