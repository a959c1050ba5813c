#pragma once

#include <array>

#include "passes/pipelines.h"
#include "targets/cpu/passes.h"

// From the tiles of the source to loops over vectors. The order is proven as it is compiled.

namespace kdl::cpu {

/// The result is what the interpreter runs to compare.
inline constexpr std::array kTilePipeline = {&kSelectUnits, &kSelectTiles};
/// Which pipes there are, and how they lie in memory.
inline constexpr std::array kPipePipeline = {
    &kCutUnits,     &kSplitStages, &kInjectPipeBuffers, &kInlineFunctions,
    &kCheckStatics, &kFuseStages,  &kPrivatizeUpdates,  &kFoldGroups};
/// Down to what code generation takes.
inline constexpr std::array kLoopPipeline = {
    &kOpenSlots,       &kSplitFewRows, &kSplitChannels,     &kDeal,        &kFitOperands,
    &kCanonicalize,    &kFoldRows,     &kShareWindows,      &kFormNests,   &kTakeFolds,
    &kPlaceTiles,      &kPeelTurns,    &kFinishTurns,       &kSinkMoves,   &kBlockProducts,
    &kPlacePrefetches, &kExpandTiles,  &kCanonicalizeLoops, &kCheckScratch};

static_assert(!FindUnmet({kModulePipeline, kTilePipeline, kPipePipeline, kProgramPipeline,
                          kLoopPipeline}));

}  // namespace kdl::cpu
