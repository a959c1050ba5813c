#pragma once

#include <array>

#include "passes/pipelines.h"
#include "targets/cpu/passes.h"

// The passes that lower the source's tiles to loops over vectors. Their order is checked when kernelc is
// compiled.

namespace kdl::cpu {

/// Selects instructions and tiles. The interpreter runs the result of these passes as the reference.
inline constexpr std::array kTilePipeline = {&kSelectInstructions, &kSelectTiles};
/// Determines which pipes exist and how they are laid out in memory.
inline constexpr std::array kPipePipeline = {
    &kPartitionByEngine, &kLayOutPipes, &kInjectPipeBuffers, &kInlineFunctions,
    &kCheckStatics,      &kFuseStages,  &kPrivatizeUpdates,  &kLowerGroupReductions};
/// Lowers kernels to the form that code generation accepts.
inline constexpr std::array kLoopPipeline = {
    &kLowerPipes,      &kSplitFewRows,      &kSplitChannels,       &kDistributeBlocks,
    &kConvertOperands, &kCanonicalize,      &kStreamRowReductions, &kCacheWindows,
    &kFuseElementwise, &kFuseReductions,    &kAllocateTiles,       &kPeelFirstIteration,
    &kFuseEpilogue,    &kPackLate,          &kBlockProducts,       &kInsertPrefetches,
    &kExpandTiles,     &kCanonicalizeLoops, &kCheckScratch};

static_assert(!FindUnmet({kModulePipeline, kTilePipeline, kPipePipeline, kProgramPipeline,
                          kLoopPipeline}));

}  // namespace kdl::cpu
