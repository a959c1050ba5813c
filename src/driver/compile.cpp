#include "driver/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <utility>

#include "driver/defines.h"
#include "driver/diagnostics.h"
#include "driver/files.h"
#include "driver/given_device.h"
#include "driver/output_names.h"
#include "driver/phases.h"
#include "driver/report.h"
#include "driver/resume.h"
#include "driver/sources.h"
#include "ir/parser.h"
#include "ir/printer.h"
#include "irgen/contracts.h"
#include "irgen/irgen.h"
#include "passes/pipelines.h"
#include "sema/dump_checked.h"
#include "sema/model/checked.h"
#include "support/check.h"
#include "syntax/dump_ast.h"
#include "syntax/limits.h"
#include "syntax/parse.h"

namespace kdl::driver {

namespace {

bool Wants(const Compilation& c, Emit emit) {
  return std::ranges::find(c.emits.kinds, emit) != c.emits.kinds.end();
}

/// Whether nothing else is asked for.
bool IsAlone(const Compilation& c) { return c.emits.kinds.size() == 1 && c.emits.texts.empty(); }

PipelineEnd AfterIrgen(Compilation& c) {
  if (!CheckModuleName(c.module->name.text(), c.options, c.diagnostics)) return PipelineEnd::Failed;
  GiveDevice(*c.module, c.options);
  if (PrintsAfter(c.options, kIrgen)) {
    c.printed +=
        fmt::format("// after {}\n{}", kIrgen, ir::Print(*c.module, {.locs = c.options.locs}));
  }
  if (Wants(c, Emit::Contracts))
    c.printed += ir::Print(*c.contracts.module, {.locs = c.options.locs});
  bool only_contracts = Wants(c, Emit::Contracts) && IsAlone(c);
  return only_contracts || c.options.stop_after == kIrgen ? PipelineEnd::Stopped
                                                          : PipelineEnd::Done;
}

/// With --kernel, -D speaks of that kernel's parameters; of others where it has none of the name.
void NarrowDefines(const Options& options, const syntax::Module& tree,
                   std::vector<sema::Define>& defines) {
  for (const syntax::Item* item : tree.items) {
    const auto* function = syntax::DynAs<syntax::FunctionItem>(item);
    if (function == nullptr || function->name.name.text() != options.kernel) continue;
    for (const syntax::GenericParam& generic : function->generics) {
      for (sema::Define& define : defines) {
        if (generic.name.name.text() == define.name) define.function = options.kernel;
      }
    }
  }
}

PipelineEnd CompileLanguage(Compilation& c, FileId file) {
  const syntax::Module* tree = Parse(c, file);
  if (!tree) return PipelineEnd::Failed;
  if (PrintsAfter(c.options, kParse)) {
    c.printed += fmt::format("// after {}\n{}", kParse, syntax::DumpAst(*tree));
  }
  bool wants_tree = Wants(c, Emit::Ast);
  if (wants_tree) c.printed += syntax::DumpAst(*tree);
  bool only_tree = wants_tree && IsAlone(c);
  if (only_tree || c.options.stop_after == kParse) return PipelineEnd::Stopped;

  auto defines = ReadDefines(c.options, c.diagnostics);
  if (!defines) return PipelineEnd::Failed;
  NarrowDefines(c.options, *tree, *defines);
  defines->insert(defines->end(), c.from_data.begin(), c.from_data.end());
  sema::CheckOptions check_options{std::move(*defines)};
  std::deque<sema::SourceFile> files;
  const sema::SourceFile* source = LoadImports(c, *tree, files);
  if (!source) return PipelineEnd::Failed;
  std::vector<const syntax::Module*> library = LoadElementary(c, files);
  DoingScope doing(fmt::format("compiling '{}'", c.sources.path(file)));
  sema::CheckedModule checked;
  {
    PhaseTimer timer(c, kSema);
    checked = sema::Check(*source, library, c.sources, c.context.types.sizes(), check_options,
                          c.diagnostics);
  }
  if (c.diagnostics.has_errors()) return PipelineEnd::Failed;
  if (PrintsAfter(c.options, kSema)) {
    c.printed += fmt::format("// after {}\n{}", kSema, sema::DumpChecked(checked, c.sources));
  }
  if (c.options.stop_after == kSema) return PipelineEnd::Stopped;
  {
    PhaseTimer timer(c, kIrgen);
    c.contracts = irgen::GenerateContracts(checked, c.sources, c.context);
    bool with_tests = c.options.command == Command::Test;
    c.module = irgen::Generate(checked, c.sources, c.context, c.names.Intern(ModuleName(c.options)),
                               with_tests ? &c.contracts : nullptr);
    c.module->after = kIrgen;
  }
  return c.diagnostics.has_errors() ? PipelineEnd::Failed : AfterIrgen(c);
}

PipelineEnd ReadIr(Compilation& c, FileId file) {
  DoingScope doing(fmt::format("reading '{}'", c.sources.path(file)));
  PhaseTimer timer(c, kParse);
  ir::Trust trust = c.options.trust_ir ? ir::Trust::Everything : ir::Trust::Nothing;
  c.module = ir::Parse(c.sources, file, c.context, c.diagnostics, trust);
  if (!c.module || !CheckStanding(c)) return PipelineEnd::Failed;
  c.contracts.module = std::make_unique<ir::Module>(c.context);
  for (ir::Function* function : c.module->functions()) {
    if (function->kind == ir::FunctionKind::Contract)
      c.contracts.module->functions().push_back(function);
  }
  std::erase_if(c.module->functions(), [](const ir::Function* function) {
    return function->kind == ir::FunctionKind::Contract;
  });
  ir::NameGuards(*c.module);
  auto defines = ReadDefines(c.options, c.diagnostics);
  if (defines) defines->insert(defines->end(), c.from_data.begin(), c.from_data.end());
  if (!defines || !BindDefines(*c.module, *defines, c.diagnostics)) return PipelineEnd::Failed;
  if (c.module->name.empty() || !c.options.module.empty())
    c.module->name = c.names.Intern(ModuleName(c.options));
  return AfterIrgen(c);
}

}  // namespace

PipelineEnd CompileToIr(Compilation& c) {
  const std::string& path = c.options.files[0];
  std::string ending = std::filesystem::path(path).extension().string();
  if (!CheckPassNames(c) || !CheckPrefixMap(c.options, c.diagnostics)) return PipelineEnd::Failed;
  size_t most = ending == ".kir" ? ir::kMaxTextBytes : syntax::kMaxBytes;
  std::optional<std::string> text = ReadInputFile(path, most, c.diagnostics);
  if (!text) return PipelineEnd::Failed;
  if (ending != ".kdl" && ending != ".kir") {
    c.diagnostics.Report(diag::UnknownEnding, {}, path);
    return PipelineEnd::Failed;
  }
  c.files_read.push_back(path);
  return CompileText(c, std::move(*text));
}

PipelineEnd CompileText(Compilation& c, std::string text) {
  const std::string& path = c.options.files[0];
  FileId file = c.sources.Add(path, std::move(text), NameInOutputs(c.options, path));
  return path.ends_with(".kir") ? ReadIr(c, file) : CompileLanguage(c, file);
}

namespace {

/// The module's passes where --unproven lets run what the proofs refuse: their errors become warnings.
PipelineEnd RunWithoutProofs(Compilation& c, passes::Pipeline pipeline) {
  for (const passes::Pass* pass : pipeline) {
    DiagnosticEngine refused;
    passes::PassContext context{*c.module, pass->proves ? refused : c.diagnostics, c.sources};
    context.unchecked = c.options.unchecked;
    PipelineEnd end = passes::RunPipeline({&pass, 1}, context, PassOptionsOf(c));
    for (const auto& one : refused.all()) {
      Diagnostic& report = c.diagnostics.Report(diag::Unproven, one->span, one->text, one->id);
      report.notes = one->notes;
    }
    if (end != PipelineEnd::Done && refused.all().empty()) return end;
  }
  return PipelineEnd::Done;
}

}  // namespace

PipelineEnd RunModulePasses(Compilation& c) {
  passes::PassContext context{*c.module, c.diagnostics, c.sources};
  context.unchecked = c.options.unchecked;
  bool is_text = std::filesystem::path(c.options.files[0]).extension() == ".kir";
  passes::Pipeline pipeline = is_text ? TextPasses(*c.module, c.options) : passes::kModulePipeline;
  if (c.options.unproven) return RunWithoutProofs(c, pipeline);
  return passes::RunPipeline(pipeline, context, PassOptionsOf(c));
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
