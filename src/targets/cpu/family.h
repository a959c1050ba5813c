#pragma once

#include "targets/family.h"

namespace kdl::cpu {

/// Processors: this one, the debug device and the interpreter, which both take the host's code or tiles.
extern const targets::Family kFamily;

}  // namespace kdl::cpu
