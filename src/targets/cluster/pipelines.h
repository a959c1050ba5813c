#pragma once

#include <array>

#include "targets/cluster/passes.h"
#include "targets/simt/pipelines.h"

// The passes for clusters: those of the simt family, and those that move tiles with block copies. The order
// of the passes is checked at compile time.

namespace kdl::cluster {

inline constexpr std::array kLoopPipeline = {&kLowerPipes,
                                             &kCopyTiles,
                                             &simt::kDistributeConsecutiveBlocks,
                                             &kCanonicalize,
                                             &kFuseElementwise,
                                             &simt::kAssignThreadLayouts,
                                             &simt::kExpandReductions,
                                             &simt::kLowerTilesToThreads,
                                             &kPipelineCopies,
                                             &simt::kLowerStagesToStateMachine,
                                             &simt::kInsertBarriers,
                                             &kCanonicalizeLoops,
                                             &kCheckScratch};

static_assert(!FindUnmet({kModulePipeline, simt::kTilePipeline, simt::kPipePipeline,
                          kProgramPipeline, kLoopPipeline}));

}  // namespace kdl::cluster
