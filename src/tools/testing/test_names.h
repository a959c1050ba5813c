#pragma once

#include <string>
#include <vector>

#include "driver/options.h"
#include "ir/module.h"
#include "support/diagnostics.h"
#include "targets/registry.h"

namespace kdl::tools {

// These functions check that the names in the options of `kernelc test` exist.

/// Whether each size given with --set belongs to one of the kernels. Reports the sizes that do not.
bool KnowSizes(const std::vector<const ir::Function*>& kernels, const driver::Options& options,
               DiagnosticEngine& diagnostics);

/// Whether the file contains the kernel that --kernel names. Reports an error if it does not. Also
/// returns true if the file does not compile.
bool KnowsKernel(const std::string& file, driver::Options options,
                 const targets::Registry& families, DiagnosticEngine& diagnostics);

}  // namespace kdl::tools
