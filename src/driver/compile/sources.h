#pragma once

#include <deque>
#include <string>
#include <vector>

#include "driver/compile/session.h"
#include "sema/model/checked.h"
#include "support/arena.h"

namespace kdl::driver {

/// The syntax trees of a compile.
struct Trees {
  Arena arena;
  std::deque<sema::SourceFile> files;
  std::vector<std::string> files_read;  ///< paths as the user would write them, without the library
};

/// Parses a text. Returns null if it has errors.
const syntax::Module* Parse(Session& session, FileId file, Trees& trees);

/// Loads everything that the file imports; each file is parsed once. Returns null after an error,
/// which is reported: a file is missing, has errors or imports itself.
const sema::SourceFile* LoadImports(Session& session, const syntax::Module& module, Trees& trees);

/// Returns the library files with elementary functions that one of the trees may use.
std::vector<const syntax::Module*> LoadElementary(Session& session, Trees& trees);

}  // namespace kdl::driver
