#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driver/compile/compile.h"
#include "driver/compile/resume.h"
#include "driver/diagnostics.h"
#include "driver/files.h"
#include "driver/run/argument_values.h"
#include "driver/run/arguments.h"
#include "driver/run/checkpoint_plan.h"
#include "driver/run/devices.h"
#include "driver/run/mpi_job.h"
#include "driver/run/open_outputs.h"
#include "driver/run/run_program.h"
#include "driver/run/select.h"
#include "driver/run/wrap_kernel.h"
#include "ir/lookup.h"
#include "ir/print/printer.h"
#include "tools/commands.h"
#include "tools/loading/load.h"
#include "tools/testing/draw_inputs.h"
#include "tools/timing/profile.h"
#include "tools/timing/time_line.h"

namespace kdl::tools {

namespace {

using driver::Compilation;

/// Returns the options without the --set values that became integer parameters of the program.
/// Values that are also sizes of the program are kept.
driver::Options WithoutData(const driver::Options& options,
                            const std::vector<sema::Define>& from_data,
                            const ir::Function& program) {
  driver::Options left = options;
  std::erase_if(left.set, [&](const std::string& text) {
    return std::ranges::any_of(from_data, [&](const sema::Define& define) {
      bool is_size =
          std::ranges::any_of(program.dims, [&](Name dim) { return dim.text() == define.name; });
      return text.substr(0, text.find('=')) == define.name && !is_size;
    });
  });
  return left;
}

/// A run of a file: its compilation, its arguments and its result.
class RunOfFile {
 public:
  RunOfFile(const driver::Options& options, const targets::Registry& families,
            std::vector<sema::Define> from_data)
      : session_(options, families), from_data_(std::move(from_data)), options_(options) {}

  /// Compiles and runs the file. Returns the values that the data determines for integer parameters
  /// on which the program's launches depend. If the result is not empty, nothing has run, and the
  /// file must be compiled again with these values.
  std::vector<sema::Define> CompileAndRun() {
    arguments_ = driver::ReadArguments(session_.options, session_.diagnostics,
                                       driver::MpiJob::FirstContents());
    if (options_.profile && !StartTrace()) return {};
    std::optional<std::string> target = driver::OnlyTarget(session_.options, session_.diagnostics);
    if (!arguments_ || !target) {
      // Compile the file nevertheless, so that its errors are reported, too.
      Inspect(driver::Compile(session_, {.until = driver::Until::Ir}));
      return {};
    }
    driver::CompileRequest request;
    request.defines = from_data_;
    request.edit = [&](Compilation& made) { return Prepare(made); };
    request.places.bindings = session_.options.device;
    if (!target->empty()) request.places.under_test = {*target};
    Compilation made = driver::Compile(session_, std::move(request));
    Inspect(made);
    driver::Context context = made.ok() ? Load(session_, made) : nullptr;
    if (context) Execute(made, context.get());
    return std::move(found_);
  }

  /// Adds the time line of the run to the output. The context must have been destroyed.
  void AddProfile() {
    if (!trace_ || session_.diagnostics.has_errors()) return;
    Result<std::vector<ProfileSpan>> spans = trace_->Read();
    if (!spans.ok()) {
      session_.diagnostics.Report(driver::diag::MachineFailed, {}, spans.failure().message);
      return;
    }
    session_.printed += ProfileText(*spans);
    if (options_.plot.empty()) return;
    std::string title = fmt::format("Time line of {}", options_.files[0]);
    driver::WriteOutputFiles({{options_.plot, TimeLineSvg(*spans, title)}}, session_.diagnostics);
  }

  /// Prints the output, unless another process does. Returns the exit code.
  int Finish() {
    job_.Settle(session_.diagnostics, session_.sources);
    return job_.Prints() ? driver::Finish(session_) : driver::ExitCodeOf(session_.diagnostics);
  }

 private:
  bool StartTrace() {
    // In the second compilation of a run, the picture is already an output of the command.
    bool has_plot = !options_.plot.empty() && from_data_.empty();
    if (has_plot &&
        !driver::MayWrite({options_.plot}, "name another file after --plot", session_.diagnostics))
      return false;
    Result<TraceFile> made = TraceFile::Make();
    if (made.ok()) trace_.emplace(std::move(*made));
    if (!made.ok())
      session_.diagnostics.Report(driver::diag::MachineFailed, {}, made.failure().message);
    return made.ok();
  }

