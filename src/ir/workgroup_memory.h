#pragma once

#include <cstdint>

#include "ir/module.h"

namespace kdl::ir {

/// Returns the bytes that a workgroup's buffer needs. Buffers do not share memory, even if their lifetimes
/// do not overlap.
int64_t WorkgroupBytes(Type buffer);
/// Returns the bytes that all buffers of a kernel need together.
int64_t WorkgroupBytes(const Function& kernel);

}  // namespace kdl::ir
