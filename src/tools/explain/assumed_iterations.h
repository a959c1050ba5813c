#pragma once

#include <cstdint>
#include <vector>

#include "ir/module.h"

namespace kdl::tools {

/// Gives this number of iterations to each loop of a program whose end depends on elements of tensors, as that of
/// `while change[0] > limit`. Then replaces the elements that the program reads by 0, except for those that decide something
/// else, such as the condition of an `if`. So what remains can be executed without tensors. Returns the loops' locations.
std::vector<ir::Loc> AssumeIterations(ir::Module& module, ir::Function& program,
                                      int64_t iterations);

}  // namespace kdl::tools
