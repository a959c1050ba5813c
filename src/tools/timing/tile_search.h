#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "driver/compile/tuned.h"

namespace kdl::tools {

/// A constant whose values may be tried.
struct TunedConstant {
  std::string name;
  int64_t multiple = 1;            ///< its values are multiples of that
  std::vector<int64_t> choices{};  ///< what it may be; empty: anything
};

/// The next ones to try around `value`: half of it, three quarters, one and a half times, twice; of a list its neighbours there.
std::vector<int64_t> Neighbours(const TunedConstant& constant, int64_t value);

/// Goes from the selector's choice to the neighbour that gains most, one constant at a time, until none gains. What the kernel's
/// trials have is not measured again. `measure` adds a trial, and says false where the search has to end.
void SearchTiles(
    const std::vector<TunedConstant>& constants, driver::TunedKernel& kernel,
    const std::function<bool(const driver::Tiles& tiles, size_t number, size_t of)>& measure);

}  // namespace kdl::tools
