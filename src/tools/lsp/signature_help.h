#pragma once

#include "tools/lsp/workspace.h"

namespace kdl::tools::lsp {

/// Returns the parameters of the function whose arguments are being written at a position.
Json SignatureHelp(Workspace& workspace, Document& document, const Json& params);

}  // namespace kdl::tools::lsp
