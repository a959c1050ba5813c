#pragma once

#include <string_view>

#include "ir/module.h"

namespace kdl::ir {

/// Returns the source name of a program's tensor. For a slice or view it is that of the tensor shown, for a
/// transfer that of the tensor copied.
std::string_view SourceName(const Value* tensor);

/// Returns the device on which a caller puts an argument that may be anywhere: the one that the parameter's
/// `on` names, otherwise the first one that uses it, otherwise the module's first. Empty if the module has no
/// devices.
Name CallersDevice(const Module& module, const Function& program, const Value* param);

}  // namespace kdl::ir
