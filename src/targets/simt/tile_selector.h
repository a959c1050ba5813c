#pragma once

#include <memory>

#include "passes/target_facts.h"
#include "targets/simt/facts.h"

namespace kdl::simt {

/// Chooses blocks whose tiles fit near memory and have a few points for each worker. See the source for the model.
std::unique_ptr<const passes::TileSelector> MakeTileSelector(const SimtFacts& facts);

}  // namespace kdl::simt
