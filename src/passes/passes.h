#pragma once

#include "passes/names.h"
#include "passes/pass_manager.h"

// The passes that all families of targets share. Each is implemented in the file that is named after it.
// Families add passes of their own.

namespace kdl::passes {

inline constexpr Fact kConstantsBound{"constants-bound"};
inline constexpr Fact kTileFnsInlined{"tile-fns-inlined"};
inline constexpr Fact kReductionOrderFixed{"reduction-order-fixed"};
inline constexpr Fact kSizesLimited{"sizes-limited"};
inline constexpr Fact kBoundsChecked{"bounds-checked"};
inline constexpr Fact kPipesChecked{"pipes-checked"};
inline constexpr Fact kStridesChecked{"strides-checked"};
inline constexpr Fact kDevicesResolved{"devices-resolved"};
inline constexpr Fact kLaunchesDistributed{"launches-distributed"};
inline constexpr Fact kDevicesAssigned{"devices-assigned"};
inline constexpr Fact kTransfersInserted{"transfers-inserted"};
inline constexpr Fact kLaunchesOrdered{"launches-ordered"};
inline constexpr Fact kTilesSelected{"tiles-selected"};
inline constexpr Fact kInstructionsSelected{"instructions-selected"};
inline constexpr Fact kRingsLaidOut{"rings-laid-out"};
inline constexpr Fact kWorkspaceInjected{"workspace-injected"};
inline constexpr Fact kFnsInlined{"fns-inlined"};
inline constexpr Fact kPipesDecided{"pipes-decided"};
inline constexpr Fact kGroupReductionsLowered{"group-reductions-lowered"};
inline constexpr Fact kPipesLowered{"pipes-lowered"};
inline constexpr Fact kBlocksDistributed{"blocks-distributed"};
inline constexpr Fact kElementwiseFused{"elementwise-fused"};
inline constexpr Fact kLoopLevel{"loop-level"};
inline constexpr Fact kStaticsChecked{"statics-checked"};
inline constexpr Fact kScratchChecked{"scratch-checked"};

// -- Passes that depend only on the source --------------------------------------------------------

KDL_MODULE_PASS(Instantiate, .name = "instantiate",
                .summary =
                    "binds integer parameters from -D, defaults and launches; makes one kernel for "
                    "each set of constants",
                .gives = {&kConstantsBound});

KDL_MODULE_PASS(
    InlineTileFunctions, .name = "inline-tile-functions",
    .summary = "inlines calls of fns that have ranges or pipes, over the axes of the caller",
    .gives = {&kTileFnsInlined});

KDL_MODULE_PASS(FixReductionOrder, .name = "fix-reduction-order",
                .summary = "chooses the order of rounding of every reduction, only from the source",
                .needs = {{&kTileFnsInlined,
                           "the order depends on the axes of the operand of a reduction"}},
                .gives = {&kReductionOrderFixed});

KDL_KERNEL_PASS(LimitSizes, .name = "limit-sizes",
                .summary = "adds launch checks that products of sizes do not overflow 64 bits",
                .needs = {{&kConstantsBound, "sizes and indices must contain the constants"},
                          {&kTileFnsInlined, "inlined fns belong to their caller"}},
                .gives = {&kSizesLimited});

KDL_MODULE_PASS(CheckBounds, .name = "check-bounds",
                .summary =
                    "proves that accesses are inside their tensors, reports those that are not, "
                    "and guards the rest",
                .needs = {{&kConstantsBound, "sizes and indices must contain the constants"},
                          {&kSizesLimited, "proofs assume that products do not wrap"}},
                .gives = {&kBoundsChecked}, .proves = true);

KDL_KERNEL_PASS(CheckStrides, .name = "check-strides",
                .summary =
                    "reports kernels with `strided` parameters that do not treat each element of a "
                    "pack by itself",
                .needs = {{&kTileFnsInlined, "inlined fns belong to their caller"}},
                .gives = {&kStridesChecked});

KDL_KERNEL_PASS(
    CheckBlocks, .name = "check-blocks",
    .summary = "warns of results that depend on `auto` block sizes by more than rounding",
    .needs = {{&kTileFnsInlined, "inlined fns belong to their caller"}}, .gives = {});

KDL_KERNEL_PASS(CheckDisjoint, .name = "check-disjoint",
                .summary =
                    "proves that no block accesses an element that another one writes, and that "
                    "each store writes an element once",
                .needs = {{&kConstantsBound, "sizes and indices must contain the constants"},
                          {&kTileFnsInlined,
                           "the stores of a fn belong to the block of its caller"}},
                .proves = true);

KDL_KERNEL_PASS(
    CheckOutputs, .name = "check-outputs",
    .summary = "proves that every element of an out parameter is written, and not read before",
    .needs = {{&kConstantsBound, "sizes and indices must contain the constants"},
              {&kTileFnsInlined, "the stores of a fn belong to the block of its caller"}},
    .proves = true);

KDL_KERNEL_PASS(
    CheckPipes, .name = "check-pipes",
    .summary = "proves that pushes and pops match, and deepens pipes whose stages could deadlock",
    .needs = {{&kTileFnsInlined, "the pushes of a fn belong to the stage of its caller"}},
    .gives = {&kPipesChecked});

KDL_PROGRAM_PASS(ResolveDevices, .name = "resolve-devices",
                 .summary = "assigns a device and a queue to every allocation and launch",
                 .needs = {{&kConstantsBound,
                            "a launch must name the kernel that instantiate has made for it"}},
                 .gives = {&kDevicesResolved});

KDL_MODULE_PASS(FuseLaunches, .name = "fuse-launches",
                .summary = "replaces the launches of a `fuse` by one launch",
                .needs = {
                    {&kBoundsChecked, "reads of a fused tensor must be known to be in bounds"},
                    {&kReductionOrderFixed, "sums must keep the order of the kernels"},
                    {&kDevicesResolved, "only launches on one device and queue can be fused"}});

KDL_MODULE_PASS(DistributeLaunches, .name = "distribute-launches",
                .summary =
                    "makes each rank of a device run the blocks that write what it owns, and sends "
                    "it the elements that these blocks read",
                .needs = {{&kBoundsChecked, "the accesses must be those of the checked kernel"},
                          {&kDevicesResolved,
                           "tensors are distributed over the ranks of a device"}},
                .gives = {&kLaunchesDistributed});

KDL_PROGRAM_PASS(
    AssignDevices, .name = "assign-devices",
    .summary = "assigns to every tensor of a program the device where its lifetime begins",
    .needs = {{&kDevicesResolved, "a tensor without a device begins where a launch writes it"}},
    .gives = {&kDevicesAssigned});

KDL_PROGRAM_PASS(
    InsertTransfers, .name = "insert-transfers",
    .summary =
        "moves tensors to the devices where launches need them, and records the cause of each move",
    .needs = {{&kDevicesAssigned, "tensors move between known devices"}},
    .gives = {&kTransfersInserted});

KDL_PROGRAM_PASS(OrderLaunches, .name = "order-launches",
                 .summary =
                     "orders launches by the tensors that they read and write; frees local tensors "
                     "after their last use",
                 .needs = {{&kDevicesResolved, "a queue orders its own operations"},
                           {&kLaunchesDistributed, "fetches must be ordered like launches"},
                           {&kTransfersInserted, "transfers must be ordered like launches"}},
                 .gives = {&kLaunchesOrdered});

// -- Passes that depend on the target -------------------------------------------------------------

KDL_KERNEL_PASS(
    SelectInstructions, .name = "select-instructions",
    .summary =
        "selects how each sequential contraction rounds: as a matrix instruction, or term by term",
    .needs = {{&kReductionOrderFixed, "matrix instructions need a sequential order"}},
    .gives = {&kInstructionsSelected});

KDL_KERNEL_PASS(
    SelectTiles, .name = "select-tiles",
    .summary = "asks the tile selector of the target for the values of `auto` parameters",
    .needs = {{&kConstantsBound,
               "the selector must not change parameters that the user has bound"}},
    .gives = {&kTilesSelected});

KDL_MODULE_PASS(
    ExpandPacks, .name = "expand-packs",
    .summary =
        "adds a kernel for tensors with any strides to each kernel with `strided` parameters",
    .needs = {{&kStridesChecked, "blocks of a pack become blocks of its last dimension"}});

KDL_KERNEL_PASS(LayOutPipes, .name = "lay-out-pipes",
                .summary = "lays out the pipes in the workspace of an instance",
                .needs = {{&kTilesSelected, "slots must have constant sizes"},
                          {&kPipesChecked,
                           "a ring must be as long as check-pipes found necessary"}},
                .gives = {&kRingsLaidOut});

KDL_KERNEL_PASS(InjectPipeBuffers, .name = "inject-pipe-buffers",
                .summary = "adds a workspace parameter to every kernel with pipes",
                .needs = {{&kRingsLaidOut, "the size of the workspace is that of its rings"}},
                .gives = {&kWorkspaceInjected});

KDL_KERNEL_PASS(InlineFunctions, .name = "inline-functions",
                .summary = "inlines calls of fns, mapped over the tiles",
                .needs = {{&kTilesSelected,
                           "an inlined body must use the constants of its caller"}},
                .gives = {&kFnsInlined});

KDL_KERNEL_PASS(
    CheckStatics, .name = "check-statics",
    .summary = "checks static assertions, whose conditions are now constant, and removes them",
    .needs = {{&kFnsInlined, "an assertion of a fn depends on the arguments of its caller"}},
    .gives = {&kStaticsChecked});

KDL_KERNEL_PASS(
    FuseStages, .name = "fuse-stages",
    .summary = "fuses stages that run in step into one loop, and removes their pipes",
    .needs = {{&kFnsInlined,
               "whether stages run in step depends on their loops, including those of fns"}},
    .gives = {&kPipesDecided});

KDL_PROGRAM_PASS(ScalePipeBuffers, .name = "scale-pipe-buffers",
                 .summary = "makes programs allocate memory for pipes: instances times footprint",
                 .needs = {{&kLaunchesOrdered,
                            "memory for a launch must live until its last use has ended"},
                           {&kPipesDecided, "removed pipes need no memory"}});

KDL_KERNEL_PASS(
    LowerGroupReductions, .name = "lower-group-reductions",
    .summary =
        "gives groups of blocks their own partial results, and reduces these after a barrier",
    .needs = {{&kTilesSelected, "partial results are as large as tiles"}},
    .gives = {&kGroupReductionsLowered});

KDL_KERNEL_PASS(
    LowerPipes, .name = "lower-pipes",
    .summary = "replaces pushes and pops by stores to and loads from the slots of ring buffers",
    .needs = {{&kFnsInlined, "a slot must live in the block that contains all of its uses"},
              {&kWorkspaceInjected, "slots are in the workspace"}},
    .gives = {&kPipesLowered});

KDL_KERNEL_PASS(
    Canonicalize, .name = "canonicalize",
    .summary = "folds constants and facts about blocks, merges equal ops, removes unused ones",
    .needs = {{&kBlocksDistributed, "facts about blocks come from their ops"}});

KDL_KERNEL_PASS(
    FuseElementwise, .name = "fuse-elementwise",
    .summary = "fuses elementwise ops with equal axes into one loop",
    .needs =
        {{&kFnsInlined, "an elementwise loop contains ops, not calls"},
         {&kPipesLowered, "tiles that go through pipes are loaded and stored like others"},
         {&kBlocksDistributed, "an elementwise loop runs over the blocks of a core"},
         {&kReductionOrderFixed,
          "elementwise loops can contain reductions in 64-lane order, but not in sequential order"},
         {&kBoundsChecked, "at most one op of an elementwise loop may trap"}},
    .gives = {&kElementwiseFused});

KDL_KERNEL_PASS(CheckScratch, .name = "check-scratch",
                .summary = "rejects tiles that do not fit into the memory of a core",
                .needs = {{&kLoopLevel, "tiles have become buffers"}}, .gives = {&kScratchChecked});

/// The needs of every code generator.
inline constexpr Few<Need> kCodeNeeds = {
    {&kLoopLevel, "code is generated from loops over elements"},
    {&kPipesLowered, "pipes are ring buffers in memory"},
    {&kGroupReductionsLowered, "partial results of groups are in memory"},
    {&kStaticsChecked, "static assertions have no code"},
    {&kScratchChecked, "tiles must fit into the memory of a core"}};

inline constexpr Pass kCanonicalizeLoops{
    .on_kernel = RunCanonicalize,
    .name = "canonicalize-loops",
    .summary = "canonicalizes again, at loop level",
    .needs = {{&kLoopLevel, "expanding tiles leaves unused ops"}}};

}  // namespace kdl::passes
