#pragma once

#include <optional>
#include <vector>

#include "interp/core.h"
#include "interp/sizes.h"
#include "interp/trap.h"

namespace kdl::interp {

/// Returns a trap for the first view of a kernel that the strides of its parameters do not allow. `tensors`
/// are the parameters', in order.
std::optional<Trap> BrokenView(const ir::Function& kernel, const SizeValues& sizes,
                               const std::vector<TensorValue>& tensors);

void RunView(Core& core, Activation& here, const Instruction& instruction);

}  // namespace kdl::interp
