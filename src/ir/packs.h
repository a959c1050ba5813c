#pragma once

#include <string>

#include "ir/module.h"

namespace kdl::ir {

/// Returns the name of the generic that marks a size of a kernel as a pack of dimensions: a tensor of a call has any
/// number of dimensions there, whose product is the size. No integer parameter of the kernel has this name.
std::string PackMark(Name size);

/// Returns whether the size is a pack of dimensions.
bool IsPack(const Function& function, Size size);

/// Returns a dimension of a kernel's parameter as in the source, such as `M` or `A..`.
std::string DimText(const Function& function, Size size);

}  // namespace kdl::ir
