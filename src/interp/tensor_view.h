#pragma once

#include <optional>
#include <vector>

#include "interp/core.h"
#include "interp/sizes.h"
#include "interp/trap.h"

namespace kdl::interp {

/// Returns a trap for the first view of a kernel that is not possible with the strides of the kernel's
/// arguments. `tensors` are the tensor arguments, in order.
std::optional<Trap> BrokenView(const ir::Function& kernel, const SizeValues& sizes,
                               const std::vector<TensorValue>& tensors);

void RunView(Core& core, Activation& here, const Instruction& instruction);
void RunRowsAdjoin(Core& core, Activation& here, const Instruction& instruction);

}  // namespace kdl::interp
