#pragma once

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

void FillReducedOutputs(FunctionGen& gen);

}  // namespace kdl::irgen
