#pragma once

#include <functional>

#include "targets/simt/facts.h"
#include "targets/simt/team_tiles.h"

namespace kdl::simt {

/// The product of a loop whose factors come as boxes; null: it has none.
const ir::Op* BoxProductIn(const ir::Op* loop);

/// What the expansion of a loop's turn takes from who expands the kernel.
struct TurnMaker {
  ir::ValueMap& scalars;                ///< old scalar or tensor -> new
  std::function<void(ir::Op*)> expand;  ///< an op that makes blocks and scalars
};

/// Expands the loop around a product of boxes, which adds to what lies in `acc`.
void ExpandBoxLoop(const SimtFacts& facts, ir::Builder& b, TeamTiles& tiles, const ir::Op* product,
                   ir::Value* acc, TurnMaker turn);

}  // namespace kdl::simt
