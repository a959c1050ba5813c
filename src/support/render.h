#pragma once

#include <string>

#include "support/diagnostics.h"
#include "support/source.h"

namespace kdl {

/// Renders a diagnostic as text: `file:line:col: error: text [E0412]`, then the source line, carets under
/// the span, notes and help. The text ends with a newline.
std::string RenderText(const Diagnostic& diagnostic, const SourceManager& sources, bool colour);

/// Renders a diagnostic as one JSON object on one line, with the keys id, severity, message, file, line,
/// column, end_line, end_column, notes and help.
std::string RenderJson(const Diagnostic& diagnostic, const SourceManager& sources);

}  // namespace kdl
