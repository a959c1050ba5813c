#pragma once

#include <string>

#include "ir/module.h"

namespace kdl::ir {

/// Returns the text form of a program and of all functions that it calls or launches, directly or indirectly.
std::string PrintWithCallees(const Module& module, const Function& program);

}  // namespace kdl::ir
