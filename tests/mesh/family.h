#pragma once

#include "targets/family.h"

namespace mesh {

/// A made-up machine: cores of four workers with near memory and one memory each of their own, and a unit that multiplies
/// f16 in steps of eight terms, which it adds in pairs.
extern const kdl::targets::Family kFamily;

}  // namespace mesh
