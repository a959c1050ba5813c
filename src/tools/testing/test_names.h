#pragma once

#include <string>
#include <vector>

#include "driver/options.h"
#include "ir/module.h"
#include "support/diagnostics.h"
#include "targets/registry.h"

namespace kdl::tools {

// Check that what the options of `kernelc test` name exists.

/// Whether each size of --set belongs to one of the kernels. Reports those that do not.
bool KnowSizes(const std::vector<const ir::Function*>& kernels, const driver::Options& options,
               DiagnosticEngine& diagnostics);

/// Whether the file has the kernel that --kernel names. Reports an error if not. Returns true if
/// the file does not compile.
bool KnowsKernel(const std::string& file, driver::Options options,
                 const targets::Registry& families, DiagnosticEngine& diagnostics);

}  // namespace kdl::tools
