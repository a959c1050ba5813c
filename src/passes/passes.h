#pragma once

#include "passes/names.h"
#include "passes/pass_manager.h"

// The passes that families of targets share. Each is in the file that is named after it; families add their
// own.

namespace kdl::passes {

inline constexpr Fact kConstantsBound{"constants-bound"};
inline constexpr Fact kTileFnsInlined{"tile-fns-inlined"};
inline constexpr Fact kReductionOrderFixed{"reduction-order-fixed"};
inline constexpr Fact kSizesLimited{"sizes-limited"};
inline constexpr Fact kBoundsChecked{"bounds-checked"};
inline constexpr Fact kPipesChecked{"pipes-checked"};
inline constexpr Fact kDevicesResolved{"devices-resolved"};
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

// -- Passes that depend only on the source --------------------------------------------------------

KDL_MODULE_PASS(
    Instantiate, .name = "instantiate",
    .summary = "binds int generics from -D, defaults and launches; one kernel a set of constants",
    .gives = {&kConstantsBound});

KDL_MODULE_PASS(
    InlineTileFunctions, .name = "inline-tile-functions",
    .summary =
        "replaces calls of fns that have ranges or pipes by their bodies, over the caller's axes",
    .gives = {&kTileFnsInlined});

KDL_MODULE_PASS(FixReductionOrder, .name = "fix-reduction-order",
                .summary = "decides the order of rounding of every reduction from the source alone",
                .needs = {{&kTileFnsInlined,
                           "the order depends on the axes that a fold's operand has"}},
                .gives = {&kReductionOrderFixed});

KDL_KERNEL_PASS(LimitSizes, .name = "limit-sizes",
                .summary = "lets the launch check that products of sizes do not leave 64 bits",
                .needs = {{&kConstantsBound, "sizes and indices are made of the constants"},
                          {&kTileFnsInlined, "what a fn computes, its caller computes"}},
                .gives = {&kSizesLimited});

KDL_MODULE_PASS(
    CheckBounds, .name = "check-bounds",
    .summary = "proves accesses inside, finds those that cannot be, leaves a guard on the rest",
    .needs = {{&kConstantsBound, "sizes and indices are made of the constants"},
              {&kSizesLimited, "proofs count on products that do not wrap"}},
    .gives = {&kBoundsChecked}, .proves = true);

KDL_KERNEL_PASS(
    CheckDisjoint, .name = "check-disjoint",
    .summary =
        "proves that blocks touch no element that another one writes, and that stores name each "
        "element once",
    .needs = {{&kConstantsBound, "sizes and indices are made of the constants"},
              {&kTileFnsInlined, "what a fn stores, its caller's block stores"}},
    .proves = true);

KDL_KERNEL_PASS(
    CheckOutputs, .name = "check-outputs",
    .summary = "proves that every element of an out parameter is written, and read only once it is",
    .needs = {{&kConstantsBound, "sizes and indices are made of the constants"},
              {&kTileFnsInlined, "what a fn stores, its caller's block stores"}},
    .proves = true);

KDL_KERNEL_PASS(
    CheckPipes, .name = "check-pipes",
    .summary =
        "counts pushes and pops, and finds depths with which no stages wait for each other forever",
    .needs = {{&kTileFnsInlined, "what a fn pushes counts for its caller's stage"}},
    .gives = {&kPipesChecked});

KDL_PROGRAM_PASS(ResolveDevices, .name = "resolve-devices",
                 .summary = "gives every allocation and launch its device and queue",
                 .needs = {{&kConstantsBound,
                            "a launch names the kernel that instantiate has made for it"}},
                 .gives = {&kDevicesResolved});

KDL_PROGRAM_PASS(
    AssignDevices, .name = "assign-devices",
    .summary = "gives every tensor of a program the device on which it begins its life",
    .needs = {{&kDevicesResolved, "a tensor without a place begins where a launch writes it"}},
    .gives = {&kDevicesAssigned});

KDL_PROGRAM_PASS(InsertTransfers, .name = "insert-transfers",
                 .summary = "moves tensors to where launches need them, each time with its cause",
                 .needs = {{&kDevicesAssigned, "what lives elsewhere moves"}},
                 .gives = {&kTransfersInserted});

KDL_PROGRAM_PASS(
    OrderLaunches, .name = "order-launches",
    .summary =
        "orders launches by what they read and write; ends local tensors after their last use",
    .needs = {{&kDevicesResolved, "one queue orders what it is given by itself"},
              {&kTransfersInserted, "a transfer is ordered like a launch"}},
    .gives = {&kLaunchesOrdered});

// -- Passes that depend on the target -------------------------------------------------------------

KDL_KERNEL_PASS(SelectInstructions, .name = "select-instructions",
                .summary = "names the unit of the target whose steps a contraction takes",
                .needs = {{&kReductionOrderFixed, "a unit takes its steps in a chain"}},
                .gives = {&kInstructionsSelected});

KDL_KERNEL_PASS(SelectTiles, .name = "select-tiles",
                .summary = "asks the target's selector for the auto generics",
                .needs = {{&kConstantsBound,
                           "what the user has bound is not the selector's to choose"}},
                .gives = {&kTilesSelected});

KDL_KERNEL_PASS(LayOutPipes, .name = "lay-out-pipes",
                .summary = "decides how pipes lie in an instance's workspace",
                .needs = {{&kTilesSelected, "slots have constant sizes"},
                          {&kPipesChecked, "a ring is as long as check-pipes found necessary"}},
                .gives = {&kRingsLaidOut});

KDL_KERNEL_PASS(InjectPipeBuffers, .name = "inject-pipe-buffers",
                .summary = "gives the workspace to every kernel that owns a pipe",
                .needs = {{&kRingsLaidOut, "the workspace is as large as its rings"}},
                .gives = {&kWorkspaceInjected});

KDL_KERNEL_PASS(InlineFunctions, .name = "inline-functions",
                .summary = "replaces calls of fns by their bodies, mapped over the tiles",
                .needs = {{&kTilesSelected, "a body that is the caller's has its constants"}},
                .gives = {&kFnsInlined});

KDL_KERNEL_PASS(CheckStatics, .name = "check-statics",
                .summary = "judges what static assertions state, now that it is constant",
                .needs = {{&kFnsInlined, "an assertion of a fn is about what its caller gives"}});

KDL_KERNEL_PASS(FuseStages, .name = "fuse-stages",
                .summary = "makes one walk of stages that go in step; their pipes vanish",
                .needs = {{&kFnsInlined,
                           "stages are in step where their loops are, fns' included"}},
                .gives = {&kPipesDecided});

KDL_PROGRAM_PASS(ScalePipeBuffers, .name = "scale-pipe-buffers",
                 .summary = "makes programs keep the memory for pipes: instances times footprint",
                 .needs = {{&kLaunchesOrdered,
                            "what a launch reserves lives until its last use has ended"},
                           {&kPipesDecided, "pipes that vanish take no memory"}});

KDL_KERNEL_PASS(
    LowerGroupReductions, .name = "lower-group-reductions",
    .summary =
        "gives what groups of blocks update tensors of its own, and folds these behind a barrier",
    .needs = {{&kTilesSelected, "parts are as large as tiles"}},
    .gives = {&kGroupReductionsLowered});

KDL_KERNEL_PASS(LowerPipes, .name = "lower-pipes",
                .summary = "pushes and pops become stores to and loads from slots of rings",
                .needs = {{&kFnsInlined, "a slot lives in the block that holds all of its uses"},
                          {&kWorkspaceInjected, "slots lie in the workspace"}},
                .gives = {&kPipesLowered});

KDL_KERNEL_PASS(Canonicalize, .name = "canonicalize",
                .summary = "folds constants and block facts, merges equal ops, drops unused ones",
                .needs = {{&kBlocksDistributed, "block facts are those of made blocks"}});

KDL_KERNEL_PASS(
    FuseElementwise, .name = "fuse-elementwise",
    .summary = "groups elementwise ops with equal axes into one elementwise loop",
    .needs = {{&kFnsInlined, "a elementwise loop holds ops, not calls"},
              {&kPipesLowered, "what travels through pipes is loaded and stored like the rest"},
              {&kBlocksDistributed, "a elementwise loop goes over the blocks that a core has"},
              {&kReductionOrderFixed,
               "folds in lanes are taken along by elementwise loops, chains are not"},
              {&kBoundsChecked, "at most one op of a elementwise loop may trap"}},
    .gives = {&kElementwiseFused});

KDL_KERNEL_PASS(CheckScratch, .name = "check-scratch",
                .summary = "refuses tiles that a core has no room for",
                .needs = {{&kLoopLevel, "buffers are what tiles have become"}});

inline constexpr Pass kCanonicalizeLoops{
    .on_kernel = RunCanonicalize,
    .name = "canonicalize-loops",
    .summary = "canonicalize once more: the same of loops",
    .needs = {{&kLoopLevel, "what tiles were expanded to leaves behind what nobody needs"}}};

}  // namespace kdl::passes
