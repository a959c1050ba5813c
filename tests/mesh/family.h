#pragma once

#include "targets/family.h"

namespace mesh {

/// An invented machine. Its cores have four threads with workgroup memory and a memory of their own each, and
/// a matrix instruction that multiplies f16 in steps of eight terms, which it adds in pairs.
extern const kdl::targets::Family kFamily;

}  // namespace mesh
