#pragma once

#include <string_view>

#include "ir/module.h"

namespace kdl::ir {

/// The name in the source of a tensor of a program: of what a part or view shows, of what a transfer has copied.
std::string_view SourceName(const Value* tensor);

/// Where a caller has a parameter that may be anywhere: on the device that its `on` names, else on the one that first
/// uses it, else on the module's first. Empty in a module without devices.
Name CallersDevice(const Module& module, const Function& program, const Value* param);

}  // namespace kdl::ir
