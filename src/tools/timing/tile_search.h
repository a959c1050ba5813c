#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "driver/compile/tuned.h"

namespace kdl::tools {

/// A constant whose value can be varied in a search.
struct TunedConstant {
  std::string name;
  int64_t multiple = 1;  ///< allowed values are multiples of this
  /// The allowed values; if empty, all multiples of `multiple` are allowed.
  std::vector<int64_t> choices{};
};

/// Returns the next values to try around `value`: 1/2, 3/4, 3/2 and 2 times the value. If the
/// constant has a list of choices, returns the neighbours of `value` in that list.
std::vector<int64_t> Neighbours(const TunedConstant& constant, int64_t value);

/// Searches from the selector's choice. Repeatedly moves to the neighbour with the largest gain,
/// changing one constant at a time, until no neighbour gains. Trials that the kernel already has
/// are not repeated. `measure` adds a trial to the kernel. If it returns false, the search ends.
void SearchTiles(
    const std::vector<TunedConstant>& constants, driver::TunedKernel& kernel,
    const std::function<bool(const driver::Tiles& tiles, size_t number, size_t of)>& measure);

}  // namespace kdl::tools
