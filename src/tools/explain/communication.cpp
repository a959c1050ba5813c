#include "tools/explain/communication.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "driver/compile/compile.h"
#include "driver/compile/front_end.h"
#include "driver/diagnostics.h"
#include "driver/files.h"
#include "driver/run/arguments.h"
#include "driver/run/devices.h"
#include "driver/run/run_program.h"
#include "driver/run/select.h"
#include "driver/run/wrap_kernel.h"
#include "support/io.h"
#include "tools/explain/assumed_iterations.h"
#include "tools/explain/counting_host.h"
#include "tools/explain/remedies.h"
#include "tools/explain/scaling.h"

namespace kdl::tools {

namespace {

/// Returns the numbers along the axes of a grid with `count` ranks, with as equal numbers as possible: `3x2` for 6 and two axes.
std::string BalancedShape(int64_t count, size_t axes) {
  std::string text;
  for (size_t left = axes; left > 0; --left) {
    double even = std::pow(static_cast<double>(count), 1 / static_cast<double>(left));
    auto along = static_cast<int64_t>(std::ceil(even - 1e-9));
    while (count % along != 0) ++along;
    text += fmt::format("{}{}", text.empty() ? "" : "x", along);
    count /= along;
  }
  return text;
}

/// Sets the number of ranks from --ranks. On error, reports it and returns false.
bool SetRanksOption(const driver::Options& options, ir::Device& device,
                    DiagnosticEngine& diagnostics) {
  if (options.ranks.empty()) return true;
  std::string fault = driver::SetRanks(device, options.ranks);
  if (!fault.empty())
    diagnostics
        .Report(driver::diag::RanksSpec, {}, "--ranks " + options.ranks,
                driver::NameInSource(device.name.text()), fault)
        .Help(device.rank_shape.size() > 1
                  ? fmt::format("use --ranks {}", BalancedShape(64, device.rank_shape.size()))
                  : "use --ranks 8");
  return fault.empty();
}

/// Returns the grid of the ranks from --ranks, or else from --device or the source. On error, reports it and returns nothing.
std::optional<driver::RankGrid> FindGrid(driver::Session& s, ir::Module& module,
                                         const ir::Function& program) {
  if (!driver::ResolveSpecs(module, s.options.files[0], {}, false, s.options.device, s.diagnostics))
    return std::nullopt;
  auto device = std::ranges::find_if(module.devices, &ir::Device::has_ranks);
  if (device == module.devices.end() || program.kind != ir::FunctionKind::Program) {
    s.diagnostics.Report(driver::diag::NothingOnRanks, {}, s.options.files[0])
        .Help(
            "declare `device grid = ranks();`, and distribute a program's tensors: `let x: f32[M, "
            "N] on grid by "
            "(M, _);`");
    return std::nullopt;
  }
  if (!SetRanksOption(s.options, *device, s.diagnostics)) return std::nullopt;
  int64_t count = device->rank_count;
  if (count == 0 && !device->rank_shape.empty())
    count = driver::RankGrid(device->rank_shape).count();
  if (count == 0) {
    s.diagnostics.Report(driver::diag::RanksUnknown, {})
        .Help("give the number of ranks: --ranks 8");
    return std::nullopt;
  }
  std::optional<driver::RankGrid> grid = driver::GridOf(*device, count);
  if (!grid)
    driver::ReportRanksShape(*device, count, s.diagnostics)
        .Help(fmt::format("use --ranks {} for {} ranks",
                          BalancedShape(count, device->rank_shape.size()), count));
  return grid;
}

/// Returns the grids for which times are predicted: 1, 2, 4 and so on, and `grid` as the last one. A declared shape has only one
/// size.
std::vector<driver::RankGrid> GridsUpTo(const driver::RankGrid& grid) {
  std::vector<driver::RankGrid> grids = {driver::RankGrid()};
  bool is_line = grid.shape().size() <= 1;
  for (int64_t ranks = 2; is_line && ranks < grid.count(); ranks *= 2)
    grids.push_back(driver::RankGrid({ranks}));
  if (grid.count() > 1) grids.push_back(grid);
  return grids;
}

int64_t IterationsOf(const driver::Options& options) { return options.iterations.value_or(1); }

/// Gives the loops whose end is not known as many iterations as --iterations says. Returns their locations. On error, reports
/// it and returns nothing.
std::optional<std::vector<ir::Loc>> LimitLoops(driver::Session& s, ir::Module& module,
                                               ir::Function& program) {
  int64_t iterations = IterationsOf(s.options);
  if (iterations < 0) {
    s.diagnostics.Report(driver::diag::BadOptionValue, {}, "--iterations",
                         fmt::to_string(iterations), "a number that is not negative");
    return std::nullopt;
  }
  std::vector<ir::Loc> loops = AssumeIterations(module, program, iterations);
  if (loops.empty() || s.options.times.empty() || s.options.iterations) return loops;
  s.diagnostics
      .Report(
          driver::diag::IterationsUnknown,
          s.sources.FindSpan(loops[0].file.text(), loops[0].line, loops[0].column, loops[0].length))
      .Help("use --iterations with the number of the run in which the times were measured");
  return std::nullopt;
}

/// Predicts times with the parameters of --times. On error, reports it and returns false.
bool AddScaling(driver::Session& s, const ir::Module& module, const ir::Function& program,
                const driver::BoundProgram& bound, const driver::RankGrid& grid,
                CommunicationReport& report) {
  const std::string& file = s.options.times;
  if (file.empty()) return true;
  std::optional<std::string> text = driver::ReadInputFile(file, kMostOfTool, s.diagnostics);
  if (!text) return false;
  Result<MeasuredTimes> times = ParseRankTimes(*text);
  Result<std::vector<ScalingPoint>> scaling =
      times.ok() ? PredictScaling(module, program, bound, GridsUpTo(grid), *times)
                 : times.failure();
  if (scaling.ok())
    report.scaling = std::move(*scaling);
  else
    s.diagnostics.Report(driver::diag::CannotRead, {}, file, scaling.failure().message);
  return scaling.ok();
}

/// A program that is ready to be executed without its kernels.
struct CountedProgram {
  driver::Compilation made;
  ir::Function* program = nullptr;
  driver::RankGrid grid;
  driver::BoundProgram bound;
  std::vector<ir::Loc> assumed;  ///< the loops whose number of iterations is assumed
};

/// Compiles the file of the options, or another text of it. On error, reports it and returns nothing.
std::optional<CountedProgram> Prepare(driver::Session& s, std::optional<std::string> text = {}) {
  std::optional<std::vector<driver::ArgumentSpec>> arguments =
      driver::ReadArguments(s.options, s.diagnostics);
  if (!arguments) return std::nullopt;
  CountedProgram counted;
  driver::CompileRequest request{.until = driver::Until::ModulePasses, .text = std::move(text)};
  request.edit = [&](driver::Compilation& made) {
    counted.program = driver::SelectFunction(*made.module, s.options.files[0], *arguments,
                                             s.options, s.diagnostics);
    if (!counted.program) return false;
    driver::KeepOnly(*made.module, {counted.program});
    return true;
  };
  counted.made = driver::Compile(s, std::move(request));
  if (!counted.made.ok()) return std::nullopt;
  ir::Module& module = *counted.made.module;
  std::optional<driver::RankGrid> grid = FindGrid(s, module, *counted.program);
  if (!grid) return std::nullopt;
  counted.grid = *std::move(grid);
  std::optional<driver::BoundProgram> bound =
      driver::BindNumbers(module, *counted.program, *arguments, s.options, s.diagnostics);
  if (!bound) return std::nullopt;
  counted.bound = *std::move(bound);
  std::optional<std::vector<ir::Loc>> assumed = LimitLoops(s, module, *counted.program);
  if (!assumed) return std::nullopt;
  counted.assumed = *std::move(assumed);
  return counted;
}

/// Returns what the ranks send if the file has another text, or nothing if it has errors. If `is_quick` is true, at most a
/// few ranks and iterations are counted, and nothing is returned if it takes long.
std::optional<driver::RankTraffic> CountSentBy(const driver::Session& s, const std::string& text,
                                               bool is_quick) {
  constexpr int64_t kFewRanks = 8;
  constexpr int64_t kFewIterations = 8;
  driver::Options options = s.options;
  if (is_quick && options.iterations)
    options.iterations = std::min(*options.iterations, kFewIterations);
  driver::Session trial(options, s.families);
  std::optional<CountedProgram> counted = Prepare(trial, text);
  if (!counted) return std::nullopt;
  driver::RankGrid grid = counted->grid;
  if (is_quick && grid.shape().size() <= 1 && grid.count() > kFewRanks)
    grid = driver::RankGrid({kFewRanks});
  CountingHost host(grid);
  Status ran = Count(*counted->made.module, *counted->program, counted->bound, host,
                     is_quick ? kMostOperations / 16 : kMostOperations);
  if (!ran.ok()) return std::nullopt;
  driver::RankTraffic sum;
  for (const auto& [key, traffic] : host.traffic())
    for (const driver::RankTraffic& sent : traffic.pairs) sum += sent;
  return sum;
}

/// Adds the declarations with which the ranks send less.
void AddRemedies(driver::Session& s, const CountedProgram& counted, CommunicationReport& report) {
  int64_t bytes = TotalTraffic(report).bytes;
  if (bytes == 0 || !s.options.files[0].ends_with(".kdl")) return;
  std::optional<std::string> text = driver::ReadSource(s);
  if (!text) return;
  std::optional<std::vector<Remedy>> remedies = FindRemedies(
      *text, report.program, std::max<size_t>(1, counted.grid.shape().size()), bytes,
      [&](const std::string& changed) { return CountSentBy(s, changed, true); },
      [&](const std::string& changed) { return CountSentBy(s, changed, false); });
  report.has_tried = remedies.has_value();
  if (remedies) report.remedies = std::move(*remedies);
}

}  // namespace

std::optional<CommunicationReport> ExplainedCommunication(driver::Session& s) {
  std::optional<CountedProgram> counted = Prepare(s);
  if (!counted) return std::nullopt;
  const ir::Module& module = *counted->made.module;
  Result<CommunicationReport> report =
      MapCommunication(module, *counted->program, counted->bound, counted->grid);
  if (!report.ok()) {
    driver::ReportFailure(report.failure(), s.sources, s.diagnostics);
    return std::nullopt;
  }
  report->file = s.options.files[0];
  report->iterations = IterationsOf(s.options);
  for (const ir::Loc& loc : counted->assumed) report->assumed_lines.push_back(loc.line);
  AddRemedies(s, *counted, *report);
  if (!AddScaling(s, module, *counted->program, counted->bound, counted->grid, *report))
    return std::nullopt;
  return std::move(*report);
}

}  // namespace kdl::tools
