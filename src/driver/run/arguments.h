#pragma once

#include <optional>
#include <vector>

#include "driver/options.h"
#include "driver/run/argument_specs.h"
#include "driver/run/bound_program.h"
#include "ir/module.h"
#include "support/diagnostics.h"

namespace kdl::driver {

/// Binds the sizes from --set and from the shapes of the files, then creates all arguments. An
/// argument without --arg is random: parameter n, counted from 1, uses seed n. Reports all sizes
/// and arguments that do not match the parameters.
std::optional<BoundProgram> BindProgram(const ir::Module& module, const ir::Function& program,
                                        const std::vector<ArgumentSpec>& arguments,
                                        const Options& options, DiagnosticEngine& diagnostics);

class ArgumentValues;

/// Like BindProgram, but distributed parameters have no elements yet: ArgumentValues::StoreDistributed adds them.
std::optional<BoundProgram> BindShared(const ir::Function& program,
                                       const std::vector<ArgumentSpec>& arguments,
                                       const Options& options, const ArgumentValues& values,
                                       DiagnosticEngine& diagnostics);

/// Like BindProgram, but the tensors have shapes without elements, so that they can be larger than memory.
std::optional<BoundProgram> BindNumbers(const ir::Module& module, const ir::Function& program,
                                        const std::vector<ArgumentSpec>& arguments,
                                        const Options& options, DiagnosticEngine& diagnostics);

}  // namespace kdl::driver
