#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/options.h"
#include "ir/module.h"
#include "support/diagnostics.h"

namespace kdl::tools {

/// Whether a spec denotes processors of this machine, so that --threads applies to it.
bool MeansHost(const std::string& spec);

/// Returns the spec with `key=value` added.
std::string WithKey(const std::string& spec, const std::string& key);

/// Returns the numbers of threads that --threads specifies for the device of `spec`. Without
/// --threads, returns `unsaid`. For a device other than the host, returns the single number 0. On
/// error, reports it and returns nothing.
std::optional<std::vector<int>> ThreadCounts(const driver::Options& options,
                                             const std::string& spec, std::vector<int> unsaid,
                                             DiagnosticEngine& diagnostics);

/// Whether the values of --trials, --seconds and --time-limit are usable. Reports an error if not.
bool CanMeasure(const driver::Options& options, DiagnosticEngine& diagnostics);

/// Returns the options for one of several kernels, without the sizes and arguments that only other
/// kernels have.
driver::Options OptionsFor(const driver::Options& options, const ir::Function& kernel);

}  // namespace kdl::tools
