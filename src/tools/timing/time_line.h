#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/timing/profile.h"

namespace kdl::tools {

/// Returns a picture of the spans as SVG, with a row for each queue, core and cluster.
std::string TimeLineSvg(const std::vector<ProfileSpan>& spans, std::string_view title);

}  // namespace kdl::tools
