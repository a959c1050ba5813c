#pragma once

#include <cstdint>

#include "ir/module.h"

namespace kdl::ir {

/// Returns the number of bytes that a buffer of a workgroup needs. Buffers do not share memory, even if their
/// lifetimes do not overlap.
int64_t WorkgroupBytes(Type buffer);
/// Returns the number of bytes that all buffers of a kernel need together.
int64_t WorkgroupBytes(const Function& kernel);

}  // namespace kdl::ir
