#pragma once

#include "passes/passes.h"
#include "targets/cpu/facts.h"

// The passes that only processors need, each in the file named like it.

namespace kdl::cpu {

inline constexpr Fact kTilesPlaced{"tiles-placed"};
inline constexpr Fact kProductsBlocked{"products-blocked"};

void RunCutUnits(PassContext& context, ir::Function& kernel);
inline constexpr Pass kCutUnits{
    .name = "cut-units",
    .summary = "cuts a kernel without stages into one for each unit of the device",
    .on_kernel = RunCutUnits,
    .needs = {{&kTilesSelected, "what travels between units has constant sizes"}}};

void RunPrivatizeUpdates(PassContext& context, ir::Function& kernel);
inline constexpr Pass kPrivatizeUpdates{
    .name = "privatize-updates",
    .summary =
        "gives cores what they update of integers to themselves, and updates the tensor once",
    .on_kernel = RunPrivatizeUpdates,
    .needs = {{&kTilesSelected, "whether it pays depends on the sizes of tiles"}}};

void RunSplitFewRows(PassContext& context, ir::Function& kernel);
inline constexpr Pass kSplitFewRows{
    .name = "split-few-rows",
    .summary = "gives products of few rows blocks of their own, which are not packed",
    .on_kernel = RunSplitFewRows,
    .needs = {{&kTilesSelected, "blocks that have few rows as they are need no others"},
              {&kUnitsSelected, "units take packed factors"}}};

void RunSplitChannels(PassContext& context, ir::Function& kernel);
inline constexpr Pass kSplitChannels{
    .name = "split-channels",
    .summary = "lets a convolution walk its channels as vectors where they fill them better",
    .on_kernel = RunSplitChannels,
    .needs = {{&kTilesSelected, "channels get blocks beside those that were chosen"},
              {&kUnitsSelected, "units take packed factors"}}};

void RunDeal(PassContext& context, ir::Function& kernel);
inline constexpr Pass kDeal{
    .name = "deal",
    .summary = "turns blocked loops into loops over block numbers, dealt to the cores",
    .on_kernel = RunDeal,
    .needs = {{&kTilesSelected, "blocks are counted by their constant extents"},
              {&kGroupsFolded, "groups walk their blocks in order, whichever core has them"}},
    .gives = {&kDealt}};

void RunFitOperands(PassContext& context, ir::Function& kernel);
inline constexpr Pass kFitOperands{
    .name = "fit-operands",
    .summary = "makes the operands of contractions as their units take them",
    .on_kernel = RunFitOperands,
    .needs = {{&kUnitsSelected, "the unit says what it takes"},
              {&kTilesSelected, "an operand's tile has its constant axes"}}};

void RunFoldRows(PassContext& context, ir::Function& kernel);
inline constexpr Pass kFoldRows{
    .name = "fold-rows",
    .summary = "folds what is read once row by row, from where it lies",
    .on_kernel = RunFoldRows,
    .needs = {{&kDealt, "a block's rows are turns of a loop"},
              {&kTilesSelected, "accumulators stay in the nearest cache"}}};

void RunShareWindows(PassContext& context, ir::Function& kernel);
inline constexpr Pass kShareWindows{
    .name = "share-windows",
    .summary = "loads what a fold sees of a window once, and keeps the relation",
    .on_kernel = RunShareWindows,
    .needs = {{&kFnsInlined, "windows are seen through the fns that index them"},
              {&kOrdersFixed, "only folds whose order is fixed see their elements in any window"},
              {&kBoundsChecked, "a window is loaded where its accesses lie inside"}}};

void RunTakeFolds(PassContext& context, ir::Function& kernel);
inline constexpr Pass kTakeFolds{
    .name = "take-folds",
    .summary = "folds in lanes go into the nests that make what they fold",
    .on_kernel = RunTakeFolds,
    .needs = {{&kNestsFormed, "a fold goes into a nest"}}};

void RunPlaceTiles(PassContext& context, ir::Function& kernel);
inline constexpr Pass kPlaceTiles{
    .name = "place-tiles",
    .summary = "gives tiles homes in scratch, each laid out for those who read it",
    .on_kernel = RunPlaceTiles,
    .needs = {{&kNestsFormed, "what stays inside of a nest needs no home"}},
    .gives = {&kTilesPlaced}};

void RunPeelTurns(PassContext& context, ir::Function& kernel);
inline constexpr Pass kPeelTurns{
    .name = "peel-turns",
    .summary = "lets loops' first turns start from a value instead of what is filled with it",
    .on_kernel = RunPeelTurns,
    .needs = {{&kTilesPlaced, "what a turn goes on from stands in a home"}}};

void RunFinishTurns(PassContext& context, ir::Function& kernel);
inline constexpr Pass kFinishTurns{
    .name = "finish-turns",
    .summary = "lets what stores a loop's result follow its contraction in the last turn",
    .on_kernel = RunFinishTurns,
    .needs = {{&kTilesPlaced, "what a turn leaves behind stands in a home"}}};

void RunSinkMoves(PassContext& context, ir::Function& kernel);
inline constexpr Pass kSinkMoves{
    .name = "sink-moves",
    .summary = "packs panels of what contractions read right before the rows pass over them",
    .on_kernel = RunSinkMoves,
    .needs = {{&kTilesPlaced, "a home says in which panels it is read"}}};

void RunBlockProducts(PassContext& context, ir::Function& kernel);
inline constexpr Pass kBlockProducts{
    .name = "block-products",
    .summary = "cuts folds in one chain into blocks whose accumulators fit the registers",
    .on_kernel = RunBlockProducts,
    .needs = {{&kTilesPlaced, "a block reads and writes its part of a home"}},
    .gives = {&kProductsBlocked}};

void RunPlacePrefetches(PassContext& context, ir::Function& kernel);
inline constexpr Pass kPlacePrefetches{
    .name = "place-prefetches",
    .summary = "asks for the next panel, and for what is stored, while register blocks pass",
    .on_kernel = RunPlacePrefetches,
    .needs = {{&kProductsBlocked, "each block of rows asks for its share"}}};

void RunExpandTiles(PassContext& context, ir::Function& kernel);
inline constexpr Pass kExpandTiles{
    .name = "expand-tiles",
    .summary = "turns nests, reductions and contractions into loops",
    .on_kernel = RunExpandTiles,
    .needs = {{&kNestsFormed, "a loop is made of a nest, not of single ops"},
              {&kTilesPlaced, "loops read and write scratch, not tiles"},
              {&kProductsBlocked,
               "accumulators are carried in registers, all of a block's at once"}},
    .gives = {&kLoopLevel},
    .withdraws = {&kNestsFormed, &kTilesPlaced, &kProductsBlocked}};

}  // namespace kdl::cpu
