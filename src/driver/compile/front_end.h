#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/compile/session.h"
#include "ir/contract.h"
#include "sema/model/checked.h"

namespace kdl::driver {

/// A file of the language, or of KIR, as a module that no pass has seen.
struct Lowered {
  PipelineEnd end = PipelineEnd::Failed;
  std::unique_ptr<ir::Module> module;   ///< null unless `end` is Done, or Stopped after irgen
  ir::Contracts contracts;              ///< of the module's functions
  std::vector<std::string> files_read;  ///< as the user would name them; not the library's
};

/// The text of options.files[0]; nothing after a report.
std::optional<std::string> ReadSource(Session& session);

/// Lowers a text, as if options.files[0] held it; its ending says in which language it is. `defines`: besides those of -D.
/// Trees and contracts that `emits` asks for are printed.
Lowered LowerToIr(Session& session, std::string text, const std::vector<sema::Define>& defines,
                  const Emits& emits);

}  // namespace kdl::driver
