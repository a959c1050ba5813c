#pragma once

#include <string>
#include <vector>

#include "driver/options.h"
#include "ir/module.h"
#include "support/diagnostics.h"
#include "targets/registry.h"

namespace kdl::tools {

// What the options of `kernelc test` name is there.

/// Reports each size that --set gives and none of the kernels has.
bool KnowSizes(const std::vector<const ir::Function*>& kernels, const driver::Options& options,
               DiagnosticEngine& diagnostics);

/// Reports where the file has no kernel of the name that --kernel gives. True also where it does not compile.
bool KnowsKernel(const std::string& file, driver::Options options,
                 const targets::Registry& families, DiagnosticEngine& diagnostics);

}  // namespace kdl::tools
