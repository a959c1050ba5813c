#include "driver/emit/outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "codegen/c_source/c_source.h"
#include "codegen/orchestration/orchestration.h"
#include "driver/compile/runtime_name.h"
#include "driver/diagnostics.h"
#include "driver/emit/host_object.h"
#include "driver/emit/python_project.h"
#include "driver/emit/toolchain.h"
#include "ir/print/printer.h"
#include "support/check.h"
#include "support/io.h"
#include "targets/hosts.h"
#include "targets/kinds.h"

namespace kdl::driver {

namespace {

/// Collects the output files of one compilation.
class Collector {
 public:
  Collector(Session& session, Compilation& made, const Emits& emits)
      : session_(session),
        made_(made),
        code_(made.code),
        emits_(emits),
        name_(made.module->name.str()),
        runtime_name_(RuntimeName(session, made)) {}

  std::vector<OutputFile> Collect() {
    size_t errors_before = session_.diagnostics.error_count();
    for (Emit emit : emits_.kinds) Add(emit);
    for (std::string_view text : emits_.texts) AddPayloads(text);
    if (session_.diagnostics.error_count() != errors_before) return {};
    return std::move(files_);
  }

 private:
  static bool ContainsPrograms(Emit emit) {
    return emit == Emit::Orch || emit == Emit::OrchC || emit == Emit::Exe;
  }

  void WarnOfEmptyHeader() {
    auto is_exported = [](const ir::Function* function) { return function->exported; };
    if (std::ranges::any_of(made_.module->functions(), is_exported)) return;
    session_.diagnostics.Report(diag::NothingExported, {}, name_ + ".h")
        .Help("write `export` before the kernels and programs that callers launch");
  }

  /// Warns of what an output that contains only kernels lacks: each exported program, unless another output of this
  /// build contains it, or everything.
  void WarnOfOnlyKernels(const std::string& file) {
    bool has_programs = std::ranges::any_of(emits_.kinds, ContainsPrograms);
    bool is_empty = true;
    std::set<std::string_view> told;  // the instances of a generic program have one name
    for (const ir::Function* function : made_.module->functions()) {
      if (!function->exported) continue;
      is_empty = false;
      bool is_left = function->kind == ir::FunctionKind::Program && !has_programs;
      if (is_left && told.insert(function->base_name()).second) WarnOfProgram(*function, file);
    }
    if (is_empty)
      session_.diagnostics.Report(diag::NothingExported, {}, file)
          .Help(fmt::format(
              "write `export` before the kernels that callers launch; {} has no programs", file));
  }

  void WarnOfProgram(const ir::Function& program, const std::string& file) {
    session_.diagnostics
        .Report(diag::ProgramLeftOut, SpanOf(program.loc), program.base_name(), file)
        .Help(
            "write `export` before the kernels that it launches, and call these; or compile the "
            "program with --emit header,orch-c,obj");
  }

  Span SpanOf(const ir::Loc& loc) const {
    return session_.sources.FindSpan(loc.file.text(), loc.line, loc.column, loc.length);
  }

