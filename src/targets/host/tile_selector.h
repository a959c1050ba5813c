#pragma once

#include <memory>

#include "ir/target_facts.h"

namespace kdl::targets {

/// Chooses blocks so that the tiles of a kernel fit the caches. See the source for the model.
std::unique_ptr<const ir::TileSelector> MakeHostTileSelector();

}  // namespace kdl::targets
