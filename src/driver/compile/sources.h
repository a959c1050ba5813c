#pragma once

#include <deque>
#include <string>
#include <vector>

#include "driver/compile/session.h"
#include "sema/model/checked.h"
#include "support/arena.h"

namespace kdl::driver {

/// The texts of a compile as trees.
struct Trees {
  Arena arena;
  std::deque<sema::SourceFile> files;
  std::vector<std::string> files_read;  ///< as the user would name them; not the library's
};

/// Parses a text; null where it has errors.
const syntax::Module* Parse(Session& session, FileId file, Trees& trees);

/// The file with all that it imports, each parsed once; null where one is missing, has errors or imports itself, reported.
const sema::SourceFile* LoadImports(Session& session, const syntax::Module& module, Trees& trees);

/// The library's elementary functions, where one of the trees' files may use one.
std::vector<const syntax::Module*> LoadElementary(Session& session, Trees& trees);

}  // namespace kdl::driver
