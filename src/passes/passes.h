#pragma once

#include "passes/names.h"
#include "passes/pass_manager.h"

// The passes that families of targets share, each in the file named like it. Families have more of their own.

namespace kdl::passes {

inline constexpr Fact kConstantsBound{"constants-bound"};
inline constexpr Fact kTileFnsInlined{"tile-fns-inlined"};
inline constexpr Fact kOrdersFixed{"orders-fixed"};
inline constexpr Fact kBoundsChecked{"bounds-checked"};
inline constexpr Fact kPipesChecked{"pipes-checked"};
inline constexpr Fact kDevicesResolved{"devices-resolved"};
inline constexpr Fact kPlaced{"placed"};
inline constexpr Fact kTransfersInserted{"transfers-inserted"};
inline constexpr Fact kLaunchesOrdered{"launches-ordered"};
inline constexpr Fact kTilesSelected{"tiles-selected"};
inline constexpr Fact kUnitsSelected{"units-selected"};
inline constexpr Fact kRingsPlaced{"rings-placed"};
inline constexpr Fact kWorkspaceInjected{"workspace-injected"};
inline constexpr Fact kFnsInlined{"fns-inlined"};
inline constexpr Fact kPipesDecided{"pipes-decided"};
inline constexpr Fact kGroupsFolded{"groups-folded"};
inline constexpr Fact kSlotsOpen{"slots-open"};
inline constexpr Fact kDealt{"dealt"};
inline constexpr Fact kNestsFormed{"nests-formed"};
inline constexpr Fact kLoopLevel{"loop-level"};

// -- What the source alone decides ---------------------------------------------------------------

void RunInstantiate(PassContext& context);
inline constexpr Pass kInstantiate{
    .name = "instantiate",
    .summary = "binds int generics from -D, defaults and launches; one kernel a set of constants",
    .on_module = RunInstantiate,
    .gives = {&kConstantsBound}};

void RunInlineTileFunctions(PassContext& context);
inline constexpr Pass kInlineTileFunctions{
    .name = "inline-tile-functions",
    .summary =
        "replaces calls of fns that have ranges or pipes by their bodies, over the caller's axes",
    .on_module = RunInlineTileFunctions,
    .gives = {&kTileFnsInlined}};

void RunFixOrders(PassContext& context);
inline constexpr Pass kFixOrders{
    .name = "fix-orders",
    .summary = "decides the order of rounding of every reduction from the source alone",
    .on_module = RunFixOrders,
    .needs = {{&kTileFnsInlined, "the order depends on the axes that a fold's operand has"}},
    .gives = {&kOrdersFixed}};

void RunCheckBounds(PassContext& context);
inline constexpr Pass kCheckBounds{
    .name = "check-bounds",
    .summary = "proves accesses inside, finds those that cannot be, leaves a guard on the rest",
    .on_module = RunCheckBounds,
    .needs = {{&kConstantsBound, "sizes and indices are made of the constants"}},
    .gives = {&kBoundsChecked},
    .proves = true};

void RunCheckDisjoint(PassContext& context, ir::Function& kernel);
inline constexpr Pass kCheckDisjoint{
    .name = "check-disjoint",
    .summary =
        "proves that blocks touch no element that another one writes, and that stores name each "
        "element once",
    .on_kernel = RunCheckDisjoint,
    .needs = {{&kConstantsBound, "sizes and indices are made of the constants"},
              {&kTileFnsInlined, "what a fn stores, its caller's block stores"}},
    .proves = true};

void RunCheckOutputs(PassContext& context, ir::Function& kernel);
inline constexpr Pass kCheckOutputs{
    .name = "check-outputs",
    .summary = "proves that every element of an out parameter is written, and read only once it is",
    .on_kernel = RunCheckOutputs,
    .needs = {{&kConstantsBound, "sizes and indices are made of the constants"},
              {&kTileFnsInlined, "what a fn stores, its caller's block stores"}},
    .proves = true};

void RunCheckPipes(PassContext& context, ir::Function& kernel);
inline constexpr Pass kCheckPipes{
    .name = "check-pipes",
    .summary =
        "counts pushes and pops, and finds depths with which no stages wait for each other forever",
    .on_kernel = RunCheckPipes,
    .needs = {{&kTileFnsInlined, "what a fn pushes counts for its caller's stage"}},
    .gives = {&kPipesChecked}};

void RunResolveDevices(PassContext& context, ir::Function& program);
inline constexpr Pass kResolveDevices{
    .name = "resolve-devices",
    .summary = "gives every allocation and launch its device and queue",
    .on_program = RunResolveDevices,
    .needs = {{&kConstantsBound, "a launch names the kernel that instantiate has made for it"}},
    .gives = {&kDevicesResolved}};

void RunPlace(PassContext& context, ir::Function& program);
inline constexpr Pass kPlace{
    .name = "place",
    .summary = "gives every tensor of a program the device on which it begins its life",
    .on_program = RunPlace,
    .needs = {{&kDevicesResolved, "a tensor without a place begins where a launch writes it"}},
    .gives = {&kPlaced}};

void RunInsertTransfers(PassContext& context, ir::Function& program);
inline constexpr Pass kInsertTransfers{
    .name = "insert-transfers",
    .summary = "moves tensors to where launches need them, each time with its cause",
    .on_program = RunInsertTransfers,
    .needs = {{&kPlaced, "what lives elsewhere moves"}},
    .gives = {&kTransfersInserted}};

void RunOrderLaunches(PassContext& context, ir::Function& program);
inline constexpr Pass kOrderLaunches{
    .name = "order-launches",
    .summary =
        "orders launches by what they read and write; ends local tensors after their last use",
    .on_program = RunOrderLaunches,
    .needs = {{&kDevicesResolved, "one queue orders what it is given by itself"},
              {&kTransfersInserted, "a transfer is ordered like a launch"}},
    .gives = {&kLaunchesOrdered}};

// -- What a target decides -----------------------------------------------------------------------

void RunSelectUnits(PassContext& context, ir::Function& kernel);
inline constexpr Pass kSelectUnits{
    .name = "select-units",
    .summary = "names the unit of the target whose steps a contraction takes",
    .on_kernel = RunSelectUnits,
    .needs = {{&kOrdersFixed, "a unit takes its steps in a chain"}},
    .gives = {&kUnitsSelected}};

void RunSelectTiles(PassContext& context, ir::Function& kernel);
inline constexpr Pass kSelectTiles{
    .name = "select-tiles",
    .summary = "asks the target's selector for the auto generics",
    .on_kernel = RunSelectTiles,
    .needs = {{&kConstantsBound, "what the user has bound is not the selector's to choose"}},
    .gives = {&kTilesSelected}};

void RunSplitStages(PassContext& context, ir::Function& kernel);
inline constexpr Pass kSplitStages{
    .name = "split-stages",
    .summary = "decides how pipes lie in an instance's workspace",
    .on_kernel = RunSplitStages,
    .needs = {{&kTilesSelected, "slots have constant sizes"},
              {&kPipesChecked, "a ring is as long as check-pipes found necessary"}},
    .gives = {&kRingsPlaced}};

void RunInjectPipeBuffers(PassContext& context);
inline constexpr Pass kInjectPipeBuffers{
    .name = "inject-pipe-buffers",
    .summary = "gives the workspace to every function that owns or reaches a pipe",
    .on_module = RunInjectPipeBuffers,
    .needs = {{&kRingsPlaced, "the workspace is as large as its rings"}},
    .gives = {&kWorkspaceInjected}};

void RunInlineFunctions(PassContext& context, ir::Function& kernel);
inline constexpr Pass kInlineFunctions{
    .name = "inline-functions",
    .summary = "replaces calls of fns by their bodies, mapped over the tiles",
    .on_kernel = RunInlineFunctions,
    .needs = {{&kTilesSelected, "a body that is the caller's has its constants"},
              {&kWorkspaceInjected, "a fn takes its caller's workspace as a parameter"}},
    .gives = {&kFnsInlined}};

void RunCheckStatics(PassContext& context, ir::Function& kernel);
inline constexpr Pass kCheckStatics{
    .name = "check-statics",
    .summary = "judges what static assertions state, now that it is constant",
    .on_kernel = RunCheckStatics,
    .needs = {{&kFnsInlined, "an assertion of a fn is about what its caller gives"}}};

void RunFuseStages(PassContext& context, ir::Function& kernel);
inline constexpr Pass kFuseStages{
    .name = "fuse-stages",
    .summary = "makes one walk of stages that go in step; their pipes vanish",
    .on_kernel = RunFuseStages,
    .needs = {{&kFnsInlined, "stages are in step where their loops are, fns' included"}},
    .gives = {&kPipesDecided}};

void RunScalePipeBuffers(PassContext& context, ir::Function& program);
inline constexpr Pass kScalePipeBuffers{
    .name = "scale-pipe-buffers",
    .summary = "makes programs keep the memory for pipes: instances times footprint",
    .on_program = RunScalePipeBuffers,
    .needs = {{&kLaunchesOrdered, "what a launch reserves lives until its last use has ended"},
              {&kPipesDecided, "pipes that vanish take no memory"}}};

void RunFoldGroups(PassContext& context, ir::Function& kernel);
inline constexpr Pass kFoldGroups{
    .name = "fold-groups",
    .summary =
        "gives what groups of blocks update tensors of its own, and folds these behind a barrier",
    .on_kernel = RunFoldGroups,
    .needs = {{&kTilesSelected, "parts are as large as tiles"}},
    .gives = {&kGroupsFolded}};

void RunOpenSlots(PassContext& context, ir::Function& kernel);
inline constexpr Pass kOpenSlots{
    .name = "open-slots",
    .summary = "pushes and pops become stores to and loads from slots of rings",
    .on_kernel = RunOpenSlots,
    .needs = {{&kFnsInlined, "a slot lives in the block that holds all of its uses"},
              {&kWorkspaceInjected, "slots lie in the workspace"}},
    .gives = {&kSlotsOpen}};

void RunCanonicalize(PassContext& context, ir::Function& kernel);
inline constexpr Pass kCanonicalize{
    .name = "canonicalize",
    .summary = "folds constants and block facts, merges equal ops, drops unused ones",
    .on_kernel = RunCanonicalize,
    .needs = {{&kDealt, "block facts are those of made blks"}}};

void RunFormNests(PassContext& context, ir::Function& kernel);
inline constexpr Pass kFormNests{
    .name = "form-nests",
    .summary = "groups elementwise ops with equal axes into one nest",
    .on_kernel = RunFormNests,
    .needs = {{&kFnsInlined, "a nest holds ops, not calls"},
              {&kSlotsOpen, "what travels through pipes is loaded and stored like the rest"},
              {&kDealt, "a nest goes over the blks that a core has"},
              {&kOrdersFixed, "folds in lanes are taken along by nests, chains are not"},
              {&kBoundsChecked, "at most one op of a nest may trap"}},
    .gives = {&kNestsFormed}};

void RunCheckScratch(PassContext& context, ir::Function& kernel);
inline constexpr Pass kCheckScratch{.name = "check-scratch",
                                    .summary = "refuses tiles that a core has no room for",
                                    .on_kernel = RunCheckScratch,
                                    .needs = {{&kLoopLevel, "buffers are what tiles have become"}}};

inline constexpr Pass kCanonicalizeLoops{
    .name = "canonicalize-loops",
    .summary = "canonicalize once more: the same of loops",
    .on_kernel = RunCanonicalize,
    .needs = {{&kLoopLevel, "what tiles were expanded to leaves behind what nobody needs"}}};

}  // namespace kdl::passes
