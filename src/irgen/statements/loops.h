#pragma once

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

void GenFor(FunctionGen& gen, const syntax::ForStmt& loop);
void GenIf(FunctionGen& gen, const syntax::IfStmt& branch);

}  // namespace kdl::irgen
