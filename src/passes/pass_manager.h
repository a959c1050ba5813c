#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"
#include "passes/pass.h"
#include "passes/target_facts.h"
#include "support/diagnostics.h"
#include "support/source.h"

namespace kdl::passes {

/// How tiles go from stage to stage: through rings in memory, in registers and scratch where the stages are in step, or,
/// by default, fused where that is possible.
enum class PipeMode : uint8_t { Auto, Buffered, Fused };

/// What every pass may read, and where it reports.
struct PassContext {
  ir::Module& module;
  DiagnosticEngine& diagnostics;
  const SourceManager& sources;
  const passes::TargetFacts* facts = nullptr;      ///< null in module passes
  const passes::TileSelector* selector = nullptr;  ///< null in module passes
  PipeMode pipes = PipeMode::Auto;
  /// In passes over programs: the kernels in the code of each target, their pipes decided.
  std::vector<const ir::Module*> variants = {};
  /// Accesses that are not proven to be inside get no check.
  bool unchecked = false;
  std::optional<uint64_t> proof_steps =
      {};  ///< that any question may take; nothing: as each allows itself

  /// Where an op stands in the sources; invalid where its file is not among them.
  Span SpanOf(const ir::Loc& loc) const;
};

struct PassRun {
  std::string_view name;
  double seconds = 0;
};

struct PassOptions {
  std::function<bool(const Pass& pass)> prints_after;
  std::string_view stop_after;  ///< a pass; empty: none
  bool locs = false;
  bool verify = true;
  std::function<void(std::string_view text)> print;  ///< takes the text of --print-after
  std::vector<PassRun>* times = nullptr;             ///< appended to, where set
};

enum class PipelineEnd { Done, Stopped, Failed };

/// Runs the passes in order; verifies after each; ends early after `stop_after` or at the first pass that reports errors.
PipelineEnd RunPipeline(Pipeline pipeline, PassContext& context, const PassOptions& options);

}  // namespace kdl::passes
