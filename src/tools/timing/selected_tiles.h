#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/compile/session.h"
#include "driver/compile/tuned.h"
#include "tools/timing/tile_search.h"

namespace kdl::tools {

/// What a target's selector chooses for a kernel.
struct SelectedTiles {
  std::string kernel;
  std::string level;
  driver::Tiles chosen{};                  ///< of the constants that are open
  std::vector<TunedConstant> constants{};  ///< those of them that no result depends on
  std::string why{};                       ///< the selector's own words
};

/// Of the kernels that --kernel names, or all, on each level of the targets; the compile stops where its pipes are decided.
/// Nothing after a report.
std::optional<std::vector<SelectedTiles>> SelectTilesOf(driver::Session& session);

}  // namespace kdl::tools