  void Add(Emit emit) {
    switch (emit) {
      case Emit::Header:
        WarnOfEmptyHeader();
        AddFile(name_ + ".h", codegen::PrintHeader(*made_.module, runtime_name_, made_.devices[0]));
        break;
      case Emit::C:
        AddFile(name_ + ".c", codegen::PrintCalls(*made_.module, runtime_name_));
        break;
      case Emit::CSource:
        WarnOfOnlyKernels(name_ + ".source.h");
        AddCSource();
        break;
      case Emit::Ffi:
        WarnOfOnlyKernels(name_ + ".ffi.c");
        AddFile(name_ + ".ffi.c", codegen::PrintFfi(*made_.module, runtime_name_, AnyDevice()));
        break;
      case Emit::Orch:
        AddFile(name_ + ".orch.cpp", codegen::PrintOrchestration(*made_.module, runtime_name_));
        break;
      case Emit::OrchC:
        AddFile(name_ + ".orch.c",
                codegen::PrintCOrchestration(*made_.module, runtime_name_, made_.devices[0]));
        break;
      case Emit::Ast:
      case Emit::Contracts:
        break;  // the contracts are already printed
      case Emit::Ir:
        CollectIr(session_, *made_.module, files_);
        break;
      case Emit::Obj:
        AddObjects();
        break;
      case Emit::Llvm:
        NeedTexts("llvm", "ll", &codegen::CompiledModule::llvm_ir);
        break;
      case Emit::Asm:
        NeedTexts("asm", "s", &codegen::CompiledModule::assembly);
        break;
      case Emit::Exe:
        // The program contains KIR for the interpreter, which runs on the program's host.
        if (RunsHere(code_, session_.diagnostics))
          AddLinked(name_, targets::OwnArch(), true, LinkProgram, true);
        break;
      case Emit::Shared:
        AddLibrary();
        break;
      case Emit::Images:
        for (const std::string& arch : HostArchs(code_))
          AddLinked(ForHost(".images", arch, ".so"), arch, EmbedsIr(session_.options, code_),
                    LinkImages, false);
        break;
      case Emit::Python:
        AddPython();
        break;
      case Emit::Deps:
        AddDeps();
        break;
    }
  }

  /// Adds the kernels as C source, for the lowest level of this processor that the compilation is for.
  void AddCSource() {
    auto is_own = [](const TargetCode& code) {
      return code.target.spec.substr(0, code.target.spec.find('?')) == targets::kOwnKind;
    };
    auto code = std::ranges::find_if(code_.targets, is_own);
    if (code == code_.targets.end()) {
      if (!code_.targets.empty())
        session_.diagnostics.Report(diag::NoCodeText, {}, code_.targets[0].target.spec, "c-source")
            .Help("compile for this processor: --target 'host?isa=x86-64-v3'");
      return;
    }
    codegen::CSourceResult made =
        codegen::WriteCSource(*made_.module, runtime_name_, *code->module, code->target.spec,
                              code->target.facts->vector_bits);
    if (!made.failure) {
      AddFile(name_ + ".source.h", std::move(made.source.header));
      AddFile(name_ + ".source.c", std::move(made.source.source));
      return;
    }
    session_.diagnostics
        .Report(diag::NotInCSource, SpanOf(made.failure->loc), made.failure->kernel,
                made.failure->what)
        .Help("compile this kernel with --emit obj, or leave it out of the file");
  }

  /// Returns the spec of a device that runs the code. On this processor, the runtime chooses the level.
  std::string AnyDevice() const {
    bool is_own = code_.parts.empty() || code_.parts[0].compiled.kind == targets::kOwnKind;
    return is_own ? std::string(targets::kOwnKind) : code_.parts[0].targets[0]->target.spec;
  }

  void AddFile(const std::string& name, std::string bytes, bool executable = false) {
    std::string folder = session_.options.output.empty() ? "" : session_.options.output + "/";
    files_.push_back({folder + name, std::move(bytes), executable});
  }

  /// Returns a file name such as `NAME.host.o`, or `NAME.host.aarch64.o` if there are hosts of
  /// several architectures.
  std::string ForHost(std::string_view what, std::string_view arch, std::string_view ending) const {
    bool several = HostArchs(code_).size() > 1;
    return fmt::format("{}{}{}{}{}", name_, what, several ? "." : "", several ? arch : "", ending);
  }

  void AddObjects() {
    for (const std::string& arch : HostArchs(code_)) {
      const std::string* host =
          CompileHostObject(session_, made_, arch, EmbedsIr(session_.options, code_));
      if (host) AddFile(ForHost(".host", arch, ".o"), *host);
    }
    AddTexts("o", &codegen::CompiledModule::object);
  }

  /// If the part's devices load code in the given text format, returns their kind of device.
  /// Otherwise, returns null.
  static const targets::TargetKind* LoaderOf(const Part& part, std::string_view text) {
    for (const targets::TargetKind& kind : part.targets[0]->target.family->kinds) {
      if (kind.kind == part.compiled.kind && kind.text == text) return &kind;
    }
    return nullptr;
  }

