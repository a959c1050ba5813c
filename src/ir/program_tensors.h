#pragma once

#include <string_view>

#include "ir/module.h"

namespace kdl::ir {

/// Returns the source name of a tensor in a program. A slice or view has the name of the underlying tensor,
/// and the result of a transfer has the name of the tensor that was copied.
std::string_view SourceName(const Value* tensor);

/// Returns the device on which a caller should put an argument for `param` if the choice is free. If the
/// parameter is declared with `on`, this is the device that it names. Otherwise, it is the first device that
/// uses the argument or, if none does, the module's first device. Returns the empty name if the module has no
/// devices.
Name CallersDevice(const Module& module, const Function& program, const Value* param);

/// Returns, for each dimension of a parameter of a program, the axis of the grid of ranks along which it is distributed, or -1:
/// the program only copies it to tensors that are distributed in this way, and back. Returns nothing if the parameter is not
/// distributed. The module passes must not have run.
NumberList RankAxesOf(const Value* param);

}  // namespace kdl::ir
