#pragma once

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

void GenView(FunctionGen& gen, const syntax::ViewStmt& view);

}  // namespace kdl::irgen
