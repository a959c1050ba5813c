#pragma once

#include <memory>

#include "passes/target_facts.h"
#include "targets/simt/facts.h"

namespace kdl::simt {

/// Returns a selector that chooses blocks whose tiles fit into workgroup memory and give each GPU thread a
/// few elements. The source file describes the model.
std::unique_ptr<const passes::TileSelector> MakeTileSelector(const SimtFacts& facts);

}  // namespace kdl::simt
