#pragma once

#include <cstddef>

#include "support/arena.h"
#include "support/diagnostics.h"
#include "support/names.h"
#include "support/source.h"
#include "syntax/ast.h"

namespace kdl::syntax {

// What is refused before parsing; the parser and the phases after it recurse.
inline constexpr size_t kMaxBytes = size_t{16} << 20;
inline constexpr size_t kMaxTokens = 2'000'000;
inline constexpr size_t kMaxNesting = 256;  ///< of brackets and of `if … then … else`
/// Of the tree of one expression, where a sum of n terms is n deep, and of statements.
inline constexpr size_t kMaxDepth = 1000;

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
