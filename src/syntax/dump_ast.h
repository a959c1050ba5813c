#pragma once

#include <string>

#include "syntax/ast.h"

namespace kdl::syntax {

/// Returns the tree as nested lists, one node per line, indented by two spaces per level. The
/// golden tests compare it.
std::string DumpAst(const Module& module);

}  // namespace kdl::syntax
