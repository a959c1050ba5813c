#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driver/diagnostics.h"
#include "driver/files.h"
#include "driver/report.h"
#include "support/json_text.h"
#include "syntax/format.h"
#include "syntax/limits.h"
#include "tools/commands.h"
#include "tools/kdl_files.h"
#include "tools/standard_input.h"

namespace kdl::tools {

namespace {

/// Formats a text, and returns the result if it differs. Reports syntax errors.
std::optional<std::string> Changed(SourceManager& sources, const std::string& path,
                                   std::string text, DiagnosticEngine& diagnostics) {
  FileId file = sources.Add(path, std::move(text));
  std::optional<std::string> formatted = syntax::FormatFile(sources, file, diagnostics);
  return formatted == sources.text(file) ? std::nullopt : formatted;
}

/// Prints the formatted standard input.
int FormatInput(const driver::Options& options) {
  SourceManager sources;
  DiagnosticEngine diagnostics;
  auto text = driver::ReadStandardInput(syntax::kMaxBytes, diagnostics);
  std::optional<std::string> changed;
  if (text) changed = Changed(sources, kNameOfInput, *text, diagnostics);
  driver::PrintDiagnostics(diagnostics, sources);
  if (diagnostics.has_errors()) return driver::ExitCodeOf(diagnostics);
  if (options.dry_run) return changed ? driver::kExitInput : driver::kExitDone;
  return driver::PrintOutput(changed ? *changed : *text) ? driver::kExitDone
                                                         : driver::kExitEnvironment;
}

}  // namespace

int RunFmt(const driver::Options& options, const targets::Registry&) {
  if (options.files == std::vector<std::string>{std::string(kStandardInput)})
    return FormatInput(options);
  SourceManager sources;
  DiagnosticEngine diagnostics;
  std::vector<driver::OutputFile> outputs;
  for (const std::string& path : FindKdlFiles(options.files)) {
    auto text = driver::ReadRewrittenFile(path, syntax::kMaxBytes, diagnostics);
    if (!text) continue;
    if (auto changed = Changed(sources, path, std::move(*text), diagnostics))
      outputs.push_back({path, std::move(*changed)});
  }
  nlohmann::ordered_json names = nlohmann::ordered_json::array();
  std::string listed;
  for (const driver::OutputFile& output : outputs) {
    names.push_back(output.path);
    listed += output.path + "\n";
  }
  driver::AddJson("changed", JsonText(names));
  if (!options.dry_run) driver::WriteOutputFiles(outputs, diagnostics);
  bool printed = !options.dry_run || driver::PrintOutput(listed);
  driver::PrintDiagnostics(diagnostics, sources);
  if (diagnostics.has_errors()) return driver::ExitCodeOf(diagnostics);
  if (!printed) return driver::kExitEnvironment;
  return options.dry_run && !outputs.empty() ? driver::kExitInput : driver::kExitDone;
}

}  // namespace kdl::tools
