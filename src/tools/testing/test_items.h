#pragma once

#include <string>
#include <vector>

#include "driver/options.h"
#include "targets/registry.h"

namespace kdl::tools {

/// How a `test` went on a target.
struct ItemResult {
  std::string target;
  bool ok = false;
};

/// Runs the program that a `test` of the options' file is on each target, up to the first on which an `expect` does not
/// hold, or something else goes wrong, which is reported.
std::vector<ItemResult> RunTestItem(const driver::Options& options,
                                    const targets::Registry& families, const std::string& program,
                                    const std::vector<std::string>& targets);

}  // namespace kdl::tools
