#pragma once

#include <memory>

#include "passes/target_facts.h"
#include "targets/cpu/facts.h"

namespace kdl::cpu {

/// Chooses blocks so that the tiles of a kernel fit the caches. See the source for the model.
std::unique_ptr<const passes::TileSelector> MakeTileSelector(const ProcessorFacts& facts);

}  // namespace kdl::cpu
