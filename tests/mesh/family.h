#pragma once

#include "targets/family.h"

namespace mesh {

/// An invented machine. Each core has four threads, with workgroup memory and with memory of its own. A
/// matrix instruction multiplies f16 in steps of eight terms, which it adds in pairs.
extern const kdl::targets::Family kFamily;

}  // namespace mesh
