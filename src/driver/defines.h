#pragma once

#include <optional>
#include <vector>

#include "driver/options.h"
#include "ir/module.h"
#include "sema/model/checked.h"
#include "support/diagnostics.h"

namespace kdl::driver {

/// What -D NAME=VALUE,VALUE says; nothing after a report.
std::optional<std::vector<sema::Define>> ReadDefines(const Options& options,
                                                     DiagnosticEngine& diagnostics);

/// Gives the integer generics of a module that was read as KIR their values. False after a report.
bool BindDefines(ir::Module& module, const std::vector<sema::Define>& defines,
                 DiagnosticEngine& diagnostics);

}  // namespace kdl::driver
