#pragma once

#include <array>

#include "passes/pipelines.h"
#include "targets/simt/passes.h"

// From the tiles of the source to loops of workers. The order is proven as it is compiled.

namespace kdl::simt {

inline constexpr std::array kTilePipeline = {&kSelectUnits, &kSelectTiles, &kSelectMatrixUnits};
inline constexpr std::array kPipePipeline = {&kSplitStages,  &kInjectPipeBuffers, &kInlineFunctions,
                                             &kCheckStatics, &kFuseStages,        &kFoldGroups};
inline constexpr std::array kLoopPipeline = {&kOpenSlots,     &kDealBlocks,        &kCanonicalize,
                                             &kFormNests,     &kAssignMaps,        &kPointFolds,
                                             &kExpandTeam,    &kTakeTurns,         &kFetchAhead,
                                             &kPlaceBarriers, &kCanonicalizeLoops, &kCheckScratch};

static_assert(!FindUnmet({kModulePipeline, kTilePipeline, kPipePipeline, kProgramPipeline,
                          kLoopPipeline}));

}  // namespace kdl::simt
