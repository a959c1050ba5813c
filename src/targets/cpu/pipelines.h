#pragma once

#include <array>

#include "passes/pipelines.h"
#include "targets/cpu/passes.h"

// The passes that lower tiles to loops over vectors. Their order is checked at compile time.

namespace kdl::cpu {

/// The passes that find products of matrices, and select matrix instructions and tile sizes. As a reference, the interpreter runs the result
/// of these passes.
inline constexpr std::array kTilePipeline = {&kContractSums, &kSelectInstructions, &kSelectTiles};
/// The passes that determine which pipes exist and how they are laid out in memory.
inline constexpr std::array kPipePipeline = {
    &kPartitionByEngine, &kLayOutPipes, &kInjectPipeBuffers, &kInlineFunctions,
    &kCheckStatics,      &kFuseStages,  &kPrivatizeUpdates,  &kLowerGroupReductions};
/// The passes that lower kernels to the form that code generation accepts.
inline constexpr std::array kLoopPipeline = {
    &kLowerPipes,          &kSplitFewRows,     &kSplitFewLanes,
    &kSplitChannels,       &kLengthenBlocks,   &kDistributeBlocks,
    &kExtendWindows,       &kUnrollWindows,    &kConvertOperands,
    &kCanonicalize,        &kNarrowIntegers,   &kNarrowIndices,
    &kStreamRowReductions, &kCacheWindows,     &kFuseElementwise,
    &kFuseScans,           &kFuseReductions,   &kAllocateTiles,
    &kPeelFirstIteration,  &kFuseEpilogue,     &kPackLate,
    &kBlockProducts,       &kInsertPrefetches, &kExpandTiles,
    &kCanonicalizeLoops,   &kCheckScratch};

static_assert(!FindUnmet({kModulePipeline, kTilePipeline, kPipePipeline, kProgramPipeline,
                          kLoopPipeline}));

}  // namespace kdl::cpu
