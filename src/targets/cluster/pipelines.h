#pragma once

#include <array>

#include "targets/cluster/passes.h"
#include "targets/simt/pipelines.h"

// The passes of teams, and those that move tiles by block copies. The order is proven as it is compiled.

namespace kdl::cluster {

inline constexpr std::array kLoopPipeline = {
    &kOpenSlots,   &kStageTiles,       &simt::kDealBlocks,    &kCanonicalize,
    &kFormNests,   &simt::kAssignMaps, &simt::kPointFolds,    &simt::kExpandTeam,
    &kTurnsAhead,  &simt::kTakeTurns,  &simt::kPlaceBarriers, &kCanonicalizeLoops,
    &kCheckScratch};

static_assert(!FindUnmet({kModulePipeline, simt::kTilePipeline, simt::kPipePipeline,
                          kProgramPipeline, kLoopPipeline}));

}  // namespace kdl::cluster
