#pragma once

#include <memory>

#include "passes/target_facts.h"
#include "targets/simt/facts.h"

namespace kdl::simt {

/// Returns a selector that chooses block sizes such that tiles fit into workgroup memory and each GPU thread
/// gets a few elements. tile_selector.cpp describes the model.
std::unique_ptr<const passes::TileSelector> MakeTileSelector(const SimtFacts& facts);

}  // namespace kdl::simt
