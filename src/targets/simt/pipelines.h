#pragma once

#include <array>

#include "passes/pipelines.h"
#include "targets/simt/passes.h"

// The passes that lower the tiles of a program to loops of GPU threads. Their order is checked when kernelc
// is compiled.

namespace kdl::simt {

inline constexpr std::array kTilePipeline = {&kSelectInstructions, &kSelectTiles,
                                             &kSelectMatrixInstructions};
inline constexpr std::array kPipePipeline = {&kLayOutPipes,     &kInjectPipeBuffers,
                                             &kInlineFunctions, &kCheckStatics,
                                             &kFuseStages,      &kLowerGroupReductions};
inline constexpr std::array kLoopPipeline = {
    &kLowerPipes,          &kDistributeConsecutiveBlocks, &kCanonicalize,
    &kFuseElementwise,     &kAssignThreadLayouts,         &kExpandReductions,
    &kLowerTilesToThreads, &kLowerStagesToStateMachine,   &kPipelineAsyncCopies,
    &kInsertBarriers,      &kCanonicalizeLoops,           &kCheckScratch};

static_assert(!FindUnmet({kModulePipeline, kTilePipeline, kPipePipeline, kProgramPipeline,
                          kLoopPipeline}));

}  // namespace kdl::simt
