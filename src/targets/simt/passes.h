#pragma once

#include "passes/passes.h"
#include "targets/simt/facts.h"

// The passes that only machines with workgroups need. Each is in the file of the same name.

namespace kdl::simt {

inline constexpr Fact kMapsAssigned{"maps-assigned"};
inline constexpr Fact kFoldsPointwise{"folds-pointwise"};
inline constexpr Fact kWorkgroupLoops{"team-loops"};
inline constexpr Fact kStagesLowered{"stages-lowered"};

KDL_KERNEL_PASS(
    SelectMatrixInstructions, .name = "select-matrix-instructions",
    .summary = "names the matrix unit of which a product's blocks are whole steps",
    .needs = {{&kInstructionsSelected, "a matrix unit is better than one that takes single points"},
              {&kTilesSelected, "blocks of constant extents are made of whole steps, or not"}});

KDL_KERNEL_PASS(
    DistributeConsecutiveBlocks, .name = "distribute-consecutive-blocks",
    .summary = "turns blocked loops into loops over block numbers, each core's in a row",
    .needs = {{&kTilesSelected, "blocks are counted by their constant extents"},
              {&kGroupReductionsLowered,
               "groups walk their blocks in order, whichever core has them"}},
    .gives = {&kBlocksDistributed});

KDL_KERNEL_PASS(
    AssignThreadLayouts, .name = "assign-thread-layouts",
    .summary = "gives each worker a block of a product, and its tile to the workers' registers",
    .needs = {{&kTilesSelected, "a map covers constant extents"},
              {&kElementwiseFused,
               "what makes and reads a product's tile are then elementwise loops"}},
    .gives = {&kMapsAssigned});

KDL_KERNEL_PASS(ExpandReductions, .name = "expand-reductions",
                .summary =
                    "folds and takes become elementwise loops over what they make, with loops over "
                    "what they fold",
                .needs = {{&kElementwiseFused,
                           "what a elementwise loop makes and folds is then seen in one place"},
                          {&kMapsAssigned, "products with a map stay as they are"}},
                .gives = {&kFoldsPointwise});

KDL_KERNEL_PASS(
    LowerTilesToThreads, .name = "lower-tiles-to-threads",
    .summary = "gives tiles memory of the team, and the points of elementwise loops to its workers",
    .needs = {{&kFoldsPointwise, "points are what workers are given"}}, .gives = {&kWorkgroupLoops},
    .withdraws = {&kElementwiseFused, &kFoldsPointwise});

KDL_KERNEL_PASS(
    LowerStagesToStateMachine, .name = "lower-stages-to-state-machine",
    .summary = "stages, and parts between barriers of the launch, become turns of a loop",
    .needs = {{&kWorkgroupLoops, "what a step hands on is a number, or lies in memory already"},
              {&kPipesLowered, "a stage waits for slots"}},
    .gives = {&kStagesLowered});

KDL_KERNEL_PASS(
    FetchAhead, .name = "fetch-ahead",
    .summary = "factors are fetched turns before the one that needs them, where memory has room",
    .needs = {{&kWorkgroupLoops, "copies go into buffers"},
              {&kStagesLowered, "stages have no loops of their own any more"}});

KDL_KERNEL_PASS(
    InsertBarriers, .name = "insert-barriers",
    .summary = "orders what workers read behind what others have written, and the other way round",
    .needs = {{&kWorkgroupLoops, "it orders loops of the team's"},
              {&kStagesLowered, "steps of stages come in any order"}},
    .gives = {&kLoopLevel});

}  // namespace kdl::simt
