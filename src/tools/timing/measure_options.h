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

/// Returns the spec with an additional `key=value`.
std::string WithKey(const std::string& spec, const std::string& key);

/// Returns the numbers of threads that --threads gives for the device of `spec`, or `unsaid` if it
/// is not given. For a device other than the host, the only number is 0. Returns nothing after an
/// error, which is reported.
std::optional<std::vector<int>> ThreadCounts(const driver::Options& options,
                                             const std::string& spec, std::vector<int> unsaid,
                                             DiagnosticEngine& diagnostics);

/// Whether --trials and --seconds have usable values. Returns false after an error, which is
/// reported.
bool CanMeasure(const driver::Options& options, DiagnosticEngine& diagnostics);

/// Returns the options for one of several kernels, without sizes and arguments that only others
/// have.
driver::Options OptionsFor(const driver::Options& options, const ir::Function& kernel);

}  // namespace kdl::tools
