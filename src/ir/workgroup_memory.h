#pragma once

#include <cstdint>

#include "ir/module.h"

namespace kdl::ir {

/// Returns the bytes that a workgroup's buffer needs. Each buffer has its own memory during the whole kernel.
int64_t WorkgroupBytes(Type buffer);
/// The sum over all of a kernel's buffers.
int64_t WorkgroupBytes(const Function& kernel);

}  // namespace kdl::ir
