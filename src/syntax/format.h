#pragma once

#include <optional>
#include <string>

#include "support/diagnostics.h"
#include "support/source.h"

namespace kdl::syntax {

/// Returns the text of a file in the style that `samples/guide/editors.md` describes: with the same tokens and comments, in lines
/// that depend on the author's choice of lines as little as is useful. Formatting the result changes nothing.
/// If the file has syntax errors, reports them and returns nothing.
std::optional<std::string> FormatFile(const SourceManager& sources, FileId file,
                                      DiagnosticEngine& diagnostics);

}  // namespace kdl::syntax