  /// Removes all programs but the chosen one from the module, and binds the chosen program's
  /// arguments.
  bool Prepare(Compilation& made) {
    ir::Function* chosen =
        driver::SelectFunction(*made.module, session_.options.files[0], *arguments_,
                               session_.options, session_.diagnostics);
    if (!chosen || !DataFixNothing(*chosen)) return false;
    program_ = AsProgram(made, *chosen);
    if (!program_) return false;
    if (!from_data_.empty()) options_ = WithoutData(session_.options, from_data_, *program_);
    checkpoints_ = driver::PlanCheckpoints(*program_, session_.options, session_.diagnostics);
    if (!checkpoints_) return false;
    if (session_.options.core_num)
      driver::SetCoreNum(*made.module, *program_, *session_.options.core_num);
    driver::KeepOnly(*made.module, {program_});
    values_.emplace(*made.module, *program_, *arguments_, session_.diagnostics);
    bound_ = driver::BindShared(*program_, *arguments_, options_, *values_, session_.diagnostics);
    return bound_ && driver::MayWriteOutputs(*bound_, session_.diagnostics) &&
           (!contract_ ||
            DrawUngiven(*contract_, *kernel_, session_.sources, *bound_, session_.diagnostics));
  }

  /// Whether the program can run as it is compiled. If not, sets `found_` to the values with which
  /// the program must be compiled.
  bool DataFixNothing(const ir::Function& chosen) {
    if (!from_data_.empty() || chosen.kind != ir::FunctionKind::Program) return true;
    found_ = driver::GenericsFromData(chosen, *arguments_, session_.options, session_.diagnostics);
    return found_.empty() && !session_.diagnostics.has_errors();
  }

  /// Returns `chosen` if it is a program, or else a new program that launches the kernel `chosen`.
  /// On error, reports it and returns null.
  ir::Function* AsProgram(Compilation& made, ir::Function& chosen) {
    if (chosen.kind != ir::FunctionKind::Kernel) return &chosen;
    if (!driver::BindGenerics(chosen, *arguments_, session_.options, session_.diagnostics))
      return nullptr;
    options_ = driver::WithoutConstants(session_.options, chosen);
    kernel_ = &chosen;
    contract_ = driver::FindContract(made.contracts.list, *made.module, chosen);
    return driver::WrapKernel(*made.module, chosen,
                              driver::DeviceOfAddedLaunch(*made.module, session_.options));
  }

  void Inspect(const Compilation& made) {
    if (made.module) job_.Inspect(*made.module);
  }

  void Execute(Compilation& made, kdl_context* context) {
    std::optional<driver::LocalRanks> ranks = job_.FindRanks(*made.module, session_.diagnostics);
    if (ranks) job_.WarnIfUnshared(*program_, session_.diagnostics);
    if (!ranks || !values_->StoreDistributed(*ranks, *bound_)) return;
    driver::RunPlace place{context,          *made.module,         made.devices[0],
                           session_.sources, &made.contracts.list, std::move(contract_)};
    place.ranks = *ranks;
    place.values = &*values_;
    place.checkpoints = *checkpoints_;
    place.tiled = made.code.targets.front().tiled.get();
    for (const driver::TargetCode& target : made.code.targets)
      driver::AddKernelsOfOwnOrder(*target.tiled, place.own_orders);
    session_.printed += driver::RunAndReport(place, *program_, std::move(*bound_), session_.options,
                                             session_.diagnostics);
  }

  driver::Session session_;
  std::vector<sema::Define> from_data_;
  driver::Options options_;  ///< without the --set values that became constants
  std::optional<std::vector<driver::ArgumentSpec>> arguments_;
  std::vector<sema::Define> found_;
  const ir::Function* kernel_ = nullptr;  ///< null if a program runs
  std::optional<driver::BoundContract> contract_;
  ir::Function* program_ = nullptr;
  std::optional<driver::ArgumentValues> values_;
  std::optional<driver::BoundProgram> bound_;
  std::optional<driver::CheckpointPlan> checkpoints_;
  std::optional<TraceFile> trace_;  ///< only with --profile
  driver::MpiJob& job_ = driver::OwnMpiJob();
};

}  // namespace

int RunRun(const driver::Options& options, const targets::Registry& families) {
  RunOfFile run(options, families, {});
  std::vector<sema::Define> from_data = run.CompileAndRun();
  if (from_data.empty()) {
    run.AddProfile();
    return run.Finish();
  }
  RunOfFile with_data(options, families, std::move(from_data));
  with_data.CompileAndRun();
  with_data.AddProfile();
  return with_data.Finish();
}

}  // namespace kdl::tools
