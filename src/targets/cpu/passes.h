#pragma once

#include "passes/passes.h"
#include "targets/cpu/facts.h"

// The passes that only processors need. Each is in the file of the same name.

namespace kdl::cpu {

inline constexpr Fact kTilesPlaced{"tiles-allocated"};
inline constexpr Fact kProductsBlocked{"products-blocked"};

KDL_KERNEL_PASS(PartitionByEngine, .name = "partition-by-engine",
                .summary = "cuts a kernel without stages into one for each unit of the device",
                .needs = {{&kTilesSelected, "what travels between units has constant sizes"}});

KDL_KERNEL_PASS(
    PrivatizeUpdates, .name = "privatize-updates",
    .summary =
        "gives cores what they update of integers to themselves, and updates the tensor once",
    .needs = {{&kTilesSelected, "whether it pays depends on the sizes of tiles"}});

KDL_KERNEL_PASS(SplitFewRows, .name = "split-few-rows",
                .summary = "gives products of few rows blocks of their own, which are not packed",
                .needs = {{&kTilesSelected, "blocks that have few rows as they are need no others"},
                          {&kInstructionsSelected, "units take packed factors"}});

KDL_KERNEL_PASS(SplitChannels, .name = "split-channels",
                .summary =
                    "lets a convolution walk its channels as vectors where its register blocks "
                    "take less time so",
                .needs = {{&kTilesSelected, "channels get blocks beside those that were chosen"},
                          {&kInstructionsSelected, "units take packed factors"}});

KDL_KERNEL_PASS(DistributeBlocks, .name = "distribute-blocks",
                .summary = "turns blocked loops into loops over block numbers, dealt to the cores",
                .needs = {{&kTilesSelected, "blocks are counted by their constant extents"},
                          {&kGroupReductionsLowered,
                           "groups walk their blocks in order, whichever core has them"}},
                .gives = {&kBlocksDistributed});

KDL_KERNEL_PASS(ConvertOperands, .name = "convert-operands",
                .summary = "makes the operands of contractions as their units take them",
                .needs = {{&kInstructionsSelected, "the unit says what it takes"},
                          {&kTilesSelected, "an operand's tile has its constant axes"}});

KDL_KERNEL_PASS(StreamRowReductions, .name = "stream-row-reductions",
                .summary = "folds what is read once row by row, from where it lies",
                .needs = {{&kBlocksDistributed, "a block's rows are turns of a loop"},
                          {&kTilesSelected, "accumulators stay in the nearest cache"}});

KDL_KERNEL_PASS(CacheWindows, .name = "cache-windows",
                .summary = "loads what a fold sees of a window once, and keeps the relation",
                .needs = {{&kFnsInlined, "windows are seen through the fns that index them"},
                          {&kReductionOrderFixed,
                           "only folds whose order is fixed see their elements in any window"},
                          {&kBoundsChecked, "a window is loaded where its accesses lie inside"}});

KDL_KERNEL_PASS(FuseReductions, .name = "fuse-reductions",
                .summary = "folds in lanes go into the elementwise loops that make what they fold",
                .needs = {{&kElementwiseFused, "a fold goes into a elementwise loop"}});

KDL_KERNEL_PASS(
    AllocateTiles, .name = "allocate-tiles",
    .summary = "gives tiles tile buffers in scratch, each laid out for those who read it",
    .needs = {{&kElementwiseFused, "what stays inside of a elementwise loop needs no tile buffer"}},
    .gives = {&kTilesPlaced});

KDL_KERNEL_PASS(
    PeelFirstIteration, .name = "peel-first-iteration",
    .summary = "lets loops' first turns start from a value instead of what is filled with it",
    .needs = {{&kTilesPlaced, "what a turn goes on from stands in a tile buffer"}});

KDL_KERNEL_PASS(
    FuseEpilogue, .name = "fuse-epilogue",
    .summary = "lets what stores a loop's result follow its contraction in the last turn",
    .needs = {{&kTilesPlaced, "what a turn leaves behind stands in a tile buffer"}});

KDL_KERNEL_PASS(
    PackLate, .name = "pack-late",
    .summary = "packs panels of what contractions read right before the rows pass over them",
    .needs = {{&kTilesPlaced, "a tile buffer says in which panels it is read"}});

KDL_KERNEL_PASS(
    BlockProducts, .name = "block-products",
    .summary = "cuts folds in one chain into blocks whose accumulators fit the registers",
    .needs = {{&kTilesPlaced, "a block reads and writes its part of a tile buffer"}},
    .gives = {&kProductsBlocked});

KDL_KERNEL_PASS(
    InsertPrefetches, .name = "insert-prefetches",
    .summary = "asks for the next panel, and for what is stored, while register blocks pass",
    .needs = {{&kProductsBlocked, "each block of rows asks for its share"}});

KDL_KERNEL_PASS(ExpandTiles, .name = "expand-tiles",
                .summary = "turns elementwise loops, reductions and contractions into loops",
                .needs = {{&kElementwiseFused,
                           "a loop is made of a elementwise loop, not of single ops"},
                          {&kTilesPlaced, "loops read and write scratch, not tiles"},
                          {&kProductsBlocked,
                           "accumulators are carried in registers, all of a block's at once"}},
                .gives = {&kLoopLevel},
                .withdraws = {&kElementwiseFused, &kTilesPlaced, &kProductsBlocked});

}  // namespace kdl::cpu
