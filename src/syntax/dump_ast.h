#pragma once

#include <string>

#include "syntax/ast.h"

namespace kdl::syntax {

/// Returns the tree as nested lists, with one node per line and two spaces of indentation per level. The
/// golden tests compare this text.
std::string DumpAst(const Module& module);

}  // namespace kdl::syntax
