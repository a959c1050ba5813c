#pragma once

#include "targets/cpu/expand/expander.h"

namespace kdl::cpu {

/// Emits a loop that updates tiles of one axis, such as the states of filters, with tiles in registers where they fill
/// only a few vectors. Returns false and emits nothing if the loop does anything else.
bool ExpandCarriedLoop(Expander& e, const ir::Op* loop, const std::function<void()>& otherwise);

}  // namespace kdl::cpu
