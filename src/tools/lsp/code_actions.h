#pragma once

#include "tools/lsp/workspace.h"

namespace kdl::tools::lsp {

/// Returns the corrections that the help texts of errors in a range suggest. Each has been tried: the error disappears,
/// and there is no other one instead.
Json CodeActions(Workspace& workspace, Document& document, const Json& params);

}  // namespace kdl::tools::lsp
