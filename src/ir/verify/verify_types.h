#pragma once

#include <string>

#include "ir/module.h"

namespace kdl::ir {

/// What is wrong with the types of an op's operands, attributes, parameters and results; empty
/// where nothing is. The op's structure is sound.
std::string TypeFault(const Op& op, const Module& module);

}  // namespace kdl::ir
