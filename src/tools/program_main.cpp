#include <cstdio>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/diagnostics.h"
#include "driver/files.h"
#include "driver/options.h"
#include "driver/report.h"
#include "driver/run/argument_values.h"
#include "driver/run/arguments.h"
#include "driver/run/checkpoint_plan.h"
#include "driver/run/devices.h"
#include "driver/run/executor.h"
#include "driver/run/mpi_job.h"
#include "driver/run/run_program.h"
#include "driver/run/select.h"
#include "driver/run/wrap_kernel.h"
#include "driver/trace_output.h"
#include "ir/module.h"
#include "ir/parse/parser.h"
#include "support/diagnostics.h"
#include "support/names.h"
#include "support/process.h"
#include "support/source.h"
#include "targets/builtin_instructions.h"
#include "targets/kinds.h"
#include "tools/loading/reference_device.h"

// The main function of a program made with --emit exe. The kernels are linked into the program. The
// KDL program is stored as KIR in the reference image, and the executor of `kernelc run` runs it.

extern "C" const kdl_image* const kdl_module_images[];

namespace {

using namespace kdl;

/// The KIR of the reference image.
struct LoadedProgram {
  SourceManager sources;
  Names names;
  ir::Context context{names, targets::BuiltinInstructions()};
  std::unique_ptr<ir::Module> module;
};

std::string_view Payload() {
  for (const kdl_image* const* image = kdl_module_images; *image; ++image) {
    if ((*image)->kind != targets::kReferenceKind) continue;
    return {static_cast<const char*>((*image)->payload),
            static_cast<size_t>((*image)->payload_bytes)};
  }
  return {};
}

/// Returns what is wrong with the KIR, or an empty string.
std::string Load(LoadedProgram& loaded) {
  DiagnosticEngine found;
  FileId file = loaded.sources.Add("program", std::string(Payload()));
  loaded.module = ir::Parse(loaded.sources, file, loaded.context, found);
  if (loaded.module) return "";
  return found.all().empty() ? "no KIR" : found.all()[0]->text;
}

/// Creates a runtime context with the kernels of this program. On error, reports it and returns
/// null.
driver::Context MakeContext(DiagnosticEngine& diagnostics) {
  if (!driver::MayWriteTrace(diagnostics)) return nullptr;
  kdl_context* made = nullptr;
  Status status = driver::StatusOf(kdl_context_create(&made));
  driver::Context context(made);
  if (status.ok()) status = tools::AddReferenceDevice(context.get());
  if (status.ok())
    status = driver::StatusOf(kdl_context_register_all(context.get(), kdl_module_images));
  if (status.ok()) return context;
  diagnostics.Report(driver::diag::MachineFailed, {}, status.failure().message);
  return nullptr;
}

std::string RunLoaded(ir::Module& module, const std::string& name, const driver::Options& options,
                      driver::MpiJob& job, DiagnosticEngine& diagnostics) {
  auto arguments = driver::ReadArguments(options, diagnostics, driver::MpiJob::FirstContents());
  if (!arguments) return {};
  ir::Function* program = driver::SelectFunction(module, name, *arguments, options, diagnostics);
  auto checkpoints =
      program ? driver::PlanCheckpoints(*program, options, diagnostics) : std::nullopt;
  if (!checkpoints) return {};
  if (options.core_num) driver::SetCoreNum(module, *program, *options.core_num);
  driver::ArgumentValues values(module, *program, *arguments, diagnostics);
  auto bound = driver::BindShared(*program, *arguments, options, values, diagnostics);
  if (!bound || !driver::MayWriteOutputs(*bound, diagnostics)) return {};
  std::optional<std::string> under_test = driver::OnlyTarget(options, diagnostics);
  auto specs = under_test ? driver::ResolveSpecs(module, name, *under_test, true, options.device,
                                                 diagnostics)
                          : std::nullopt;
  driver::Context context = specs ? MakeContext(diagnostics) : nullptr;
  if (!context) return {};
  job.Inspect(module);  // --device may have given the number of ranks
  std::optional<driver::LocalRanks> ranks = job.FindRanks(module, diagnostics);
  if (ranks) job.WarnIfUnshared(*program, diagnostics);
  if (!ranks || !values.StoreDistributed(*ranks, *bound)) return {};
  SourceManager no_sources;
  driver::RunPlace place{context.get(), module, *specs, no_sources};
  place.checkpoints = std::move(*checkpoints);
  place.ranks = *ranks;
  place.values = &values;
  place.tiled = &module;
  return driver::RunAndReport(place, *program, std::move(*bound), options, diagnostics);
}

int Finish(const std::string& name, const std::string& printed, const driver::Options& options,
           DiagnosticEngine& diagnostics, driver::MpiJob& job) {
  job.Settle(diagnostics, SourceManager());
  int code = driver::ExitCodeOf(diagnostics);
  if (!job.Prints()) return code;
  bool written = driver::PrintOutput(printed, name);
  driver::PrintDiagnostics(diagnostics, SourceManager(), name);
  if (code == driver::kExitDone && !written) code = driver::kExitEnvironment;
  if (!options.json) return code;
  std::string text = driver::EndJson(code);
  DiagnosticEngine found;
  written = options.json->empty() ? driver::PrintOutput(text, name)
                                  : driver::WriteOutputFiles({{*options.json, text}}, found);
  driver::PrintDiagnostics(found, SourceManager(), name);
  return code == driver::kExitDone && !written ? driver::kExitEnvironment : code;
}

int Main(const std::string& name, const std::vector<std::string>& words, driver::MpiJob& job) {
  DiagnosticEngine diagnostics;
  LoadedProgram loaded;
  std::string fault = Load(loaded);
  if (loaded.module) job.Inspect(*loaded.module);
  auto options = driver::ParseOptions(driver::ProgramCommand(name), words, diagnostics);
  if (!options) return Finish(name, "", driver::Options{}, diagnostics, job);
  if (options->json && !options->json->empty() &&
      !driver::MayWrite({*options->json}, "name another file after --json=", diagnostics)) {
    return Finish(name, "", driver::Options{}, diagnostics, job);
  }
  if (options->json)
    driver::BeginJson(name,
                      options->json->empty() ? driver::JsonPlace::Output : driver::JsonPlace::File);
  if (options->help)
    return Finish(name, driver::HelpText(driver::ProgramCommand(name)), *options, diagnostics, job);
  if (!loaded.module) {
    diagnostics.Report(driver::diag::BadImage, {}, fault);
    return Finish(name, "", *options, diagnostics, job);
  }
  driver::TraceOutput trace;
  std::string printed = RunLoaded(*loaded.module, name, *options, job, diagnostics);
  trace.Write(diagnostics);
  return Finish(name, printed, *options, diagnostics, job);
}

}  // namespace

int main(int argc, char** argv) {
  kdl::BeginProcess();
  std::string name = std::filesystem::path(argv[0]).filename().string();
  driver::MpiJob job;
  int code = driver::kExitEnvironment;
  try {
    code = Main(name, {argv + 1, argv + argc}, job);
  } catch (const std::bad_alloc&) {
    std::fputs((name + ": error: not enough memory\n").c_str(), stderr);
  }
  return job.End(code);
}
