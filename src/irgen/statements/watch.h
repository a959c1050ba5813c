#pragma once

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

void GenAssert(FunctionGen& gen, const syntax::AssertStmt& assertion);
void GenPrint(FunctionGen& gen, const syntax::PrintStmt& print);

}  // namespace kdl::irgen
