#pragma once

#include "targets/cpu/expand/expander.h"

namespace kdl::cpu {

/// Whether the processor can compress vectors of all elements that the loop appends.
bool CompressesAppends(const Expander& e, const ir::Op* elementwise);

}  // namespace kdl::cpu
