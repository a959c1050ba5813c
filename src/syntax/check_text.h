#pragma once

#include "support/diagnostics.h"
#include "support/source.h"

namespace kdl::syntax {

/// Whether the file is text at all: of a size that is read, UTF-8, without NUL. Reports the first
/// fault.
bool CheckText(const SourceManager& sources, FileId file, DiagnosticEngine& diagnostics);

}  // namespace kdl::syntax
