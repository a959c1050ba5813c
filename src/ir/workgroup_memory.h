#pragma once

#include <cstdint>

#include "ir/module.h"

namespace kdl::ir {

/// Bytes that a buffer of a team's takes, each of which has a place of its own for the whole kernel.
int64_t WorkgroupBytes(Type buffer);
/// Of all of a kernel's.
int64_t WorkgroupBytes(const Function& kernel);

}  // namespace kdl::ir
