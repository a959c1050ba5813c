#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "driver/compile.h"
#include "driver/compile_target.h"
#include "driver/devices.h"
#include "driver/diagnostics.h"
#include "driver/files.h"
#include "driver/outputs.h"
#include "targets/kinds.h"
#include "tools/commands.h"

namespace kdl::tools {

namespace {

using driver::Compilation;
using driver::Emit;
using driver::PipelineEnd;

bool Wants(const Compilation& compilation, Emit emit) {
  const auto& emits = compilation.emits.kinds;
  return std::find(emits.begin(), emits.end(), emit) != emits.end();
}

/// Where only KIR is asked for, no target decides anything.
bool NeedsTargets(const Compilation& compilation) {
  const auto& emits = compilation.emits.kinds;
  return std::any_of(emits.begin(), emits.end(),
                     [](Emit emit) {
                       return emit != Emit::Ir && emit != Emit::Ast && emit != Emit::Contracts;
                     }) ||
         !compilation.emits.texts.empty() || !compilation.options.stop_after.empty();
}

/// Where nothing is compiled for any target, only what the source says can be written.
bool NeedsCode(const Compilation& compilation) {
  constexpr Emit kOfTargets[] = {Emit::Obj, Emit::Llvm, Emit::Asm, Emit::Exe, Emit::Shared};
  return !compilation.emits.texts.empty() ||
         std::any_of(std::begin(kOfTargets), std::end(kOfTargets),
                     [&](Emit emit) { return Wants(compilation, emit); });
}

/// Whether something else than kernelc loads the objects; reported where not.
bool HasLoader(Compilation& c, const driver::DeviceSpecs& wanted) {
  std::string_view word = Wants(c, Emit::Obj) ? "obj" : Wants(c, Emit::Shared) ? "shared" : "";
  bool interprets = std::ranges::all_of(wanted, [](const auto& device) {
    std::string_view spec = device.second;
    return spec.substr(0, spec.find('?')) == targets::kReferenceKind;
  });
  if (word.empty() || wanted.empty() || !interprets) return true;
  c.diagnostics.Report(driver::diag::NoLoader, {}, word)
      .Help("write --emit exe for a program that interprets, or compile for --target host");
  return false;
}

/// The files of the compile; none where it failed.
std::vector<driver::OutputFile> Build(Compilation& c) {
  std::vector<driver::OutputFile> files;
  PipelineEnd end = driver::CompileToIr(c);
  if (end == PipelineEnd::Done) end = driver::RunModulePasses(c);
  const ir::Module* reached = c.module.get();
  driver::Code code;
  if (end == PipelineEnd::Done && NeedsTargets(c)) {
    auto specs =
        driver::ResolveSpecs(*c.module, c.options.files[0], "", false, c.options, c.diagnostics);
    if (!specs) return files;
    driver::DeviceSpecs wanted = *specs;
    if (!c.options.target.empty())
      wanted = {{driver::kAnyDevice, fmt::format("{}", fmt::join(c.options.target, ","))}};
    auto targets = driver::ParseTargets(wanted, c);
    if (!targets || !HasLoader(c, wanted)) return files;
    c.runtime_specs = driver::RuntimeSpecs(*specs, c.families);
    codegen::CompileOptions what{
        .object = true, .assembly = Wants(c, Emit::Asm), .llvm_ir = Wants(c, Emit::Llvm)};
    if (targets->empty() && NeedsCode(c)) {
      c.diagnostics
          .Report(driver::diag::UnboundDevice, {}, specs->begin()->first, c.options.files[0])
          .Help(fmt::format("--device {}=host, or another spec of `kernelc targets`",
                            specs->begin()->first));
      return files;
    }
    const std::string spec = targets->empty() ? "" : (*targets)[0].target.spec;
    if (!targets->empty()) end = driver::CompileForTargets(c, std::move(*targets), what, code);
    if (end == PipelineEnd::Done && !c.options.stop_after.empty() && !spec.empty()) {
      c.diagnostics.Report(driver::diag::PassOfOthers, {}, c.options.stop_after, spec);
      return files;
    }
    if (end == PipelineEnd::Stopped) reached = code.reached;
  }
  if (end == PipelineEnd::Failed) return files;
  if (end == PipelineEnd::Done && NeedsTargets(c)) return driver::CollectOutputs(c, code);
  if (reached && Wants(c, Emit::Ir)) driver::CollectIr(c, *reached, files);
  return files;
}

/// All files, in a folder that is made where it is missing.
void Write(Compilation& c, const std::vector<driver::OutputFile>& files) {
  const std::string& folder = c.options.output;
  if (files.empty() || (!folder.empty() && !driver::MakeFolder(folder, c.diagnostics))) return;
  std::vector<std::string> paths;
  for (const driver::OutputFile& file : files) paths.push_back(file.path);
  if (driver::MayWrite(paths, c.files_read, "name another folder with -o DIR", c.diagnostics)) {
    driver::WriteOutputFiles(files, c.diagnostics);
  }
}

}  // namespace

int RunBuild(const driver::Options& options, const targets::Registry& families) {
  Compilation compilation(options, families);
  auto emits = driver::ParseEmits(options, families.texts(), compilation.diagnostics);
  if (emits) {
    compilation.emits = std::move(*emits);
    std::vector<driver::OutputFile> files = Build(compilation);
    if (!compilation.diagnostics.has_errors()) Write(compilation, files);
  }
  return driver::Finish(compilation);
}

}  // namespace kdl::tools
