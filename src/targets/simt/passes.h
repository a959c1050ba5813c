#pragma once

#include "passes/passes.h"
#include "targets/simt/facts.h"

// The passes that only machines with workgroups need. Each pass is in the file of the same name.

namespace kdl::simt {

inline constexpr Fact kMapsAssigned{"maps-assigned"};
inline constexpr Fact kFoldsPointwise{"reductions-pointwise"};
inline constexpr Fact kWorkgroupLoops{"workgroup-loops"};
inline constexpr Fact kStagesLowered{"stages-lowered"};
inline constexpr Fact kCopiesPipelined{"copies-pipelined"};

KDL_KERNEL_PASS(
    SelectMatrixInstructions, .name = "select-matrix-instructions",
    .summary = "selects the matrix instruction whose shape divides the blocks of a product",
    .needs = {{&kInstructionsSelected, "a matrix instruction is better than scalar instructions"},
              {&kTilesSelected, "whether the shape divides a block depends on constant extents"}});

inline constexpr PassOption kGroupRows{"rows", 1, 1 << 20, 2048,
                                       "rows of a product in a group of blocks that run at the "
                                       "same time, which should be about a square"};
KDL_KERNEL_PASS(
    DistributeConsecutiveBlocks, .name = "distribute-consecutive-blocks",
    .summary = "turns blocked loops into loops over block numbers, contiguous for each core",
    .needs = {{&kTilesSelected, "the number of blocks depends on their constant extents"},
              {&kGroupReductionsLowered, "groups run their blocks in order, on whichever core"}},
    .gives = {&kBlocksDistributed}, .options = {&kGroupRows});

KDL_KERNEL_PASS(
    KeepRows, .name = "keep-rows",
    .summary = "loads rows that several loops read into workgroup memory, if they fit there",
    .needs = {{&kElementwiseFused, "elementwise loops then contain the loads"},
              {&kBlocksDistributed, "the rows of a block are handled one after the other"}});

KDL_KERNEL_PASS(
    AssignThreadLayouts, .name = "assign-thread-layouts",
    .summary = "assigns a block of each product to every thread, with the result in registers",
    .needs = {{&kTilesSelected, "a layout needs constant extents"},
              {&kElementwiseFused,
               "the ops before and after a product are then elementwise loops"}},
    .gives = {&kMapsAssigned});

KDL_KERNEL_PASS(ExpandReductions, .name = "expand-reductions",
                .summary =
                    "turns reductions and gathers into elementwise loops over their results, with "
                    "loops over the reduced axes",
                .needs = {{&kElementwiseFused, "an elementwise loop then contains its reductions"},
                          {&kMapsAssigned, "products with a layout are not changed"}},
                .gives = {&kFoldsPointwise});

KDL_KERNEL_PASS(StageTransposedLoads, .name = "stage-transposed-loads",
                .summary = "loads rows into tiles in workgroup memory for loops that read columns",
                .needs = {
                    {&kElementwiseFused, "a load and the store of its value are then in one loop"},
                    {&kTilesSelected, "the size of a tile depends on constant extents"}});

KDL_KERNEL_PASS(
    LowerTilesToThreads, .name = "lower-tiles-to-threads",
    .summary =
        "puts tiles into workgroup memory, and distributes elementwise loops over the threads",
    .needs = {{&kFoldsPointwise, "points are assigned to threads"}}, .gives = {&kWorkgroupLoops},
    .withdraws = {&kElementwiseFused, &kFoldsPointwise});

KDL_KERNEL_PASS(
    LowerStagesToStateMachine, .name = "lower-stages-to-state-machine",
    .summary = "divides stages and kernels at each wait or `sync` into steps that a loop resumes",
    .needs = {{&kWorkgroupLoops, "values between states must be numbers or already be in memory"},
              {&kPipesLowered, "a stage waits for slots"}},
    .gives = {&kStagesLowered});

inline constexpr PassOption kCopiesAhead{
    "ahead", 1, 8, 3, "iterations between a copy and its use, if the source does not say it"};
KDL_KERNEL_PASS(
    PipelineAsyncCopies, .name = "pipeline-async-copies",
    .summary =
        "starts asynchronous copies of tiles that each iteration reads some iterations ahead",
    .needs = {{&kWorkgroupLoops, "copies need buffers"}}, .gives = {&kCopiesPipelined},
    .options = {&kCopiesAhead});
/// Runs the pass with this many iterations between a copy and its use.
void PipelineIterations(PassContext& context, ir::Function& kernel, int64_t ahead);

KDL_KERNEL_PASS(InsertBarriers, .name = "insert-barriers",
                .summary = "adds barriers between accesses of different threads to the same memory",
                .needs = {{&kWorkgroupLoops, "barriers order loops of the workgroup"},
                          {&kStagesLowered, "states of stages run in any order"},
                          {&kCopiesPipelined, "mbarriers order the copies of tensor tiles"}},
                .gives = {&kLoopLevel});

}  // namespace kdl::simt
