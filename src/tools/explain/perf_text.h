#pragma once

#include <string>

#include "driver/compile/session.h"
#include "driver/compile/target_code.h"

namespace kdl::tools {

/// Returns a table of what makes each kernel slow, in the form that --diag-format names. In the JSON form, each
/// line is an object.
std::string PerfText(const driver::Session& session, const driver::Code& code);

}  // namespace kdl::tools
