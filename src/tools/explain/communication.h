#pragma once

#include <optional>

#include "driver/compile/session.h"
#include "tools/explain/communication_map.h"

namespace kdl::tools {

/// Compiles the file of the options and counts what the program that they name sends. On error, reports it and returns
/// nothing.
std::optional<CommunicationReport> ExplainedCommunication(driver::Session& session);

}  // namespace kdl::tools
