#pragma once

#include <string>
#include <vector>

#include "support/diagnostics.h"
#include "support/source.h"

namespace kdl::syntax {

/// Returns every place of the file that the grammar can parse in more than one way, as `line:column: rule`.
/// The result is empty if there is no such place, which the tests check for all of their sources.
std::vector<std::string> FindAmbiguities(const SourceManager& sources, FileId file,
                                         DiagnosticEngine& diagnostics);

}  // namespace kdl::syntax
