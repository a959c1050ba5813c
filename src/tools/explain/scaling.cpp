#include "tools/explain/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tools/explain/counting_host.h"

namespace kdl::tools {

namespace {

/// Returns the time for each index of a kernel's loop, from the time of all indices on one rank.
Result<KernelSpeeds> SpeedsOf(const ir::Module& module, const ir::Function& program,
                              const driver::BoundProgram& bound, const RankTimes& times) {
  driver::RankGrid one;
  RankClocks clocks(times, 1);
  KernelSpeeds none;
  CountingHost host(one, module, none, clocks);
  if (Status ran = Count(module, program, bound, host); !ran.ok()) return ran.failure();
  KernelSpeeds speeds;
  for (const auto& [kernel, points] : host.points()) {
    auto known = times.kernels.find(kernel);
    if (known == times.kernels.end())
      return Failure{fmt::format("'kernels' has no time of '{}'", kernel)};
    speeds[kernel] = points > 0 ? known->second / points : 0;
  }
  return speeds;
}

Result<std::vector<ScalingPoint>> PredictFrom(const RankTimes& times, const ir::Module& module,
                                              const ir::Function& program,
                                              const driver::BoundProgram& bound,
                                              const std::vector<driver::RankGrid>& grids) {
  Result<KernelSpeeds> speeds = SpeedsOf(module, program, bound, times);
  if (!speeds.ok()) return speeds.failure();
  std::vector<ScalingPoint> points;
  for (const driver::RankGrid& grid : grids) {
    RankClocks clocks(times, grid.count());
    CountingHost host(grid, module, *speeds, clocks);
    if (Status ran = Count(module, program, bound, host); !ran.ok()) return ran.failure();
    points.push_back({grid.count(), clocks.Latest(), clocks.MostComputing(), 0, 0});
  }
  return points;
}

}  // namespace

// No predicted time becomes shorter if a measured one becomes longer. So the interval contains the predictions from all times that
// are between the least and the most.
Result<std::vector<ScalingPoint>> PredictScaling(const ir::Module& module,
                                                 const ir::Function& program,
                                                 const driver::BoundProgram& bound,
                                                 const std::vector<driver::RankGrid>& grids,
                                                 const MeasuredTimes& times) {
  auto predict = [&](const RankTimes& from) {
    return PredictFrom(from, module, program, bound, grids);
  };
  Result<std::vector<ScalingPoint>> points = predict(times.median);
  if (!points.ok()) return points;
  Result<std::vector<ScalingPoint>> least = predict(times.least);
  if (!least.ok()) return least;
  Result<std::vector<ScalingPoint>> most = predict(times.most);
  if (!most.ok()) return most;
  for (size_t i = 0; i < points->size(); ++i) {
    (*points)[i].least = (*least)[i].seconds;
    (*points)[i].most = (*most)[i].seconds;
  }
  return points;
}

std::string ScalingText(const std::vector<ScalingPoint>& points) {
  bool has_intervals = std::ranges::any_of(points, &ScalingPoint::has_interval);
  std::string text = fmt::format(
      "predicted times: a model, without contention\n"
      "  ranks  milliseconds  {}computing  speedup  efficiency\n",
      has_intervals ? "   from      to  " : "");
  for (const ScalingPoint& point : points) {
    double speedup = point.seconds > 0 ? points[0].seconds / point.seconds : 1;
    std::string interval =
        has_intervals ? fmt::format("{:>7.4g}  {:>6.4g}  ", point.least * 1e3, point.most * 1e3)
                      : "";
    text += fmt::format("{:>7}  {:>12.4g}  {}{:>9.4g}  {:>7.3g}  {:>8.0f} %\n", point.ranks,
                        point.seconds * 1e3, interval, point.computing * 1e3, speedup,
                        100 * speedup / static_cast<double>(point.ranks));
  }
  return text;
}

}  // namespace kdl::tools
