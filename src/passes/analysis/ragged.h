#pragma once

#include <optional>
#include <vector>

#include "ir/module.h"
#include "passes/analysis/terms.h"

namespace kdl::passes {

/// Blocks that each have a part of a dimension of their own, which a table bounds:
///
///   spmd (%e: i64 in lo .. hi) { %a = load %off[%e]; %b = load %off[%e + 1]; for %r in %a .. %b { … } }
///
/// Where the table ascends, the parts of different blocks are apart, and together they are all from off[lo] to off[hi].
struct Ragged {
  ir::Op* walk;
  const ir::Value* binder;
  ir::Op* from;  ///< the load of off[e]
  ir::Op* to;    ///< the load of off[e + 1]
  AtomId lower;  ///< what they give
  AtomId upper;
  std::optional<Size> whole{};  ///< set where off[lo] is 0 and off[hi] this
};

/// The walks of a kernel that are so, outside of stages; their tables are `in` parameters.
std::vector<Ragged> RaggedOf(const ir::Function& kernel, Terms& terms);

}  // namespace kdl::passes
