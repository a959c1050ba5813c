#pragma once

#include <cstddef>
#include <string>

#include "driver/options.h"
#include "targets/registry.h"

namespace kdl::tools {

struct TestCounts {
  size_t passed = 0;
  size_t failed = 0;
};

/// Tests the kernels of a .kdl file that have `ensures`: each on drawn shapes and inputs, on several numbers of cores and
/// on each target, against what it ensures. Prints a table, and what went wrong.
TestCounts TestContracts(const driver::Options& options, const targets::Registry& families,
                         const std::string& file);

}  // namespace kdl::tools
