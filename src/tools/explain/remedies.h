#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "driver/ranks/rank_traffic.h"

namespace kdl::tools {

/// Another distribution of tensors with which the ranks of a program send less.
struct Remedy {
  std::vector<std::string> tensors;
  std::string placement;     ///< what to write after their types: `on grid by (M, _)`
  driver::RankTraffic sent;  ///< what the ranks then send, if all earlier remedies are applied, too
};

/// Counts what the ranks send if the file of the program has this text; returns nothing if the text is wrong, or if counting
/// takes too long.
using CountSent = std::function<std::optional<driver::RankTraffic>(const std::string& text)>;

/// Returns declarations with which the ranks of a program send at least a tenth less, each after those before it. They are
/// found by trying FindRedeclarations, and counting what the ranks send then. Returns nothing if all of these take too long to
/// count. `axes` is the number of axes of the grid of ranks, and `bytes` what the ranks send without changes. `count` counts for
/// a small number of ranks and of iterations, and `count_all` for all.
std::optional<std::vector<Remedy>> FindRemedies(std::string text, const std::string& program,
                                                size_t axes, int64_t bytes, const CountSent& count,
                                                const CountSent& count_all);

}  // namespace kdl::tools