  void AddPayloads(std::string_view text) {
    bool has_any = false;
    for (const Part& part : code_.parts) {
      const targets::TargetKind* kind = LoaderOf(part, text);
      if (!kind || part.compiled.payload.empty()) continue;
      std::string_view ending = kind->ending.empty() ? text : kind->ending;
      AddFile(fmt::format("{}.{}.{}", name_, PartName(part), ending),
              part.compiled.payload.substr(0, part.compiled.text_bytes));
      has_any = true;
    }
    if (!has_any)
      session_.diagnostics.Report(diag::NoDeviceText, {}, text)
          .Help(fmt::format("use a target that has this output: --target {} --emit {}",
                            LoadingKind(text), text));
  }

  /// Returns the first kind of device that loads code in this text format and needs no description
  /// file.
  std::string_view LoadingKind(std::string_view text) const {
    for (const targets::Family* family : session_.families.families()) {
      for (const targets::TargetKind& kind : family->kinds)
        if (kind.text == text)
          return kind.programs_key.empty() ? kind.kind : targets::KindWithoutFile(*family);
    }
    KDL_UNREACHABLE("no device loads '{}'", text);
  }

  /// For each part whose code exists in the given text format, adds a file with that text. Returns
  /// whether there is any such part.
  bool AddTexts(std::string_view ending, std::string codegen::CompiledModule::* text) {
    bool has_any = false;
    for (const Part& part : code_.parts) {
      if ((part.compiled.*text).empty()) continue;
      AddFile(fmt::format("{}.{}.{}", name_, PartName(part), ending), part.compiled.*text);
      has_any = true;
    }
    return has_any;
  }

  /// Adds files with the code in the given text format, or reports that no part has code in this
  /// format. `word` is the format's name in --emit.
  void NeedTexts(std::string_view word, std::string_view ending,
                 std::string codegen::CompiledModule::* text) {
    if (AddTexts(ending, text) || code_.parts.empty()) return;
    const targets::Target& target = code_.parts[0].targets[0]->target;
    Diagnostic& told = session_.diagnostics.Report(diag::NoCodeText, {}, target.spec, word);
    for (const targets::TargetKind& kind : target.family->kinds) {
      bool loads_text = !kind.text.empty() && target.spec.starts_with(kind.kind);
      if (loads_text) told.Help(fmt::format("this device loads text: --emit {}", kind.text));
    }
  }

  /// Returns the architecture of a part, or its kind of device if it has no architecture. If two
  /// families have this architecture, the result begins with the family's name.
  std::string PartName(const Part& part) const {
    const std::string& arch = part.compiled.arch;
    if (arch.empty()) return part.compiled.kind;
    auto of_arch = [&](const Part& other) { return other.compiled.arch == arch; };
    if (std::ranges::count_if(code_.parts, of_arch) == 1) return arch;
    return fmt::format("{}.{}", part.targets[0]->target.family->name, arch);
  }

  /// Adds a library with the functions of NAME.h. It contains the runtime, which exists only for this processor.
  void AddLibrary() {
    WarnOfOnlyKernels(name_ + ".so");
    if (!RunsHere(code_, session_.diagnostics)) return;
    codegen::CallTable table = codegen::CallTableOf(*made_.module, runtime_name_);
    Linker link = [&](std::vector<std::string> objects, const std::string& linked,
                      DiagnosticEngine& diagnostics) {
      std::string functions = CompileCallsObject(session_, table);
      std::string path = objects[0] + ".calls.o";
      if (functions.empty() || !WriteOutputFiles({{path, functions}}, diagnostics)) return false;
      objects.push_back(path);
      return LinkLibrary(std::move(objects), linked, table, name_ + ".so", diagnostics);
    };
    AddLinked(name_ + ".so", targets::OwnArch(), EmbedsIr(session_.options, code_), link, false);
  }

  using Linker =
      std::function<bool(const std::vector<std::string>&, const std::string&, DiagnosticEngine&)>;
  void AddLinked(const std::string& name, std::string_view arch, bool embeds_ir, const Linker& link,
                 bool executable) {
    std::optional<std::string> bytes = Linked(arch, embeds_ir, link);
    if (bytes) AddFile(name, std::move(*bytes), executable);
  }

