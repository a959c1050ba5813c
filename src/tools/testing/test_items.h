#pragma once

#include <string>
#include <vector>

#include "driver/options.h"
#include "targets/registry.h"

namespace kdl::tools {

/// The result of a `test` item on one target.
struct ItemResult {
  std::string target;
  bool ok = false;
};

/// Runs the program of a `test` item in the file that the options name, on each target. Stops at
/// the first target on which an `expect` fails or another error occurs, and reports the error.
std::vector<ItemResult> RunTestItem(const driver::Options& options,
                                    const targets::Registry& families, const std::string& program,
                                    const std::vector<std::string>& targets);

}  // namespace kdl::tools
