#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/compile/session.h"
#include "driver/compile/tuned.h"
#include "tools/timing/tile_search.h"

namespace kdl::tools {

/// A selector's choice for a kernel on a target.
struct SelectedTiles {
  std::string kernel;
  std::string level;
  driver::Tiles chosen{};                  ///< values of the constants that the compiler chooses
  std::vector<TunedConstant> constants{};  ///< those of `chosen` on which no result depends
  std::string why{};                       ///< the selector's explanation
};

/// Returns the choices for the kernels that --kernel names, or for all kernels without it, on each
/// level of the targets. Compilation stops once the layout of the pipes is known. On error, reports
/// it and returns nothing. If there is a text, it replaces the contents of the file.
std::optional<std::vector<SelectedTiles>> SelectTilesOf(driver::Session& session,
                                                        std::optional<std::string> text = {});

}  // namespace kdl::tools
