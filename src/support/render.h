#pragma once

#include <string>

#include "support/diagnostics.h"
#include "support/source.h"

namespace kdl {

/// Returns `file:line:col: error: text [E0412]`, the source line, carets under the span, notes and help. Ends
/// with a newline.
std::string RenderText(const Diagnostic& diagnostic, const SourceManager& sources, bool colour);

/// Returns one JSON object on one line: id, severity, message, file, line, column, end_line, end_column,
/// notes, help.
std::string RenderJson(const Diagnostic& diagnostic, const SourceManager& sources);

}  // namespace kdl
