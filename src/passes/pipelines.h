#pragma once

#include <algorithm>
#include <array>

#include "passes/passes.h"

// The pipelines that run for every target. The pipelines of each family of targets are in targets/family.h.

namespace kdl::passes {

/// The target-independent passes. The interpreter runs the result, after select-tiles has bound the remaining
/// constants.
inline constexpr std::array kModulePipeline = {
    &kInstantiate,        &kInlineTileFunctions, &kFixReductionOrder, &kLimitSizes,
    &kCheckBounds,        &kCheckDisjoint,       &kCheckOutputs,      &kCheckPipes,
    &kCheckStrides,       &kCheckBlocks,         &kResolveDevices,    &kFuseLaunches,
    &kDistributeLaunches, &kAssignDevices,       &kInsertTransfers,   &kOrderLaunches};

/// The pipeline for trusted KIR text that does not name the pass after which it was printed. The author of
/// the text guarantees what the compiler would otherwise prove about `spmd for` and parameter directions.
inline constexpr auto kTrustedPipeline = [] {
  constexpr auto is_kept = [](const Pass* pass) {
    return pass != &kCheckDisjoint && pass != &kCheckOutputs;
  };
  constexpr auto kept = std::count_if(kModulePipeline.begin(), kModulePipeline.end(), is_kept);
  std::array<const Pass*, kept> passes{};
  std::copy_if(kModulePipeline.begin(), kModulePipeline.end(), passes.begin(), is_kept);
  return passes;
}();

/// Runs on programs after the pipes of all targets are decided.
inline constexpr std::array kProgramPipeline = {&kScalePipeBuffers};

static_assert(!FindUnmet({kModulePipeline}));
static_assert(!FindUnmet({kTrustedPipeline}));

}  // namespace kdl::passes
