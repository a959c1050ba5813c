#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/compile/session.h"
#include "ir/contract.h"
#include "sema/model/checked.h"

namespace kdl::driver {

/// A .kdl or .kir file, lowered to a module on which no pass has run.
struct Lowered {
  PipelineEnd end = PipelineEnd::Failed;
  std::unique_ptr<ir::Module> module;   ///< null unless `end` is Done, or Stopped after irgen
  ir::Contracts contracts;              ///< contracts of the module's functions
  std::vector<std::string> files_read;  ///< paths as the user would write them, without the library
};

/// Reads options.files[0]. Returns nothing after an error, which is reported.
std::optional<std::string> ReadSource(Session& session);

/// Lowers a text as the contents of options.files[0], whose extension determines the language.
/// `defines` are added to those of -D. Prints the trees and contracts that `emits` requests.
Lowered LowerToIr(Session& session, std::string text, const std::vector<sema::Define>& defines,
                  const Emits& emits);

}  // namespace kdl::driver
