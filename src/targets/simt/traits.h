#pragma once

#include <vector>

#include "targets/family.h"
#include "targets/simt/facts.h"

namespace kdl::simt {

/// Returns the properties of the machine that determine the sizes of tiles and workgroups.
std::vector<targets::Trait> SimtTraits(const SimtFacts& facts);

}  // namespace kdl::simt
