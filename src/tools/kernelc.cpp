#include "tools/kernelc.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iterator>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/diagnostics.h"
#include "driver/files.h"
#include "driver/options.h"
#include "driver/report.h"
#include "driver/run/mpi_job.h"
#include "driver/trace_output.h"
#include "kdl/version.h"
#include "support/check.h"
#include "support/diagnostics.h"
#include "support/process.h"
#include "support/source.h"
#include "tools/commands.h"
#include "tools/loading/named_code.h"
#include "tools/loading/plugin_images.h"

namespace kdl::tools {

namespace {

int Dispatch(const driver::Options& options, const targets::Registry& families) {
  switch (options.command) {
#define KDL_COMMAND(kind, name, words, most_files, summary, more) \
  case driver::Command::kind:                                     \
    return Run##kind(options, families);
#include "driver/commands.def"
  }
  KDL_UNREACHABLE("unknown command");
}

int Print(const std::string& text) {
  return driver::PrintOutput(text) ? driver::kExitDone : driver::kExitEnvironment;
}

/// Returns the version and the supported kinds of targets.
std::string VersionText(const targets::Registry& families) {
  std::string kinds;
  for (const targets::Family* family : families.families()) {
    for (const targets::TargetKind& kind : family->kinds)
      kinds += fmt::format("{}{}", kinds.empty() ? "" : ", ", kind.kind);
  }
  return fmt::format("kernelc {}\ntargets: {}\n", KDL_VERSION, kinds);
}

/// Prints a page that the arguments ask for instead of running a command: as JSON if they request that.
int PrintPage(const std::vector<std::string>& words, const std::string& text) {
  if (std::ranges::find(words, "--json") == words.end()) return Print(text);
  driver::BeginJson(words[0], driver::JsonPlace::Output);
  int code = Print(text);
  int printed = Print(driver::EndJson(code));
  return code == driver::kExitDone ? printed : code;
}

/// Prints usage errors, as JSON if the arguments request that. Returns the exit code.
int UsageError(const DiagnosticEngine& diagnostics, const std::vector<std::string>& words) {
  bool json = std::ranges::find(words, "--json") != words.end();
  int code = driver::ExitCodeOf(diagnostics);
  if (json) driver::BeginJson(words[0], driver::JsonPlace::Output);
  driver::PrintDiagnostics(diagnostics, SourceManager());
  if (json) Print(driver::EndJson(code));
  return code;
}

/// Decides whether this process prints the errors of a command that has not begun: other processes of an MPI launcher may have the same
/// ones.
bool PrintsErrors(driver::Command command, DiagnosticEngine& diagnostics) {
  if (command == driver::Command::Run) driver::OwnMpiJob().Settle(diagnostics, SourceManager());
  return driver::OwnMpiJob().Prints();
}

/// Runs the command, and prints or writes the object of --json.
int DispatchWithJson(const driver::Options& options, std::string_view name,
                     const targets::Registry& families) {
  const std::string& file = *options.json;
  DiagnosticEngine diagnostics;
  if (!file.empty() && !driver::MayWrite({file}, "name another file after --json=", diagnostics)) {
    if (PrintsErrors(options.command, diagnostics))
      driver::PrintDiagnostics(diagnostics, SourceManager());
    return driver::ExitCodeOf(diagnostics);
  }
  driver::BeginJson(name, file.empty() ? driver::JsonPlace::Output : driver::JsonPlace::File);
  int code = Dispatch(options, families);
  std::string text = driver::EndJson(code);
  if (!driver::OwnMpiJob().Prints()) return code;
  if (file.empty()) return Print(text) == driver::kExitDone ? code : driver::kExitEnvironment;
  if (driver::WriteOutputFiles({{file, std::move(text)}}, diagnostics)) return code;
  driver::PrintDiagnostics(diagnostics, SourceManager());
  // Without an error here, the command has reported why its object is not written.
  return diagnostics.has_errors() ? driver::ExitCodeOf(diagnostics) : code;
}

/// Returns the files that the command line names as inputs, without those that the command rewrites.
std::vector<std::string> NamedInputs(const driver::Options& options,
                                     const std::vector<std::string>& code_files) {
  std::vector<std::string> files;
  if (options.command != driver::Command::Fmt) files = options.files;
  files.insert(files.end(), code_files.begin(), code_files.end());
  std::ranges::move(driver::FilesIn(options.arg), std::back_inserter(files));
  files.push_back(options.pipeline.substr(0, options.pipeline.find('?')));
  for (const std::string& file : {options.against, options.suite}) files.push_back(file);
  if (options.command != driver::Command::Tune) files.push_back(options.tuned);
  return files;
}

int Main(const std::vector<std::string>& words, targets::Registry& families) {
  DiagnosticEngine diagnostics;
  if (words.empty()) {
    diagnostics.Report(driver::diag::CommandMissing, {})
        .Help("`kernelc --help` lists the commands");
    return UsageError(diagnostics, words);
  }
  if (words[0] == "--help" || words[0] == "-h") return PrintPage(words, driver::HelpText());
  if (words[0] == "--version") return PrintPage(words, VersionText(families));
  const driver::CommandInfo* command = driver::ParseCommand(words[0], diagnostics);
  if (!command) return UsageError(diagnostics, words);
  auto options = driver::ParseOptions(*command, {words.begin() + 1, words.end()}, diagnostics);
  if (!options)
    return PrintsErrors(command->kind, diagnostics) ? UsageError(diagnostics, words)
                                                    : driver::ExitCodeOf(diagnostics);
  if (options->help) return PrintPage(words, driver::HelpText(*command));
  std::vector<std::string> code_files = NamedCodeFiles(*options, families);
  if (options->allow_plugins) families.AllowAll();
  for (const std::string& file : code_files) families.Allow(file);
  driver::AddInputs(NamedInputs(*options, code_files));
  driver::TraceOutput trace;
  families.AskPlugins(PluginImageKind);
  int code = options->json ? DispatchWithJson(*options, command->name, families)
                           : Dispatch(*options, families);
  trace.Write(diagnostics);
  driver::PrintDiagnostics(diagnostics, SourceManager());
  return code == driver::kExitDone ? driver::ExitCodeOf(diagnostics) : code;
}

/// Returns the command line. It is part of the report of an internal error.
std::string CommandLine(const std::vector<std::string>& words) {
  std::string text = "kernelc";
  for (const std::string& word : words) text += " " + word;
  return text;
}

}  // namespace

int RunKernelc(int argc, char** argv, targets::Registry families) {
  BeginProcess();
  std::vector<std::string> words(argv + 1, argv + argc);
  DoingScope doing(fmt::format("running `{}`", CommandLine(words)));
  int code = driver::kExitEnvironment;
  try {
    code = Main(words, families);
  } catch (const std::bad_alloc&) {
    std::fputs("kernelc: error: not enough memory\n", stderr);
  } catch (const std::exception& exception) {
    KDL_UNREACHABLE("unexpected exception: {}", exception.what());
  }
  // Other processes of an MPI launcher may wait for one that runs a program.
  bool is_run = !words.empty() && words[0] == "run";
  return is_run ? driver::OwnMpiJob().End(code) : code;
}

}  // namespace kdl::tools
