#pragma once

#include "passes/passes.h"
#include "targets/cpu/facts.h"

// The passes that only the cpu family needs. Each is implemented in the .cpp file of the same name.

namespace kdl::cpu {

inline constexpr Fact kTilesPlaced{"tiles-allocated"};
inline constexpr Fact kProductsBlocked{"products-blocked"};

KDL_KERNEL_PASS(ContractSums, .name = "contract-sums",
                .summary = "turns integer sums of products into contractions",
                .needs = {{&kReductionOrderFixed, "products of matrices are sequential"}});

KDL_KERNEL_PASS(
    PartitionByEngine, .name = "partition-by-engine",
    .summary = "partitions a kernel without stages into stages, one for each engine of the device",
    .needs = {{&kTilesSelected, "tiles that go between engines need constant sizes"}});

KDL_KERNEL_PASS(
    PrivatizeUpdates, .name = "privatize-updates",
    .summary = "lets each core collect its updates of integers, and updates the tensor once",
    .needs = {{&kTilesSelected, "whether it is faster depends on the sizes of tiles"}});

KDL_KERNEL_PASS(SplitFewRows, .name = "split-few-rows",
                .summary = "gives products with few rows separate blocks, which are not packed",
                .needs = {
                    {&kTilesSelected, "blocks that already have few rows need no separate ones"},
                    {&kInstructionsSelected, "matrix instructions need packed factors"}});

inline constexpr PassOption kFewLanes{
    "lanes", 1, 64, 8, "the largest number of rows for which vectors along the rows are avoided"};
KDL_KERNEL_PASS(
    SplitFewLanes, .name = "split-few-lanes",
    .summary = "vectorizes products along another axis if vectors along their few rows were short",
    .needs = {{&kTilesSelected, "blocks that already have few rows need no separate ones"},
              {&kInstructionsSelected, "matrix instructions need another layout"},
              {&kReductionOrderFixed, "reductions in sequential order determine the vectors"}},
    .options = {&kFewLanes});

KDL_KERNEL_PASS(
    SplitChannels, .name = "split-channels",
    .summary = "vectorizes a convolution over its channels if its register blocks are then faster",
    .needs = {{&kTilesSelected, "channels get blocks in addition to the chosen ones"},
              {&kInstructionsSelected, "matrix instructions need packed factors"}});

KDL_KERNEL_PASS(LengthenBlocks, .name = "lengthen-blocks",
                .summary = "lengthens the rows of blocks that need no memory for tiles",
                .needs = {{&kTilesSelected, "only blocks with short rows are lengthened"}});

KDL_KERNEL_PASS(BlendStores, .name = "blend-stores",
                .summary = "stores whole vectors where a condition selects every few elements",
                .needs = {
                    {&kFnsInlined, "conditions are visible only after their fns are inlined"}});

inline constexpr PassOption kBlockOrder{
    "order", 0, 2, 0,
    "whether consecutive blocks of a core are neighbours in the stored tensors (0), along the last "
    "range of the spmd (1) or along the first (2)"};
inline constexpr PassOption kMostCores{.name = "cores",
                                       .least = 1,
                                       .most = 1 << 20,
                                       .value = 1 << 20,
                                       .summary = "the largest number of cores that get blocks",
                                       .counts_cores = true};
KDL_KERNEL_PASS(
    DistributeBlocks, .name = "distribute-blocks",
    .summary = "turns blocked loops into loops over block numbers, distributed over the cores",
    .needs = {{&kTilesSelected, "the number of blocks depends on their constant extents"},
              {&kGroupReductionsLowered, "groups run their blocks in order, on whichever core"}},
    .gives = {&kBlocksDistributed}, .options = {&kBlockOrder, &kMostCores});

KDL_KERNEL_PASS(ExtendWindows, .name = "extend-windows",
                .summary = "lets stencils read tiles over windows without checks and copies",
                .needs = {
                    {&kBlocksDistributed, "windows depend on the sizes of the distributed blocks"},
                    {&kTilesSelected, "a longer window must fit the extent of its axis"}});

inline constexpr PassOption kWindowPoints{"points", 1, 4096, 64,
                                          "the largest number of points of an unrolled window"};
KDL_KERNEL_PASS(
    UnrollWindows, .name = "unroll-windows",
    .summary = "unrolls reductions over small windows, so that they need no tile of terms",
    .needs = {{&kReductionOrderFixed, "terms are added in this order"},
              {&kTilesSelected, "the window must be one whole block"}},
    .options = {&kWindowPoints});

KDL_KERNEL_PASS(
    ConvertOperands, .name = "convert-operands",
    .summary = "converts the operands of contractions to the form that matrix instructions need",
    .needs = {{&kInstructionsSelected, "the matrix instruction determines the form"},
              {&kTilesSelected, "the tile of an operand needs constant axes"}});

KDL_KERNEL_PASS(
    ComputeWindows, .name = "compute-windows",
    .summary = "computes equal terms of overlapping windows of a reduction only once",
    .needs = {{&kFnsInlined, "windows are visible only after their fns are inlined"},
              {&kReductionOrderFixed,
               "only a reduction with a fixed order can read its elements from a window"},
              {&kBoundsChecked, "a window is computed only if its accesses are inside"},
              {&kTilesSelected, "whether a window saves work depends on the sizes of blocks"}});

KDL_KERNEL_PASS(
    NarrowIntegers, .name = "narrow-integers",
    .summary = "computes with 8 or 16 bits where all values fit and only narrow results remain",
    .needs = {{&kFnsInlined, "the ranges of a fn's results are not known"}});

KDL_KERNEL_PASS(NarrowIndices, .name = "narrow-indices",
                .summary = "finds the first index at which a condition is true with 32 bits",
                .needs = {{&kReductionOrderFixed, "the reduction must be in 64-lane order"},
                          {&kTilesSelected, "a block must have fewer than 2^32 elements"}});

// The rows of a chunk should stay in the second-level cache, since they are read twice.
inline constexpr PassOption kRowPairs{
    "pairs", 1, 512, 8, "pairs of rows that are tested together for numbers to flush"};
KDL_KERNEL_PASS(StreamRowReductions, .name = "stream-row-reductions",
                .summary = "reduces tiles that are read once row by row, directly from memory",
                .needs = {{&kBlocksDistributed, "the rows of a block are iterations of a loop"},
                          {&kTilesSelected, "accumulators stay in the first-level cache"}},
                .options = {&kRowPairs});

KDL_KERNEL_PASS(CacheWindows, .name = "cache-windows",
                .summary = "loads the elements of overlapping windows of a reduction only once",
                .needs = {
                    {&kFnsInlined, "windows are visible only after their fns are inlined"},
                    {&kReductionOrderFixed,
                     "only a reduction with a fixed order can read its elements from a window"},
                    {&kBoundsChecked, "a window is loaded only if its accesses are inside"}});

KDL_KERNEL_PASS(SeparateChecks, .name = "separate-checks",
                .summary = "checks an index that is the same for all elements of a tile once",
                .needs = {{&kFnsInlined, "fns run for each element"},
                          {&kBoundsChecked, "only what is not proven is checked"}});

KDL_KERNEL_PASS(
    FuseScans, .name = "fuse-scans",
    .summary =
        "fuses a scan with the elementwise loops that compute its operands and use its results",
    .needs = {{&kElementwiseFused, "a scan is fused with elementwise loops"}});

KDL_KERNEL_PASS(
    FuseReductions, .name = "fuse-reductions",
    .summary =
        "fuses reductions in 64-lane order into the elementwise loops that compute their operands",
    .needs = {{&kElementwiseFused, "a reduction is fused into an elementwise loop"}});

KDL_KERNEL_PASS(
    AllocateTiles, .name = "allocate-tiles",
    .summary = "allocates tile buffers in scratch memory, each in the layout that its readers need",
    .needs = {{&kElementwiseFused, "a tile that stays inside an elementwise loop needs no buffer"}},
    .gives = {&kTilesPlaced});

KDL_KERNEL_PASS(
    PeelFirstIteration, .name = "peel-first-iteration",
    .summary = "lets the first iteration of a loop start from a value instead of a filled buffer",
    .needs = {{&kTilesPlaced, "an iteration continues from a tile buffer"}});

KDL_KERNEL_PASS(
    FuseEpilogue, .name = "fuse-epilogue",
    .summary = "fuses the epilogue, which stores the result of a loop, into its last iteration",
    .needs = {{&kTilesPlaced, "an iteration leaves its result in a tile buffer"}});

inline constexpr PassOption kFewBlocks{
    "blocks", 0, 1024, 4, "register blocks of rows from which on packing is worth its time"};
KDL_KERNEL_PASS(
    PackLate, .name = "pack-late",
    .summary = "packs panels of the operands of contractions immediately before they are used",
    .needs = {{&kTilesPlaced, "a tile buffer defines its panels"}}, .options = {&kFewBlocks});

KDL_KERNEL_PASS(
    BlockProducts, .name = "block-products",
    .summary =
        "splits results of sequential reductions into blocks whose accumulators fit the registers",
    .needs = {{&kTilesPlaced, "a block reads and writes its part of a tile buffer"}},
    .gives = {&kProductsBlocked});

KDL_KERNEL_PASS(
    InsertPrefetches, .name = "insert-prefetches",
    .summary = "prefetches the next panel, and the elements to be stored, during register blocks",
    .needs = {{&kProductsBlocked, "each block of rows prefetches its share"}});

KDL_KERNEL_PASS(
    ExpandTiles, .name = "expand-tiles",
    .summary = "lowers elementwise loops, reductions and contractions to loops over elements",
    .needs = {{&kElementwiseFused, "loops are made from elementwise loops, not from single ops"},
              {&kTilesPlaced, "loops read and write buffers, not tiles"},
              {&kProductsBlocked, "all accumulators of a block are carried in registers"}},
    .gives = {&kLoopLevel}, .withdraws = {&kElementwiseFused, &kTilesPlaced, &kProductsBlocked});

}  // namespace kdl::cpu
