#pragma once

#include <cstddef>

#include "support/arena.h"
#include "support/diagnostics.h"
#include "support/names.h"
#include "support/source.h"
#include "syntax/ast.h"
#include "syntax/name_index.h"

namespace kdl::syntax {

/// The tree of a file. If `ok` is false, errors have been reported, and the module contains only the items
/// without errors.
struct ParseResult {
  const Module* module = nullptr;
  bool ok = false;
};

/// Parses a file that the source manager contains. The tree is allocated in `arena` and refers to `names`
/// and to the file's text. Each mistake is reported by one diagnostic.
ParseResult ParseFile(const SourceManager& sources, FileId file, Arena& arena, Names& names,
                      DiagnosticEngine& diagnostics);

/// Like ParseFile, but also finds the names of the file, even if it has errors.
ParseResult ParseFile(const SourceManager& sources, FileId file, Arena& arena, Names& names,
                      DiagnosticEngine& diagnostics, NameIndex& index);

}  // namespace kdl::syntax
