#pragma once

#include "passes/passes.h"
#include "targets/simt/facts.h"

// The passes that only teams of workers need, each in the file named like it.

namespace kdl::simt {

inline constexpr Fact kMapsAssigned{"maps-assigned"};
inline constexpr Fact kFoldsPointwise{"folds-pointwise"};
inline constexpr Fact kTeamLoops{"team-loops"};
inline constexpr Fact kTurnsTaken{"turns-taken"};

void RunSelectMatrixUnits(PassContext& context, ir::Function& kernel);
inline constexpr Pass kSelectMatrixUnits{
    .name = "select-matrix-units",
    .summary = "names the matrix unit of which a product's blocks are whole steps",
    .on_kernel = RunSelectMatrixUnits,
    .needs = {{&kUnitsSelected, "a matrix unit is better than one that takes single points"},
              {&kTilesSelected, "blocks of constant extents are made of whole steps, or not"}}};

void RunDealBlocks(PassContext& context, ir::Function& kernel);
inline constexpr Pass kDealBlocks{
    .name = "deal-blocks",
    .summary = "turns blocked loops into loops over block numbers, each core's in a row",
    .on_kernel = RunDealBlocks,
    .needs = {{&kTilesSelected, "blocks are counted by their constant extents"},
              {&kGroupsFolded, "groups walk their blocks in order, whichever core has them"}},
    .gives = {&kDealt}};

void RunAssignMaps(PassContext& context, ir::Function& kernel);
inline constexpr Pass kAssignMaps{
    .name = "assign-maps",
    .summary = "gives each worker a block of a product, and its tile to the workers' registers",
    .on_kernel = RunAssignMaps,
    .needs = {{&kTilesSelected, "a map covers constant extents"},
              {&kNestsFormed, "what makes and reads a product's tile are then nests"}},
    .gives = {&kMapsAssigned}};

void RunPointFolds(PassContext& context, ir::Function& kernel);
inline constexpr Pass kPointFolds{
    .name = "point-folds",
    .summary = "folds and takes become nests over what they make, with loops over what they fold",
    .on_kernel = RunPointFolds,
    .needs = {{&kNestsFormed, "what a nest makes and folds is then seen in one place"},
              {&kMapsAssigned, "products with a map stay as they are"}},
    .gives = {&kFoldsPointwise}};

void RunExpandTeam(PassContext& context, ir::Function& kernel);
inline constexpr Pass kExpandTeam{
    .name = "expand-team",
    .summary = "gives tiles memory of the team, and the points of nests to its workers",
    .on_kernel = RunExpandTeam,
    .needs = {{&kFoldsPointwise, "points are what workers are given"}},
    .gives = {&kTeamLoops},
    .withdraws = {&kNestsFormed, &kFoldsPointwise}};

void RunTakeTurns(PassContext& context, ir::Function& kernel);
inline constexpr Pass kTakeTurns{
    .name = "take-turns",
    .summary = "stages, and parts between barriers of the launch, become turns of a loop",
    .on_kernel = RunTakeTurns,
    .needs = {{&kTeamLoops, "what a step hands on is a number, or lies in memory already"},
              {&kSlotsOpen, "a stage waits for slots"}},
    .gives = {&kTurnsTaken}};

void RunFetchAhead(PassContext& context, ir::Function& kernel);
inline constexpr Pass kFetchAhead{
    .name = "fetch-ahead",
    .summary = "factors are fetched turns before the one that needs them, where memory has room",
    .on_kernel = RunFetchAhead,
    .needs = {{&kTeamLoops, "copies go into buffers"},
              {&kTurnsTaken, "stages have no loops of their own any more"}}};

void RunPlaceBarriers(PassContext& context, ir::Function& kernel);
inline constexpr Pass kPlaceBarriers{
    .name = "place-barriers",
    .summary = "orders what workers read behind what others have written, and the other way round",
    .on_kernel = RunPlaceBarriers,
    .needs = {{&kTeamLoops, "it orders loops of the team's"},
              {&kTurnsTaken, "steps of stages come in any order"}},
    .gives = {&kLoopLevel}};

}  // namespace kdl::simt
