#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "driver/ranks/boxes.h"
#include "driver/run/arguments.h"
#include "ir/module.h"
#include "support/result.h"
#include "tools/explain/rank_times.h"

namespace kdl::tools {

/// The predicted times of a program on a number of ranks, in seconds.
struct ScalingPoint {
  int64_t ranks = 1;
  double seconds = 0;
  double computing = 0;  ///< how long a rank computes and copies, at most
  double least = 0;      ///< the seconds if each measured time is the least one
  double most = 0;       ///< the seconds if each is the longest one

  bool has_interval() const { return least < most; }
};

/// Predicts how long a program takes on each of the grids, the first of which has one rank. A Failure is returned if the times
/// of a kernel are missing, or if what the program does depends on elements of tensors.
Result<std::vector<ScalingPoint>> PredictScaling(const ir::Module& module,
                                                 const ir::Function& program,
                                                 const driver::BoundProgram& bound,
                                                 const std::vector<driver::RankGrid>& grids,
                                                 const MeasuredTimes& times);

/// Returns a table of the times, and a picture of them as SVG.
std::string ScalingText(const std::vector<ScalingPoint>& points);
std::string ScalingSvg(const std::vector<ScalingPoint>& points, std::string_view program,
                       bool is_in_page);

}  // namespace kdl::tools
