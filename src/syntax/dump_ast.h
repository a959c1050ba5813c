#pragma once

#include <string>

#include "syntax/ast.h"

namespace kdl::syntax {

/// The tree as nested lists, one node a line, two spaces a level; the golden tests compare it.
std::string DumpAst(const Module& module);

}  // namespace kdl::syntax
