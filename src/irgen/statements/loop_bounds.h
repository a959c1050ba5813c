#pragma once

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

LoopBounds GenLoopBounds(FunctionGen& gen, const sema::Entity* binder);
void GenDomain(FunctionGen& gen, const sema::Entity* domain);

}  // namespace kdl::irgen
