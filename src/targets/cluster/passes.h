#pragma once

#include "targets/simt/passes.h"

// The passes that only machines of clusters need. Each is in the file of the same name.

namespace kdl::cluster {

using namespace passes;

inline constexpr Fact kTilesStaged{"tiles-staged"};

KDL_KERNEL_PASS(
    CopyTiles, .name = "copy-tiles",
    .summary =
        "whole tiles that are loaded or stored go by block copies, as early and as late as may be",
    .needs = {{&kTilesSelected, "a tile in near memory has constant extents"},
              {&kPipesLowered, "slots of pipes are near already"}},
    .gives = {&kTilesStaged});

KDL_KERNEL_PASS(
    PipelineCopies, .name = "pipeline-copies",
    .summary = "block copies begin turns before the one that needs them, where memory has room",
    .needs = {{&simt::kWorkgroupLoops, "copies go into buffers"}});

}  // namespace kdl::cluster
