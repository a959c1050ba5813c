#pragma once

#include "tools/lsp/workspace.h"

namespace kdl::tools::lsp {

/// The kinds of tokens and their modifiers, to which the numbers in the tokens refer.
Json TokenLegend();

/// Returns the kinds of all names of a file. Words and numbers are coloured by the editor's grammar.
Json SemanticTokens(Workspace& workspace, Document& document, const Json& params);

}  // namespace kdl::tools::lsp
