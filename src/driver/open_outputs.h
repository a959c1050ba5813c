#pragma once

#include <set>

#include "ir/module.h"

namespace kdl::driver {

/// The program's tensors whose bits the language leaves open: float `atomic` and `atomic =` on several cores have no order.
/// What a launch makes with such a tensor among its arguments is open, too.
std::set<const ir::Value*> OpenTensors(const ir::Module& module, const ir::Function& program);

}  // namespace kdl::driver
