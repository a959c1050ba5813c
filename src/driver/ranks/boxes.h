#pragma once

#include "kdl/rank_ownership.hpp"
#include "support/rank_limit.h"

namespace kdl::driver {

// Names of the code that computes what ranks own and send, which the runtime shares.
using ranks::Box;
using ranks::CountElements;
using ranks::Exchange;
using ranks::Indices;
using ranks::Intersection;
using ranks::IsEmpty;
using ranks::Ownership;
using ranks::RankGrid;
using ranks::WholeBox;

static_assert(ranks::kAllRanks == kAllRanks && ranks::kMostBlock == kMostRankBlock);

}  // namespace kdl::driver
