#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "driver/options.h"
#include "targets/registry.h"

namespace kdl::tools {

struct TestCounts {
  size_t passed = 0;
  size_t failed = 0;
  size_t skipped = 0;
};

/// Tests the kernels of a .kdl file that have `ensures`. Each kernel runs with random shapes and
/// inputs, with several numbers of cores and on each target. Its outputs are compared with
/// `ensures`. Prints a table, and the failures. Adds an object for each line of the table to `rows`.
TestCounts TestContracts(const driver::Options& options, const targets::Registry& families,
                         const std::string& file, nlohmann::ordered_json& rows);

}  // namespace kdl::tools
