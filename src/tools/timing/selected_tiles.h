#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/compile/session.h"
#include "driver/schedules/schedules.h"
#include "targets/family.h"

namespace kdl::tools {

/// A constant whose value can be varied in a search.
struct TunedConstant {
  std::string name;
  int64_t multiple = 1;  ///< allowed values are multiples of this
  /// The allowed values; if empty, all multiples of `multiple` are allowed.
  std::vector<int64_t> choices{};
};

/// A selector's choice for a kernel on a target.
struct SelectedTiles {
  std::string kernel;
  std::string level;
  driver::Tiles chosen{};                  ///< values of the constants that the compiler chooses
  std::vector<TunedConstant> constants{};  ///< those of `chosen` on which no result depends
  std::string why{};                       ///< the selector's explanation
};

/// Returns a selector that adds what the target's selector chooses for the kernels that --kernel names to `noted`.
std::shared_ptr<const passes::TileSelector> NotingSelectorFor(driver::Session& session,
                                                              const targets::Target& target,
                                                              std::vector<SelectedTiles>& noted);

/// Returns the choices for the kernels that --kernel names, or for all kernels without it, on each
/// level of the targets. Compilation stops once the layout of the pipes is known. On error, reports
/// it and returns nothing. If there is a text, it replaces the contents of the file.
std::optional<std::vector<SelectedTiles>> SelectTilesOf(driver::Session& session,
                                                        std::optional<std::string> text = {});

}  // namespace kdl::tools
