#pragma once

#include <string>
#include <string_view>

#include "ir/module.h"

namespace kdl::driver {

/// Returns a hash of a kernel and the fns that it calls, as the front end has translated them. Places in the source,
/// comments and values from -D do not change it. `instance` is the name of the kernel or of an instance of it, such as
/// `matmul.f32.D64`. Returns an empty string if the module has no such kernel.
std::string KernelHash(const ir::Module& module, std::string_view instance);

}  // namespace kdl::driver
