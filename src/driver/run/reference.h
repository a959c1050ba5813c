#pragma once

#include <string>

#include "driver/run/run_place.h"
#include "ir/module.h"

namespace kdl::driver {

/// Returns the spec of the reference device that imitates the device of `spec`. The processor is
/// imitated because a kernel's tiles may depend on it. The number of cores is imitated because a
/// program's results may depend on it.
std::string ReferenceFor(const RunPlace& place, const std::string& spec);

/// Returns the program that defines the results of `program`: a copy whose launches are not fused if the compiler has
/// fused some, otherwise the program itself.
const ir::Function& DefiningProgram(const ir::Module& module, const ir::Function& program);

}  // namespace kdl::driver