  /// Returns the file that `link` makes of the objects for a host. On error, reports it and returns nothing.
  std::optional<std::string> Linked(std::string_view arch, bool embeds_ir, const Linker& link) {
    Result<TemporaryFolder> folder = TemporaryFolder::Make();
    if (!folder.ok()) {
      session_.diagnostics.Report(diag::MachineFailed, {}, folder.failure().message);
      return std::nullopt;
    }
    std::vector<std::string> objects =
        WriteObjects(session_, made_, arch, embeds_ir, folder->path());
    std::string linked = folder->path() + "/linked";
    if (objects.empty() || !link(objects, linked, session_.diagnostics)) return std::nullopt;
    Result<std::string> bytes = ReadFile(linked, kMostOfTool);
    if (bytes.ok()) return std::move(*bytes);
    session_.diagnostics.Report(diag::MachineFailed, {}, bytes.failure().message);
    return std::nullopt;
  }

  /// Adds a Python project with the kernels.
  void AddPython() {
    WarnOfOnlyKernels("the package");
    if (!RunsHere(code_, session_.diagnostics)) return;
    std::optional<std::string> images =
        Linked(targets::OwnArch(), EmbedsIr(session_.options, code_), LinkImages);
    if (!images) return;
    for (OutputFile& file :
         PythonProjectFiles(session_, made_, runtime_name_, AnyDevice(), std::move(*images)))
      AddFile(file.path, std::move(file.bytes));
  }

  /// Adds a dependency file for make and ninja, in which the files collected so far depend on all
  /// inputs.
  void AddDeps() {
    std::string outputs;
    for (const OutputFile& file : files_)
      outputs += fmt::format("{}{}", outputs.empty() ? "" : " ", Escaped(file.path));
    std::string inputs;
    for (const std::string& file : made_.files_read) inputs += " " + Escaped(file);
    AddFile(name_ + ".d", fmt::format("{}:{}\n", outputs.empty() ? name_ : outputs, inputs));
  }

  /// Escapes a path for a dependency file. In such files, backslashes are special only before a
  /// blank, `#` or `:`.
  static std::string Escaped(std::string_view path) {
    std::string text;
    size_t backslashes = 0;  // number of backslashes at the end of `text`
    for (char ch : path) {
      if (ch == ' ' || ch == '#' || ch == ':') text.append(backslashes + 1, '\\');
      text += ch == '$' ? "$$" : std::string(1, ch);
      backslashes = ch == '\\' ? backslashes + 1 : 0;
    }
    return text.append(backslashes, '\\');  // double them: a blank follows the path
  }

  Session& session_;
  Compilation& made_;
  Code& code_;
  const Emits& emits_;
  std::string name_;
  std::string runtime_name_;
  std::vector<OutputFile> files_;
};

}  // namespace

std::vector<std::string> WriteObjects(Session& s, Compilation& made, std::string_view arch,
                                      bool embeds_ir, const std::string& folder) {
  const std::string* host = CompileHostObject(s, made, arch, embeds_ir);
  if (!host) return {};
  std::vector<OutputFile> files = {{folder + "/host.o", *host}};
  for (const Part* part : LinkedParts(made.code, arch)) {
    if (!part->compiled.object.empty())
      files.push_back({fmt::format("{}/{}.o", folder, files.size()), part->compiled.object});
  }
  if (!WriteOutputFiles(files, s.diagnostics)) return {};
  std::vector<std::string> paths;
  for (const OutputFile& file : files) paths.push_back(file.path);
  return paths;
}

std::vector<OutputFile> CollectOutputs(Session& s, Compilation& made, const Emits& emits) {
  return Collector(s, made, emits).Collect();
}

void CollectIr(Session& s, const ir::Module& module, std::vector<OutputFile>& files) {
  std::string text =
      ir::Print(module, {.locs = s.options.locs, .expressions = s.options.expressions});
  if (s.options.output.empty()) {
    s.printed += text;
  } else {
    files.push_back(
        {fmt::format("{}/{}.kir", s.options.output, module.name.text()), std::move(text)});
  }
}

}  // namespace kdl::driver
