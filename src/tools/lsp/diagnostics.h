#pragma once

#include "support/diagnostics.h"
#include "support/source.h"
#include "tools/lsp/connection.h"
#include "tools/lsp/positions.h"

namespace kdl::tools::lsp {

/// Returns diagnostics in the form of the protocol. Those in other files are shown at the beginning of this one.
Json DiagnosticsOf(const DiagnosticEngine& diagnostics, const SourceManager& sources, FileId file,
                   const Positions& positions);

/// Returns the `file://` address of a path, and the path of such an address.
std::string UriOf(const std::string& path);
std::string PathOf(const std::string& uri);

}  // namespace kdl::tools::lsp
