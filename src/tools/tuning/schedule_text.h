#pragma once

#include <optional>
#include <string>

#include "driver/compile/session.h"

namespace kdl::tools {

/// Returns the tiles and the options of passes with which each kernel is compiled for each level of the targets, and where
/// each value comes from: the selector, a default, or a line of the file of --tuned or --pipeline. On error, reports it and
/// returns nothing.
std::optional<std::string> ScheduleText(driver::Session& session);

}  // namespace kdl::tools
