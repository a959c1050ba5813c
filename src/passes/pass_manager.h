#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"
#include "ir/target_facts.h"
#include "support/diagnostics.h"
#include "support/source.h"

namespace kdl::passes {

/// What holds of a module once a pass has run.
enum Fact : uint32_t {
  kConstantsBound = 1 << 0,
  kOrdersFixed = 1 << 1,
  kBoundsChecked = 1 << 2,
  kDevicesResolved = 1 << 3,
  kLaunchesOrdered = 1 << 4,
  kTilesSelected = 1 << 5,
  kFnsInlined = 1 << 6,
  kDealt = 1 << 7,
  kCanonical = 1 << 8,
  kNestsFormed = 1 << 9,
  kLoopLevel = 1 << 10,
  kRingsPlaced = 1 << 11,
  kWorkspaceInjected = 1 << 12,
  kSlotsOpen = 1 << 13,
  kTileFnsInlined = 1 << 14,
  kPipesChecked = 1 << 15,
  kPipesDecided = 1 << 16,
  kGroupsFolded = 1 << 17,
};

enum class PassKind : uint8_t {
#define KDL_PASS(kind, name, unit, needs, gives, summary) kind,
#include "passes/passes.def"
};

enum class PassUnit : uint8_t { Module, Kernel };

struct PassInfo {
  PassKind kind;
  std::string_view name;
  PassUnit unit;
  uint32_t needs;
  uint32_t gives;
  std::string_view summary;
};

inline constexpr std::array kPasses = {
#define KDL_PASS(kind, name, unit, needs, gives, summary) \
  PassInfo{PassKind::kind, name, PassUnit::unit, needs, gives, summary},
#include "passes/passes.def"
};

constexpr const PassInfo& Info(PassKind kind) { return kPasses[static_cast<size_t>(kind)]; }
std::optional<PassKind> PassFromName(std::string_view name);

/// True where every pass finds what it needs: given at the start, or by a pass before it.
constexpr bool OrderHolds(std::span<const PassKind> pipeline, uint32_t given) {
  for (PassKind kind : pipeline) {
    if ((Info(kind).needs & ~given) != 0) return false;
    given |= Info(kind).gives;
  }
  return true;
}

/// Target-independent: the result is what the interpreter runs, once select-tiles has bound its constants.
inline constexpr std::array kModulePipeline = {
    PassKind::Instantiate, PassKind::InlineTileFunctions, PassKind::FixOrders,
    PassKind::CheckBounds, PassKind::CheckDisjoint,       PassKind::CheckOutputs,
    PassKind::CheckPipes,  PassKind::ResolveDevices,      PassKind::OrderLaunches};
/// For KIR that is read as text: its author answers for what `spmd for` and directions promise of a source.
inline constexpr auto kTextPipeline = [] {
  constexpr auto is_kept = [](PassKind kind) {
    return kind != PassKind::CheckDisjoint && kind != PassKind::CheckOutputs;
  };
  constexpr auto kept = std::count_if(kModulePipeline.begin(), kModulePipeline.end(), is_kept);
  std::array<PassKind, kept> passes{};
  std::copy_if(kModulePipeline.begin(), kModulePipeline.end(), passes.begin(), is_kept);
  return passes;
}();
constexpr uint32_t kAfterModulePipeline = kConstantsBound | kOrdersFixed | kBoundsChecked |
                                          kPipesChecked | kDevicesResolved | kLaunchesOrdered;
/// Per target: chooses the constants of the variants. Its result is still at tile level.
inline constexpr std::array kVariantPipeline = {PassKind::SelectTiles};
/// Per target, down to loops over scalars and scratch: first which pipes there are and how they lie in memory, then the rest.
inline constexpr std::array kPipePipeline = {PassKind::CutUnits,          PassKind::SplitStages,
                                             PassKind::InjectPipeBuffers, PassKind::InlineFunctions,
                                             PassKind::CheckStatics,      PassKind::FuseStages,
                                             PassKind::PrivatizeUpdates,  PassKind::FoldGroups};
inline constexpr std::array kLoopPipeline = {
    PassKind::OpenSlots,    PassKind::Deal,      PassKind::WidenOperands, PassKind::Canonicalize,
    PassKind::ShareWindows, PassKind::FormNests, PassKind::ExpandTiles,   PassKind::Canonicalize};
inline constexpr auto kLoweringPipeline = [] {
  std::array<PassKind, kPipePipeline.size() + kLoopPipeline.size()> both{};
  std::copy(kPipePipeline.begin(), kPipePipeline.end(), both.begin());
  std::copy(kLoopPipeline.begin(), kLoopPipeline.end(), both.begin() + kPipePipeline.size());
  return both;
}();
/// The programs, once the pipes of all targets are decided.
inline constexpr std::array kProgramPipeline = {PassKind::ScalePipeBuffers};
static_assert(OrderHolds(kModulePipeline, 0));
static_assert(OrderHolds(kTextPipeline, 0));
static_assert(OrderHolds(kVariantPipeline, kAfterModulePipeline));
static_assert(OrderHolds(kLoweringPipeline, kAfterModulePipeline | kTilesSelected));
static_assert(OrderHolds(kProgramPipeline, kAfterModulePipeline | kPipesDecided));

/// How tiles go from stage to stage: through rings in memory, in registers and scratch where the stages are in step, or,
/// by default, fused where that is possible.
enum class PipeMode : uint8_t { Auto, Buffered, Fused };

/// What every pass may read, and where it reports.
struct PassContext {
  ir::Module& module;
  DiagnosticEngine& diagnostics;
  const SourceManager& sources;
  const ir::TargetFacts* facts = nullptr;      ///< null in module passes
  const ir::TileSelector* selector = nullptr;  ///< null in module passes
  PipeMode pipes = PipeMode::Auto;
  /// In passes over programs: the kernels in the code of each target, their pipes decided.
  std::vector<const ir::Module*> variants = {};
  /// Accesses that are not proven to be inside get no check.
  bool unchecked = false;

  /// Where an op stands in the sources; invalid where its file is not among them.
  Span SpanOf(const ir::Loc& loc) const;
};

struct PassRun {
  std::string_view name;
  double seconds = 0;
};

struct PassOptions {
  std::vector<PassKind> print_after;
  std::optional<PassKind> stop_after;
  bool locs = false;
  bool verify = true;
  std::function<void(std::string_view text)> print;  ///< takes the text of --print-after
  std::vector<PassRun>* times = nullptr;             ///< appended to, where set
};

enum class PipelineEnd { Done, Stopped, Failed };

/// Runs the passes in order; verifies after each; ends early after `stop_after` or at the first pass that reports errors.
PipelineEnd RunPipeline(std::span<const PassKind> pipeline, PassContext& context,
                        const PassOptions& options);

}  // namespace kdl::passes
