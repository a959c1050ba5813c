#include "driver/compile.h"

#include <fmt/format.h>

#include <filesystem>

#include "driver/diagnostics.h"
#include "driver/files.h"
#include "driver/phases.h"
#include "driver/report.h"
#include "support/check.h"
#include "syntax/dump_ast.h"
#include "syntax/parse.h"

namespace kdl::driver {

namespace {

/// Parses a text of the compile; null where it has errors.
const syntax::Module* Parse(Compilation& c, FileId file) {
  DoingScope doing(fmt::format("parsing '{}'", c.sources.path(file)));
  PhaseTimer timer(c, kParse);
  syntax::ParseResult parsed = syntax::ParseFile(c.sources, file, c.arena, c.names, c.diagnostics);
  return parsed.ok ? parsed.module : nullptr;
}

PipelineEnd CompileLanguage(Compilation& c, FileId file) {
  const syntax::Module* tree = Parse(c, file);
  if (!tree) return PipelineEnd::Failed;
  if (PrintsAfter(c.options, kParse)) {
    c.printed += fmt::format("// after {}\n{}", kParse, syntax::DumpAst(*tree));
  }
  if (c.options.stop_after == kParse) return PipelineEnd::Stopped;

  return PipelineEnd::Done;
}

}  // namespace

PipelineEnd CompileToIr(Compilation& c) {
  const std::string& path = c.options.files[0];
  std::string ending = std::filesystem::path(path).extension().string();
  if (!CheckPassNames(c)) return PipelineEnd::Failed;
  std::optional<std::string> text = ReadInputFile(path, syntax::kMaxBytes, c.diagnostics);
  if (!text) return PipelineEnd::Failed;
  if (ending != ".kdl") {
    c.diagnostics.Report(diag::UnknownEnding, {}, path);
    return PipelineEnd::Failed;
  }
  c.files_read.push_back(path);
  FileId file = c.sources.Add(path, std::move(*text));
  return CompileLanguage(c, file);
}

int Finish(const Compilation& c) {
  bool printed = PrintOutput(c.printed);
  if (c.options.time_passes) {
    for (const passes::PassRun& run : c.times)
      fmt::print(stderr, "{:>10.3f} ms  {}\n", run.seconds * 1e3, run.name);
  }
  PrintDiagnostics(c.diagnostics, c.sources, c.options.diag_format);
  int code = ExitCodeOf(c.diagnostics);
  return code == kExitDone && !printed ? kExitEnvironment : code;
}

}  // namespace kdl::driver
