#include "driver/compile/front_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>

#include "driver/compile/given_device.h"
#include "driver/compile/identify_programs.h"
#include "driver/compile/output_names.h"
#include "driver/compile/phases.h"
#include "driver/compile/resume.h"
#include "driver/compile/source_variables.h"
#include "driver/compile/sources.h"
#include "driver/compile/stdlib.h"
#include "driver/defines.h"
#include "driver/diagnostics.h"
#include "driver/files.h"
#include "ir/parse/parser.h"
#include "ir/print/printer.h"
#include "irgen/contracts/contracts.h"
#include "irgen/irgen.h"
#include "sema/dump_checked.h"
#include "support/check.h"
#include "support/near_names.h"
#include "syntax/dump_ast.h"
#include "syntax/limits.h"
#include "syntax/parse.h"

namespace kdl::driver {

namespace {

/// Prints the output that the options request after irgen. Returns Done if compilation continues
/// with the passes.
PipelineEnd AfterIrgen(Session& s, const Lowered& lowered, const Emits& emits) {
  const ir::PrintOptions how{.locs = s.options.locs, .expressions = s.options.expressions};
  if (!CheckModuleName(lowered.module->name.text(), s.options, s.diagnostics))
    return PipelineEnd::Failed;
  IdentifyPrograms(*lowered.module);
  GiveDevice(*lowered.module, s.options);
  if (PrintsAfter(s.options, kIrgen))
    s.printed += fmt::format("// after {}\n{}", kIrgen, ir::Print(*lowered.module, how));
  if (emits.Has(Emit::Contracts)) s.printed += ir::Print(*lowered.contracts.module, how);
  bool ends = emits.HasOnly(Emit::Contracts) || s.options.stop_after == kIrgen;
  return ends ? PipelineEnd::Stopped : PipelineEnd::Done;
}

/// With --kernel, a -D that names a parameter of that kernel applies only to that kernel.
void NarrowDefines(const Options& options, const syntax::Module& tree,
                   std::vector<sema::Define>& defines) {
  // Ignores a type suffix such as `.f32`.
  const std::string kernel = options.kernel.substr(0, options.kernel.find('.'));
  for (const syntax::Item* item : tree.items) {
    const auto* function = syntax::DynAs<syntax::FunctionItem>(item);
    if (function == nullptr || function->name.name.text() != kernel) continue;
    for (const syntax::GenericParam& generic : function->generics) {
      for (sema::Define& define : defines) {
        if (generic.name.name.text() == define.name) define.function = kernel;
      }
    }
  }
}

/// Returns the values given with -D, followed by `given`. On error, reports it and returns nothing.
std::optional<std::vector<sema::Define>> AllDefines(Session& s,
                                                    const std::vector<sema::Define>& given) {
  auto defines = ReadDefines(s.options, s.diagnostics);
  if (defines) defines->insert(defines->end(), given.begin(), given.end());
  return defines;
}

bool IsOtherLaunch(const syntax::Item* item, std::string_view kernel) {
  const auto* function = syntax::DynAs<syntax::FunctionItem>(item);
  if (function == nullptr) return item->kind == syntax::ItemKind::Test;
  return function->function_kind != syntax::FunctionKind::Fn &&
         function->name.name.text() != kernel;
}

std::vector<std::string_view> KernelNames(const syntax::Module& tree) {
  std::vector<std::string_view> names;
  for (const syntax::Item* item : tree.items) {
    const auto* function = syntax::DynAs<syntax::FunctionItem>(item);
    bool is_kernel = function != nullptr && function->function_kind == syntax::FunctionKind::Kernel;
    if (is_kernel) names.push_back(function->name.name.text());
  }
  return names;
}

/// Returns the file without its programs, tests and other kernels than the one of `build --kernel`. Reports an
/// error and returns null if it has no such kernel.
const syntax::Module* OnlyKernel(Session& s, const syntax::Module& tree, Trees& trees) {
  const std::string& kernel = s.options.kernel;
  std::vector<std::string_view> kernels = KernelNames(tree);
  if (std::ranges::count(kernels, kernel) == 0) {
    Diagnostic& report =
        s.diagnostics.Report(diag::UnknownProgram, {}, s.sources.path(tree.file), "kernel", kernel);
    std::string_view nearest = NearestName(kernel, kernels);
    if (!nearest.empty()) {
      report.Help(fmt::format("did you mean '{}'?", nearest));
    } else if (!kernels.empty()) {
      report.Help(fmt::format("it has {}", QuotedList(kernels)));
    }
    return nullptr;
  }
  auto* only = trees.arena.Make<syntax::Module>(tree);
  std::erase_if(only->items, [&](const syntax::Item* item) { return IsOtherLaunch(item, kernel); });
  return only;
}

/// Parses the file. Returns null and sets `end` if compilation ends here.
const syntax::Module* ParseTree(Session& s, FileId file, Trees& trees, const Emits& emits,
                                PipelineEnd& end) {
  const syntax::Module* tree = Parse(s, file, trees);
  if (!tree) return nullptr;
  if (PrintsAfter(s.options, kParse))
    s.printed += fmt::format("// after {}\n{}", kParse, syntax::DumpAst(*tree));
  if (emits.Has(Emit::Ast)) s.printed += syntax::DumpAst(*tree);
  bool is_part = s.options.command == Command::Build && !s.options.kernel.empty();
  if (!emits.HasOnly(Emit::Ast) && s.options.stop_after != kParse)
    return is_part ? OnlyKernel(s, *tree, trees) : tree;
  end = PipelineEnd::Stopped;
  return nullptr;
}

/// Type-checks the file. Returns nothing and sets `end` if compilation ends here.
std::optional<sema::CheckedModule> Check(Session& s, const syntax::Module& tree, Trees& trees,
                                         std::vector<sema::Define> defines, PipelineEnd& end) {
  const sema::SourceFile* source = LoadImports(s, tree, trees);
  if (!source) return std::nullopt;
  std::vector<const syntax::Module*> library = LoadElementary(s, trees);
  DoingScope doing(fmt::format("compiling '{}'", s.sources.path(tree.file)));
  PhaseTimer timer(s, kSema);
  sema::CheckOptions options{std::move(defines)};
  sema::CheckedModule checked =
      sema::Check(*source, library, s.sources, s.context.types.sizes(), options, s.diagnostics);
  if (s.diagnostics.has_errors()) return std::nullopt;
  if (PrintsAfter(s.options, kSema))
    s.printed += fmt::format("// after {}\n{}", kSema, sema::DumpChecked(checked, s.sources));
  if (s.options.stop_after != kSema) return checked;
  end = PipelineEnd::Stopped;
  return std::nullopt;
}

Lowered LowerLanguage(Session& s, FileId file, const std::vector<sema::Define>& given,
                      const Emits& emits) {
  Lowered lowered;
  Trees trees;
  const syntax::Module* tree = ParseTree(s, file, trees, emits, lowered.end);
  auto defines = tree ? AllDefines(s, given) : std::nullopt;
  if (!defines) return lowered;
  NarrowDefines(s.options, *tree, *defines);
  auto checked = Check(s, *tree, trees, std::move(*defines), lowered.end);
  lowered.files_read = std::move(trees.files_read);
  if (!checked) return lowered;
  DoingScope doing(fmt::format("compiling '{}'", s.sources.path(file)));
  {
    PhaseTimer timer(s, kIrgen);
    lowered.contracts = irgen::GenerateContracts(*checked, s.sources, s.context);
    bool with_tests = s.options.command == Command::Test;
    lowered.module =
        irgen::Generate(*checked, s.sources, s.context, s.names.Intern(ModuleName(s.options)),
                        with_tests ? &lowered.contracts : nullptr);
    lowered.module->after = kIrgen;
    lowered.variables = CollectVariables(*checked, s.sources, s.names);
  }
  if (!s.diagnostics.has_errors()) lowered.end = AfterIrgen(s, lowered, emits);
  return lowered;
}

/// Moves the contracts out of a module and returns them.
ir::Contracts TakeContracts(ir::Module& module) {
  ir::Contracts contracts;
  contracts.module = std::make_unique<ir::Module>(module.context());
  auto is_contract = [](const ir::Function* function) {
    return function->kind == ir::FunctionKind::Contract;
  };
  std::ranges::copy_if(module.functions(), std::back_inserter(contracts.module->functions()),
                       is_contract);
  std::erase_if(module.functions(), is_contract);
  return contracts;
}

Lowered ReadIr(Session& s, FileId file, const std::vector<sema::Define>& given,
               const Emits& emits) {
  DoingScope doing(fmt::format("reading '{}'", s.sources.path(file)));
  PhaseTimer timer(s, kParse);
  Lowered lowered;
  ir::Trust trust = s.options.trust_ir ? ir::Trust::Everything : ir::Trust::Nothing;
  lowered.module = ir::Parse(s.sources, file, s.context, s.diagnostics, trust);
  if (!lowered.module || !CheckStanding(s, *lowered.module)) return lowered;
  lowered.contracts = TakeContracts(*lowered.module);
  ir::NameGuards(*lowered.module);
  auto defines = AllDefines(s, given);
  if (!defines || !BindDefines(*lowered.module, *defines, s.diagnostics)) return lowered;
  if (lowered.module->name.empty() || !s.options.module.empty())
    lowered.module->name = s.names.Intern(ModuleName(s.options));
  lowered.end = AfterIrgen(s, lowered, emits);
  return lowered;
}

}  // namespace

std::optional<std::string> ReadSource(Session& s) {
  const std::string& path = s.options.files[0];
  if (const StdlibFile* file = FindStdlibFile(path)) return std::string(file->text);
  if (ReportUnknownStdlibFile(path, s.diagnostics)) return std::nullopt;
  std::string ending = std::filesystem::path(path).extension().string();
  size_t most = ending == ".kir" ? ir::kMaxTextBytes : syntax::kMaxBytes;
  std::optional<std::string> text = ReadInputFile(path, most, s.diagnostics);
  if (!text || ending == ".kdl" || ending == ".kir") return text;
  s.diagnostics.Report(diag::UnknownEnding, {}, path);
  return std::nullopt;
}

Lowered LowerToIr(Session& s, std::string text, const std::vector<sema::Define>& defines,
                  const Emits& emits) {
  const std::string& path = s.options.files[0];
  if (const StdlibFile* library = FindStdlibFile(path))
    return LowerLanguage(s, s.sources.Add(StdlibPath(*library), std::move(text)), defines, emits);
  FileId file = s.sources.Add(path, std::move(text), NameInOutputs(s.options, path));
  bool is_ir = path.ends_with(".kir");
  Lowered lowered =
      is_ir ? ReadIr(s, file, defines, emits) : LowerLanguage(s, file, defines, emits);
  lowered.files_read.insert(lowered.files_read.begin(), path);
  return lowered;
}

}  // namespace kdl::driver
