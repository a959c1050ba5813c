#pragma once

#include <deque>
#include <vector>

#include "driver/compile.h"
#include "sema/model/checked.h"

namespace kdl::driver {

/// Parses a text of the compile; null where it has errors.
const syntax::Module* Parse(Compilation& compilation, FileId file);

/// The file with all that it imports, each parsed once, kept in `files`; null where one is missing, has
/// errors or imports itself, reported.
const sema::SourceFile* LoadImports(Compilation& compilation, const syntax::Module& module,
                                    std::deque<sema::SourceFile>& files);

/// The library's elementary functions, where a text of the compile may use one.
std::vector<const syntax::Module*> LoadElementary(Compilation& compilation,
                                                  const std::deque<sema::SourceFile>& files);

}  // namespace kdl::driver
