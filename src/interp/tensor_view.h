#pragma once

#include <optional>
#include <vector>

#include "interp/core.h"
#include "interp/sizes.h"
#include "interp/trap.h"

namespace kdl::interp {

/// The first view of a kernel that its parameters' strides do not allow. `tensors`: the parameters', in order.
std::optional<Trap> BrokenView(const ir::Function& kernel, const SizeValues& sizes,
                               const std::vector<TensorValue>& tensors);

void RunView(Core& core, Activation& here, const Instruction& instruction);

}  // namespace kdl::interp
