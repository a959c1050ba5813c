#pragma once

#include "tools/lsp/workspace.h"

namespace kdl::tools::lsp {

/// Returns what is known about the name at a position: its declaration, type, sizes and documentation.
Json Hover(Workspace& workspace, Document& document, const Json& params);

}  // namespace kdl::tools::lsp
