#pragma once

#include "support/diagnostics.h"
#include "support/source.h"

namespace kdl::syntax {

/// Returns whether the file is acceptable text: not too large, valid UTF-8, and without NUL bytes.
/// Reports the first problem.
bool CheckText(const SourceManager& sources, FileId file, DiagnosticEngine& diagnostics);

}  // namespace kdl::syntax
