#pragma once

#include <array>

#include "passes/pipelines.h"
#include "targets/cpu/passes.h"

// From the tiles of the source to loops over vectors. The order is proven as it is compiled.

namespace kdl::cpu {

/// The result is what the interpreter runs to compare.
inline constexpr std::array kTilePipeline = {&kSelectInstructions, &kSelectTiles};
/// Which pipes there are, and how they lie in memory.
inline constexpr std::array kPipePipeline = {
    &kPartitionByEngine, &kLayOutPipes, &kInjectPipeBuffers, &kInlineFunctions,
    &kCheckStatics,      &kFuseStages,  &kPrivatizeUpdates,  &kLowerGroupReductions};
/// Down to what code generation takes.
inline constexpr std::array kLoopPipeline = {
    &kLowerPipes,      &kSplitFewRows,      &kSplitChannels,       &kDistributeBlocks,
    &kConvertOperands, &kCanonicalize,      &kStreamRowReductions, &kCacheWindows,
    &kFuseElementwise, &kFuseReductions,    &kAllocateTiles,       &kPeelFirstIteration,
    &kFuseEpilogue,    &kPackLate,          &kBlockProducts,       &kInsertPrefetches,
    &kExpandTiles,     &kCanonicalizeLoops, &kCheckScratch};

static_assert(!FindUnmet({kModulePipeline, kTilePipeline, kPipePipeline, kProgramPipeline,
                          kLoopPipeline}));

}  // namespace kdl::cpu
