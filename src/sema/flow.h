#pragma once

#include "sema/state.h"

namespace kdl::sema {

/// Around the check of a loop's body, its own conditions and bounds recorded: jumps in it are the loop's.
void OpenLoop(FunctionState& state, bool is_spmd);
void CloseLoop(FunctionState& state);

}  // namespace kdl::sema
