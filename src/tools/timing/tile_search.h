#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "driver/compile/tuned.h"

namespace kdl::tools {

/// A constant whose values can be tried.
struct TunedConstant {
  std::string name;
  int64_t multiple = 1;            ///< allowed values are multiples of this
  std::vector<int64_t> choices{};  ///< the allowed values; empty if all are
};

/// Returns the next values to try around `value`: half of it, 3/4, 3/2 and twice; or its neighbours
/// in a list of choices.
std::vector<int64_t> Neighbours(const TunedConstant& constant, int64_t value);

/// Searches from the selector's choice: moves to the neighbour with the largest gain, one constant
/// at a time, until none gains. Trials that the kernel already has are not repeated. `measure` adds
/// a trial; it returns false to end the search.
void SearchTiles(
    const std::vector<TunedConstant>& constants, driver::TunedKernel& kernel,
    const std::function<bool(const driver::Tiles& tiles, size_t number, size_t of)>& measure);

}  // namespace kdl::tools
