#pragma once

#include <functional>

#include "targets/simt/facts.h"
#include "targets/simt/team_tiles.h"

namespace kdl::simt {

/// What the expansion of a loop's turn takes from who expands the kernel.
struct TurnMaker {
  using Values = passes::Values;
  std::function<ir::Value*(ir::Value* old)> scalar;
  /// Makes the blocks and scalars of the turn that begins at `at`.
  std::function<void(ir::Value* at)> enter;
  /// A load's index operands, and what it loads, at a point of its nest.
  std::function<Values(const ir::Op* nest, const Values& point)> index_at;
  std::function<ir::Value*(const ir::Op* nest, const Values& point)> load_at;
};

/// Expands the loop around a product of boxes, which adds to what lies in `acc`.
void ExpandBoxLoop(const SimtFacts& facts, ir::Builder& b, TeamTiles& tiles, const ir::Op* product,
                   ir::Value* acc, const TurnMaker& turn);

}  // namespace kdl::simt
