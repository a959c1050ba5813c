#pragma once

#include <string_view>

#include "ir/op.h"

namespace kdl::ir {

/// The name in the source of a tensor of a program: of what a part or view shows, of what a transfer has copied.
std::string_view SourceName(const Value* tensor);

}  // namespace kdl::ir
