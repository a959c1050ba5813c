#pragma once

#include <algorithm>
#include <array>

#include "passes/passes.h"

// What runs whatever the target is; the rest is the targets' (targets/family.h).

namespace kdl::passes {

/// The result is what the interpreter runs, once select-tiles has bound its constants.
inline constexpr std::array kModulePipeline = {
    &kInstantiate,    &kInlineTileFunctions, &kFixReductionOrder, &kLimitSizes,
    &kCheckBounds,    &kCheckDisjoint,       &kCheckOutputs,      &kCheckPipes,
    &kResolveDevices, &kAssignDevices,       &kInsertTransfers,   &kOrderLaunches};

/// For KIR that is read as text, is trusted, and does not say after which pass it stands: its author answers for what `spmd for`
/// and directions promise of a source.
inline constexpr auto kTrustedPipeline = [] {
  constexpr auto is_kept = [](const Pass* pass) {
    return pass != &kCheckDisjoint && pass != &kCheckOutputs;
  };
  constexpr auto kept = std::count_if(kModulePipeline.begin(), kModulePipeline.end(), is_kept);
  std::array<const Pass*, kept> passes{};
  std::copy_if(kModulePipeline.begin(), kModulePipeline.end(), passes.begin(), is_kept);
  return passes;
}();

/// The programs, once the pipes of all targets are decided.
inline constexpr std::array kProgramPipeline = {&kScalePipeBuffers};

static_assert(!FindUnmet({kModulePipeline}));
static_assert(!FindUnmet({kTrustedPipeline}));

}  // namespace kdl::passes
