#pragma once

#include <optional>
#include <vector>

#include "driver/options.h"
#include "ir/module.h"
#include "sema/model/checked.h"
#include "support/diagnostics.h"

namespace kdl::driver {

/// Reads the values given with -D NAME=VALUE,VALUE. Reports an error and returns nothing if they
/// are invalid.
std::optional<std::vector<sema::Define>> ReadDefines(const Options& options,
                                                     DiagnosticEngine& diagnostics);

/// Sets the integer generics of a module that was read as KIR. Reports an error and returns false
/// if that fails.
bool BindDefines(ir::Module& module, const std::vector<sema::Define>& defines,
                 DiagnosticEngine& diagnostics);

}  // namespace kdl::driver
