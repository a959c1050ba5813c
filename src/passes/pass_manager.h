#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"
#include "passes/pass.h"
#include "passes/pass_settings.h"
#include "passes/target_facts.h"
#include "support/diagnostics.h"
#include "support/source.h"

namespace kdl::passes {

/// How tiles get from one stage to the next. `Buffered` uses ring buffers in memory. `Fused` merges the
/// stages into one stage that interleaves them, and keeps tiles in registers and scratch memory. `Auto` fuses
/// where possible.
enum class PipeMode : uint8_t { Auto, Buffered, Fused };

class RemarkSink;

/// The data that every pass may read, and the engine to which it reports diagnostics.
struct PassContext {
  ir::Module& module;
  DiagnosticEngine& diagnostics;
  const SourceManager& sources;
  const passes::TargetFacts* facts = nullptr;      ///< null in module passes
  const passes::TileSelector* selector = nullptr;  ///< null in module passes
  PipeMode pipes = PipeMode::Auto;
  /// The kernels as compiled for each target, after their pipes have been decided. Only set for passes over
  /// programs.
  std::vector<const ir::Module*> variants = {};
  /// Whether to omit the checks of accesses that are not proven to be in bounds.
  bool unchecked = false;
  /// The maximum number of steps of each proof; if empty, the default.
  std::optional<uint64_t> proof_steps = {};
  /// Whether programs with fused launches are kept as they were, too, under the name that UnfusedName returns.
  bool keeps_unfused = false;
  /// Whether tiles that the source names are stored in memory, also if nothing else needs them there, so that
  /// debuggers can show them. Results do not change.
  bool keeps_tiles = false;
  /// Receives performance remarks; null if nobody asks for them.
  RemarkSink* remarks = nullptr;
  /// The options and conditions of passes from pipeline files and schedules; null without any.
  const PassSettings* settings = nullptr;
  /// The kernel that a kernel pass is changing. Options may have values of their own for it.
  const ir::Function* kernel = nullptr;

  /// Returns the value of an option of a pass.
  int64_t Value(const PassOption& option) const;

  /// Returns the position of an op in the sources, or an invalid span if its file is not among them.
  Span SpanOf(const ir::Loc& loc) const;
};

struct PassRun {
  std::string_view name;
  double seconds = 0;
};

struct PassOptions {
  std::function<bool(const Pass& pass)> prints_after;
  std::string_view stop_after;  ///< the name of a pass, or empty
  bool locs = false;
  bool verify = true;
  /// Receives the text that --print-after prints.
  std::function<void(std::string_view text)> print;
  std::vector<PassRun>* times = nullptr;  ///< if not null, each pass appends its run time
};

enum class PipelineEnd { Done, Stopped, Failed };

/// Runs the passes in order and verifies the module after each. Stops after `stop_after`, or after the first
/// pass that reports errors.
PipelineEnd RunPipeline(Pipeline pipeline, PassContext& context, const PassOptions& options);

}  // namespace kdl::passes
