#include "tools/timing/tile_search.h"

#include <algorithm>
#include <optional>

namespace kdl::tools {

std::vector<int64_t> Neighbours(const TunedConstant& constant, int64_t value) {
  std::vector<int64_t> found;
  auto add = [&](int64_t other) {
    bool fits = other >= 1 && other <= driver::TunedKernel::kLongestBlock && other != value &&
                other % constant.multiple == 0;
    if (fits && std::ranges::find(found, other) == found.end()) found.push_back(other);
  };
  if (constant.choices.empty()) {
    for (int64_t quarters : {2, 3, 6, 8}) {
      int64_t other = value * quarters / 4;
      add(other - other % constant.multiple);
    }
    return found;
  }
  std::vector<int64_t> choices = constant.choices;
  std::ranges::sort(choices);
  auto at = std::ranges::lower_bound(choices, value);
  if (at != choices.begin()) add(*(at - 1));
  for (; at != choices.end() && *at == value; ++at) {
  }
  if (at != choices.end()) add(*at);
  return found;
}

void SearchTiles(
    const std::vector<TunedConstant>& constants, driver::TunedKernel& kernel,
    const std::function<bool(const driver::Tiles& tiles, size_t number, size_t of)>& measure) {
  driver::Tiles best = kernel.selector;
  double gain = 1;
  for (bool better = true; better;) {
    better = false;
    for (const TunedConstant& constant : constants) {
      std::vector<int64_t> values = Neighbours(constant, best.at(constant.name));
      driver::Tiles from = best;
      for (size_t i = 0; i < values.size(); ++i) {
        driver::Tiles tiles = from;
        tiles[constant.name] = values[i];
        if (tiles == kernel.selector) continue;
        if (!kernel.Find(tiles) && !measure(tiles, i, values.size())) return;
        const driver::TunedKernel::Trial* trial = kernel.Find(tiles);
        if (!trial || trial->gain < gain * driver::TunedKernel::kWorthwhile) continue;
        best = tiles;
        gain = trial->gain;
        better = true;
      }
    }
  }
}

}  // namespace kdl::tools
