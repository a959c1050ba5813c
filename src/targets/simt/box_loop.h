#pragma once

#include "targets/simt/box_ring.h"
#include "targets/simt/facts.h"

namespace kdl::simt {

/// The product of a loop whose factors come as boxes; null: it has none.
const ir::Op* BoxProductIn(const ir::Op* loop);

/// Expands the loop around a product of boxes, which adds to what lies in `acc`.
void ExpandBoxLoop(const SimtFacts& facts, ir::Builder& b, TeamTiles& tiles, const ir::Op* product,
                   ir::Value* acc, TurnMaker turn);

}  // namespace kdl::simt
