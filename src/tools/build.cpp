#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/compile/compile.h"
#include "driver/diagnostics.h"
#include "driver/emit/outputs.h"
#include "driver/files.h"
#include "driver/report.h"
#include "support/json_text.h"
#include "syntax/limits.h"
#include "tools/commands.h"
#include "tools/standard_input.h"

namespace kdl::tools {

namespace {

using driver::Compilation;
using driver::Emit;
using driver::Emits;
using driver::PipelineEnd;

/// Whether any output depends on targets. If KIR is the only output, none does.
bool NeedsTargets(const driver::Options& options, const Emits& emits) {
  auto is_of_module = [](Emit emit) {
    return emit == Emit::Ir || emit == Emit::Ast || emit == Emit::Contracts;
  };
  return !std::ranges::all_of(emits.kinds, is_of_module) || !emits.texts.empty() ||
         !options.stop_after.empty() || !options.remarks.empty();
}

driver::CompileRequest RequestOf(const driver::Options& options, const Emits& emits) {
  driver::CompileRequest request;
  request.until = NeedsTargets(options, emits) ? driver::Until::Code : driver::Until::ModulePasses;
  request.emits = emits;
  request.places = {.bindings = options.device,
                    .needs_all = false,
                    .code_for = fmt::format("{}", fmt::join(options.target, ","))};
  return request;
}

/// Reports devices to which --device gives several ranks in one process.
void RefuseRankCounts(driver::Session& s, const ir::Module& module) {
  for (const ir::Device& device : module.devices) {
    if (device.rank_count == 0) continue;
    std::string name = driver::NameInSource(device.name.text());
    s.diagnostics.Report(driver::diag::RanksAtRun, {}, name)
        .Help(fmt::format("give --device {}=ranks?count={} to the executable instead", name,
                          device.rank_count));
  }
}

/// Returns the output files of the compilation, or none if it failed.
std::vector<driver::OutputFile> Collect(driver::Session& s, Compilation& made, const Emits& emits) {
  if (made.end == PipelineEnd::Failed) return {};
  if (made.ok() && NeedsTargets(s.options, emits)) return driver::CollectOutputs(s, made, emits);
  std::vector<driver::OutputFile> files;
  const ir::Module* reached = made.code.reached ? made.code.reached : made.module.get();
  if (reached && emits.Has(Emit::Ir)) driver::CollectIr(s, *reached, files);
  return files;
}

/// Writes all files into a folder, which is created if necessary.
void Write(driver::Session& s, const std::vector<driver::OutputFile>& files) {
  const std::string& folder = s.options.output;
  if (files.empty() || (!folder.empty() && !driver::MakeFolder(folder, s.diagnostics))) return;
  std::vector<std::string> paths;
  for (const driver::OutputFile& file : files) {
    paths.push_back(file.path);
    std::string inner = std::filesystem::path(file.path).parent_path().string();
    if (inner.size() > folder.size() && !driver::MakeFolder(inner, s.diagnostics)) return;
  }
  if (driver::MayWrite(paths, "name another folder with -o DIR", s.diagnostics)) {
    driver::WriteOutputFiles(files, s.diagnostics);
    if (!s.diagnostics.has_errors()) driver::AddJson("files", JsonText(nlohmann::json(paths)));
  }
}

/// Adds the exported kernels and their doc comments to the object of --json.
void AddKernels(const ir::Module& module) {
  nlohmann::ordered_json kernels = nlohmann::ordered_json::array();
  std::set<std::string_view> seen;
  for (const ir::Function* function : module.functions()) {
    bool is_kernel = function->kind == ir::FunctionKind::Kernel && function->exported;
    if (!is_kernel || !seen.insert(function->base_name()).second) continue;
    kernels.push_back({{"name", function->base_name()}, {"documentation", function->doc}});
  }
  driver::AddJson("kernels", kernels.dump());
}

/// Returns the standard input. Its outputs cannot have the name of a file, so --module must name them.
std::optional<std::string> ReadInput(driver::Session& s) {
  if (!s.options.module.empty()) return driver::ReadStandardInput(syntax::kMaxBytes, s.diagnostics);
  s.diagnostics.Report(driver::diag::NoSuchFile, {}, kStandardInput)
      .Help("to compile standard input, name the outputs: kernelc build - --module NAME");
  return std::nullopt;
}

}  // namespace

int RunBuild(const driver::Options& given, const targets::Registry& families) {
  driver::Options options = given;
  bool reads_input = options.files[0] == kStandardInput;
  if (reads_input) options.files[0] = kNameOfInput;
  driver::Session session(options, families);
  auto emits = driver::ParseEmits(options, families.texts(), session.diagnostics);
  std::optional<std::string> input;
  if (reads_input) input = ReadInput(session);
  if (emits && !session.diagnostics.has_errors()) {
    driver::CompileRequest request = RequestOf(options, *emits);
    request.text = std::move(input);
    Compilation made = driver::Compile(session, std::move(request));
    if (made.module) RefuseRankCounts(session, *made.module);
    if (reads_input) std::erase(made.files_read, kNameOfInput);  // make would look for this file
    std::vector<driver::OutputFile> files = Collect(session, made, *emits);
    if (!session.diagnostics.has_errors() && made.module) AddKernels(*made.module);
    if (!session.diagnostics.has_errors()) Write(session, files);
  }
  return driver::Finish(session);
}

}  // namespace kdl::tools
