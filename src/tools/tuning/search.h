#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "driver/schedules/schedules.h"

namespace kdl::tools {

/// Something that `kernelc tune` varies: an `auto` constant such as `BM`, an option of a pass such as
/// `pack-late.blocks`, or a parameter of a pipeline file such as `$window`.
struct Dimension {
  enum class Kind : uint8_t { Tile, Option, Parameter };
  std::string name;
  Kind kind = Kind::Tile;
  int64_t start = 1;  ///< the value without tuning
  int64_t least = 1;
  int64_t most = driver::kLongestBlock;
  int64_t multiple = 1;  ///< allowed values are multiples of this
  /// The allowed values; if empty, all in the range are allowed.
  std::vector<int64_t> choices{};
};

/// A value for each dimension, by name.
using Choice = driver::Tiles;

Choice StartOf(const std::vector<Dimension>& dimensions);

struct Trial {
  Choice choice;
  double gain = 0;  ///< speedup over the start; 0 if the trial failed
  std::string failure{};
  /// Whether the code is that of the start or of an earlier trial, so that it was not measured.
  bool same_code = false;
};

/// Smaller gains count as noise.
inline constexpr double kWorthwhileGain = 1.02;

/// Rounds a gain to the precision of files, so that a resumed search makes the same decisions as an uninterrupted one.
double RoundedGain(double gain);

/// Returns the trial with the largest gain, or null if no gain is worthwhile.
const Trial* BestTrial(const std::vector<Trial>& trials);
const Trial* FindTrial(const std::vector<Trial>& trials, const Choice& choice);

/// Returns the next values to try around `value`: 1/2, 3/4, 3/2 and 2 times the value for a constant, 1/2 and 2 times for
/// an option, and all others if there are at most four. If there is a list of choices, returns the neighbours of `value` in
/// that list.
std::vector<int64_t> Neighbours(const Dimension& dimension, int64_t value);

/// Searches from the start. Repeatedly moves to the neighbour with the largest gain, changing one dimension at a time,
/// until no neighbour gains. Trials that are known are not repeated. `measure` adds a trial. If it returns false, the
/// search ends.
void Search(const std::vector<Dimension>& dimensions, const std::vector<Trial>& trials,
            const std::function<bool(const Choice& choice)>& measure);

}  // namespace kdl::tools
