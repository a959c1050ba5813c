#pragma once

#include <string>

#include "ir/module.h"

namespace kdl::ir {

/// Returns what is wrong with the types of an op's operands, attributes, parameters and results; empty if
/// nothing is wrong. The structure of the op must already be valid.
std::string TypeFault(const Op& op, const Module& module);

}  // namespace kdl::ir
