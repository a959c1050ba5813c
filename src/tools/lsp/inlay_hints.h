#pragma once

#include "tools/lsp/workspace.h"

namespace kdl::tools::lsp {

/// Returns what the source leaves to the compiler: the types of `let` and `var`, the tile sizes chosen for `auto` on
/// the host, and the extents of the indices in contracts.
Json InlayHints(Workspace& workspace, Document& document, const Json& params);

}  // namespace kdl::tools::lsp
