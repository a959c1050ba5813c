#pragma once

#include <string>
#include <vector>

#include "support/diagnostics.h"
#include "support/source.h"

namespace kdl::syntax {

/// The places of a file that the grammar reads in two ways, as `line:column: rule`. A grammar in
/// good order has none; the tests ask for every text they have.
std::vector<std::string> FindAmbiguities(const SourceManager& sources, FileId file,
                                         DiagnosticEngine& diagnostics);

}  // namespace kdl::syntax
