#pragma once

#include "targets/simt/passes.h"

// The passes that only cluster machines need. Each is implemented in the .cpp file of the same name.

namespace kdl::cluster {

using namespace passes;

inline constexpr Fact kTilesStaged{"tiles-staged"};

KDL_KERNEL_PASS(
    CopyTiles, .name = "copy-tiles",
    .summary =
        "converts loads of whole tiles to block copies as early, and stores as late, as possible",
    .needs = {{&kTilesSelected, "a tile in the scratchpad needs constant extents"},
              {&kPipesLowered, "pipe slots are already in the scratchpad"}},
    .gives = {&kTilesStaged});

inline constexpr PassOption kCopiesAhead{
    "ahead", 1, 8, 1, "iterations between a copy and its use, if the source does not say it"};
KDL_KERNEL_PASS(
    PipelineCopies, .name = "pipeline-copies",
    .summary = "is pipeline-async-copies for copies of whole tiles, which one thread starts",
    .needs = {{&simt::kWorkgroupLoops, "copies need buffers"}}, .gives = {&simt::kCopiesPipelined},
    .options = {&kCopiesAhead});

}  // namespace kdl::cluster
