#include "tools/explain/communication.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "driver/compile/compile.h"
#include "driver/diagnostics.h"
#include "driver/files.h"
#include "driver/run/arguments.h"
#include "driver/run/devices.h"
#include "driver/run/run_program.h"
#include "driver/run/select.h"
#include "driver/run/wrap_kernel.h"
#include "support/io.h"
#include "support/rank_limit.h"
#include "tools/explain/scaling.h"

namespace kdl::tools {

namespace {

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
  int64_t declared = device->rank_count;
  if (declared == 0 && !device->rank_shape.empty())
    declared = driver::RankGrid(device->rank_shape).count();
  int64_t count = s.options.ranks.value_or(declared);
  if (count >= 1 && count <= kMostRanks) return driver::GridOf(*device, count, s.diagnostics);
  if (!s.options.ranks) {
    s.diagnostics.Report(driver::diag::RanksUnknown, {})
        .Help("give the number of ranks: --ranks 8");
  } else {
    s.diagnostics.Report(driver::diag::BadOptionValue, {}, "--ranks", fmt::to_string(count),
                         fmt::format("1 to {}", kMostRanks));
  }
  return std::nullopt;
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

}  // namespace

std::optional<CommunicationReport> ExplainedCommunication(driver::Session& s) {
  std::optional<std::vector<driver::ArgumentSpec>> arguments =
      driver::ReadArguments(s.options, s.diagnostics);
  if (!arguments) return std::nullopt;
  ir::Function* program = nullptr;
  driver::CompileRequest request{.until = driver::Until::ModulePasses};
  request.edit = [&](driver::Compilation& made) {
    program = driver::SelectFunction(*made.module, s.options.files[0], *arguments, s.options,
                                     s.diagnostics);
    if (!program) return false;
    driver::KeepOnly(*made.module, {program});
    return true;
  };
  driver::Compilation made = driver::Compile(s, std::move(request));
  if (!made.ok()) return std::nullopt;
  std::optional<driver::RankGrid> grid = FindGrid(s, *made.module, *program);
  if (!grid) return std::nullopt;
  std::optional<driver::BoundProgram> bound =
      driver::BindNumbers(*made.module, *program, *arguments, s.options, s.diagnostics);
  if (!bound) return std::nullopt;
  Result<CommunicationReport> report = MapCommunication(*made.module, *program, *bound, *grid);
  if (!report.ok()) {
    driver::ReportFailure(report.failure(), s.sources, s.diagnostics);
    return std::nullopt;
  }
  report->file = s.options.files[0];
  if (!AddScaling(s, *made.module, *program, *bound, *grid, *report)) return std::nullopt;
  return std::move(*report);
}

}  // namespace kdl::tools
