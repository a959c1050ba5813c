#pragma once

#include <deque>
#include <string>
#include <vector>

#include "driver/compile/session.h"
#include "sema/model/checked.h"
#include "support/arena.h"

namespace kdl::driver {

/// The syntax trees of a compilation.
struct Trees {
  Arena arena;
  std::deque<sema::SourceFile> files;
  /// Paths of the source files as the user would write them, without the files of the standard
  /// library.
  std::vector<std::string> files_read;
};

/// Parses source text. Returns null if it has errors.
const syntax::Module* Parse(Session& session, FileId file, Trees& trees);

/// Loads all files that the module imports, directly or indirectly, and parses each of them once.
/// Reports an error and returns null if a file is missing, has errors or imports itself.
const sema::SourceFile* LoadImports(Session& session, const syntax::Module& module, Trees& trees);

/// Returns the library files with elementary functions that any of the trees may use.
std::vector<const syntax::Module*> LoadElementary(Session& session, Trees& trees);

}  // namespace kdl::driver
