#pragma once

#include <memory>

#include "passes/target_facts.h"
#include "targets/cpu/facts.h"

namespace kdl::cpu {

/// Returns a selector that chooses blocks such that a kernel's tiles fit into the caches. The source file
/// describes the model.
std::unique_ptr<const passes::TileSelector> MakeTileSelector(const ProcessorFacts& facts);

}  // namespace kdl::cpu
