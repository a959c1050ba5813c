#pragma once

#include "passes/passes.h"
#include "targets/simt/facts.h"

// The passes that only teams of workers need, each in the file named like it.

namespace kdl::simt {

inline constexpr Fact kMapsAssigned{"maps-assigned"};
inline constexpr Fact kFoldsPointwise{"folds-pointwise"};
inline constexpr Fact kTeamLoops{"team-loops"};
inline constexpr Fact kTurnsTaken{"turns-taken"};

KDL_KERNEL_PASS(
    SelectMatrixUnits, .name = "select-matrix-units",
    .summary = "names the matrix unit of which a product's blocks are whole steps",
    .needs = {{&kUnitsSelected, "a matrix unit is better than one that takes single points"},
              {&kTilesSelected, "blocks of constant extents are made of whole steps, or not"}});

KDL_KERNEL_PASS(
    DealBlocks, .name = "deal-blocks",
    .summary = "turns blocked loops into loops over block numbers, each core's in a row",
    .needs = {{&kTilesSelected, "blocks are counted by their constant extents"},
              {&kGroupsFolded, "groups walk their blocks in order, whichever core has them"}},
    .gives = {&kDealt});

KDL_KERNEL_PASS(
    AssignMaps, .name = "assign-maps",
    .summary = "gives each worker a block of a product, and its tile to the workers' registers",
    .needs = {{&kTilesSelected, "a map covers constant extents"},
              {&kNestsFormed, "what makes and reads a product's tile are then nests"}},
    .gives = {&kMapsAssigned});

KDL_KERNEL_PASS(
    PointFolds, .name = "point-folds",
    .summary = "folds and takes become nests over what they make, with loops over what they fold",
    .needs = {{&kNestsFormed, "what a nest makes and folds is then seen in one place"},
              {&kMapsAssigned, "products with a map stay as they are"}},
    .gives = {&kFoldsPointwise});

KDL_KERNEL_PASS(ExpandTeam, .name = "expand-team",
                .summary = "gives tiles memory of the team, and the points of nests to its workers",
                .needs = {{&kFoldsPointwise, "points are what workers are given"}},
                .gives = {&kTeamLoops}, .withdraws = {&kNestsFormed, &kFoldsPointwise});

KDL_KERNEL_PASS(
    TakeTurns, .name = "take-turns",
    .summary = "stages, and parts between barriers of the launch, become turns of a loop",
    .needs = {{&kTeamLoops, "what a step hands on is a number, or lies in memory already"},
              {&kSlotsOpen, "a stage waits for slots"}},
    .gives = {&kTurnsTaken});

KDL_KERNEL_PASS(
    FetchAhead, .name = "fetch-ahead",
    .summary = "factors are fetched turns before the one that needs them, where memory has room",
    .needs = {{&kTeamLoops, "copies go into buffers"},
              {&kTurnsTaken, "stages have no loops of their own any more"}});

KDL_KERNEL_PASS(
    PlaceBarriers, .name = "place-barriers",
    .summary = "orders what workers read behind what others have written, and the other way round",
    .needs = {{&kTeamLoops, "it orders loops of the team's"},
              {&kTurnsTaken, "steps of stages come in any order"}},
    .gives = {&kLoopLevel});

}  // namespace kdl::simt
