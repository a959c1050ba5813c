#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/options.h"
#include "ir/module.h"
#include "support/diagnostics.h"

namespace kdl::tools {

/// Whether a spec means processors of this machine, whose threads --threads counts.
bool MeansHost(const std::string& spec);

/// The spec with another `key=value`.
std::string WithKey(const std::string& spec, const std::string& key);

/// The numbers of threads that --threads names for the device of `spec`, or `unsaid` where it is left away; one of 0 for a device
/// that is not the host. Nothing after a report.
std::optional<std::vector<int>> ThreadCounts(const driver::Options& options,
                                             const std::string& spec, std::vector<int> unsaid,
                                             DiagnosticEngine& diagnostics);

/// Whether --trials and --seconds are numbers that can be measured with; false after a report.
bool CanMeasure(const driver::Options& options, DiagnosticEngine& diagnostics);

/// The options for one kernel of several: without the sizes and arguments that only others have.
driver::Options OptionsFor(const driver::Options& options, const ir::Function& kernel);

}  // namespace kdl::tools
