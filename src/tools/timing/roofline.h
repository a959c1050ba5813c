#pragma once

#include <string>
#include <vector>

#include "tools/timing/bench_report.h"

namespace kdl::tools {

struct PlotTitle {
  std::string machine;
  std::string date;
};

/// Returns the name of this machine's processor, if the system knows it, and the current date.
PlotTitle TitleForNow();

/// Returns a roofline plot as SVG. It shows operations per second against operations per byte for each row, and the limits
/// of the machine.
std::string RooflineSvg(const std::vector<BenchRow>& rows, const PlotTitle& title);

}  // namespace kdl::tools
