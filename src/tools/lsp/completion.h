#pragma once

#include "tools/lsp/workspace.h"

namespace kdl::tools::lsp {

/// Returns the names that may be written at a position.
Json Completion(Workspace& workspace, Document& document, const Json& params);

}  // namespace kdl::tools::lsp
