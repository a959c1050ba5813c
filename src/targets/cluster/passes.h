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

KDL_KERNEL_PASS(
    PipelineCopies, .name = "pipeline-copies",
    .summary = "starts block copies iterations ahead of their use if there is enough memory",
    .needs = {{&simt::kWorkgroupLoops, "copies need buffers"}});

}  // namespace kdl::cluster
