#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/source.h"

namespace kdl::syntax {

/// A part of a file and the text that replaces it.
struct Replacement {
  Span span;
  std::string text;
};

/// A change that makes a file smaller. Its replacements are in the order of their places, and do not overlap.
using Reduction = std::vector<Replacement>;

/// Returns the reductions of a file, those that remove the most text first: without items, statements, clauses or
/// parameters, with one part of an expression in place of the whole, and with smaller numbers. Any sequence of reductions
/// ends. A reduced file may have errors. A file with syntax errors has no reductions.
std::vector<Reduction> FindReductions(const SourceManager& sources, FileId file);

/// Returns the text of a file with its replacements.
std::string Reduced(std::string_view text, const Reduction& reduction);

/// Returns whether the text has no syntax errors.
bool HasValidSyntax(std::string_view text);

}  // namespace kdl::syntax
