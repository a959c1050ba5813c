#pragma once

#include "targets/family.h"

namespace mesh {

/// An invented machine. Each core has four threads and its own workgroup memory. A matrix instruction
/// multiplies f16 values, eight at a time, and adds the products in pairs.
extern const kdl::targets::Family kFamily;

}  // namespace mesh
