#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codegen/common/source_variables.h"
#include "driver/compile/session.h"
#include "ir/contract.h"
#include "sema/model/checked.h"

namespace kdl::driver {

/// A .kdl or .kir file, lowered to a module on which no pass has run.
struct Lowered {
  PipelineEnd end = PipelineEnd::Failed;
  /// Null unless `end` is Done, or compilation stopped after irgen.
  std::unique_ptr<ir::Module> module;
  ir::Contracts contracts;             ///< contracts of the module's functions
  codegen::SourceVariables variables;  ///< of fns and kernels; empty for a .kir file
  /// Paths of the source files as the user would write them, without the files of the standard
  /// library.
  std::vector<std::string> files_read;
};

/// Reads options.files[0]. On error, reports it and returns nothing.
std::optional<std::string> ReadSource(Session& session);

/// Lowers source text as if it were the contents of options.files[0]. The extension of that file
/// determines whether the text is KDL or KIR. `defines` are added to the -D options. Prints the
/// syntax trees and contracts that `emits` requests.
Lowered LowerToIr(Session& session, std::string text, const std::vector<sema::Define>& defines,
                  const Emits& emits);

}  // namespace kdl::driver
