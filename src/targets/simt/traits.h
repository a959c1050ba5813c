#pragma once

#include <vector>

#include "targets/family.h"
#include "targets/simt/facts.h"

namespace kdl::simt {

/// What tiles and teams are chosen by.
std::vector<targets::Trait> TraitsOf(const SimtFacts& facts);

}  // namespace kdl::simt
