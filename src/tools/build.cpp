#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "driver/compile.h"
#include "driver/files.h"
#include "ir/printer.h"
#include "tools/commands.h"

namespace kdl::tools {

namespace {

using driver::Compilation;
using driver::Emit;
using driver::PipelineEnd;

std::string PathOf(const driver::Options& options, const std::string& name) {
  return options.output.empty() ? name : options.output + "/" + name;
}

/// KIR goes to standard output, where no folder is named.
void EmitIr(Compilation& compilation, std::vector<driver::OutputFile>& files) {
  std::string text = ir::Print(*compilation.module, {.locs = compilation.options.locs});
  if (compilation.options.output.empty()) {
    compilation.printed += text;
  } else {
    files.push_back(
        {PathOf(compilation.options, driver::StemOf(compilation.options.files[0]) + ".kir"), text});
  }
}

}  // namespace

int RunBuild(const driver::Options& options) {
  Compilation compilation(options);
  std::optional<std::vector<Emit>> emits = ParseEmits(options, compilation.diagnostics);
  if (!emits) return driver::Finish(compilation);
  compilation.emits = *emits;
  PipelineEnd end = driver::CompileToIr(compilation);
  std::vector<driver::OutputFile> files;
  if (end != PipelineEnd::Failed && compilation.module) {
    if (std::find(emits->begin(), emits->end(), Emit::Ir) != emits->end())
      EmitIr(compilation, files);
  }
  if (!compilation.diagnostics.has_errors())
    driver::WriteOutputFiles(files, compilation.diagnostics);
  return driver::Finish(compilation);
}

}  // namespace kdl::tools
