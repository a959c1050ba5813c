#pragma once

#include "tools/lsp/workspace.h"

namespace kdl::tools::lsp {

Json Definition(Workspace& workspace, Document& document, const Json& params);
/// Returns the uses of a name in the open files.
Json References(Workspace& workspace, Document& document, const Json& params);
Json Highlights(Workspace& workspace, Document& document, const Json& params);
Json PrepareRename(Workspace& workspace, Document& document, const Json& params);
/// Returns the edits that rename what is at a position, or throws a RequestError that says why it cannot be renamed.
Json Rename(Workspace& workspace, Document& document, const Json& params);
Json Symbols(Workspace& workspace, Document& document, const Json& params);

/// A request that cannot be answered; the editor shows the text.
struct RequestError {
  std::string text;
};

}  // namespace kdl::tools::lsp
