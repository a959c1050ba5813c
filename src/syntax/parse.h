#pragma once

#include <cstddef>

#include "support/arena.h"
#include "support/diagnostics.h"
#include "support/names.h"
#include "support/source.h"
#include "syntax/ast.h"

namespace kdl::syntax {

/// A file's tree. Where `ok` is false, errors have been reported and the module holds the items
/// that are whole.
struct ParseResult {
  const Module* module = nullptr;
  bool ok = false;
};

/// Reads one file that the source manager holds. The tree lives in `arena` and points into
/// `names` and into the file's text. Reports every mistake that it finds, one diagnostic each.
ParseResult ParseFile(const SourceManager& sources, FileId file, Arena& arena, Names& names,
                      DiagnosticEngine& diagnostics);

}  // namespace kdl::syntax
