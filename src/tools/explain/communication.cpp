#include "tools/explain/communication.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "driver/compile/compile.h"
#include "driver/diagnostics.h"
#include "driver/ranks/transport.h"
#include "driver/run/arguments.h"
#include "driver/run/devices.h"
#include "driver/run/run_program.h"
#include "driver/run/select.h"
#include "driver/run/wrap_kernel.h"

namespace kdl::tools {

namespace {

/// Returns the number of ranks from --ranks, or else from --device. On error, reports it and returns nothing.
std::optional<int64_t> RankCount(driver::Session& s, ir::Module& module,
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
  int64_t count = s.options.ranks.value_or(device->rank_count);
  if (count >= 1 && count <= driver::kMostRanks) return count;
  if (!s.options.ranks) {
    s.diagnostics.Report(driver::diag::RanksUnknown, {})
        .Help("give the number of ranks: --ranks 8");
  } else {
    s.diagnostics.Report(driver::diag::BadOptionValue, {}, "--ranks", fmt::to_string(count),
                         fmt::format("1 to {}", driver::kMostRanks));
  }
  return std::nullopt;
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
  std::optional<int64_t> ranks = RankCount(s, *made.module, *program);
  if (!ranks) return std::nullopt;
  std::optional<driver::BoundProgram> bound =
      driver::BindNumbers(*made.module, *program, *arguments, s.options, s.diagnostics);
  if (!bound) return std::nullopt;
  Result<CommunicationReport> report = MapCommunication(*made.module, *program, *bound, *ranks);
  if (!report.ok()) {
    driver::ReportFailure(report.failure(), s.sources, s.diagnostics);
    return std::nullopt;
  }
  report->file = s.options.files[0];
  return std::move(*report);
}

}  // namespace kdl::tools
