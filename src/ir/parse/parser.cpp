#include "ir/parse/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "ir/builder.h"
#include "ir/op_info.h"
#include "ir/parse/text_reader.h"
#include "ir/verify/verifier.h"
#include "support/rank_limit.h"

namespace kdl::ir {

namespace {

/// Reads the name, devices and functions of one file.
class ModuleReader {
 public:
  ModuleReader(TextCursor& cursor, Module& module) : cursor_(cursor), module_(module) {}

  bool Read();
  Span SourceSpan(const Op* op) const {
    auto found = spans_.find(op);
    return found == spans_.end() ? Span() : found->second;
  }
  Span SourceSpan(const Function* function) const { return function_spans_.at(function); }
  bool ReportFaults(DiagnosticEngine& diagnostics) const;
  bool ReportUngivenSizes(DiagnosticEngine& diagnostics) const;
  void Refuse(DiagnosticEngine& diagnostics, const Assumed& assumed) const;
  /// Gives ops without a source location the location of their own text.
  void PlaceOps(const SourceManager& sources);

 private:
  bool ReadItem();
  bool ReadDevice();
  bool ReadShape(std::vector<int64_t>& shape);
  bool ReadAfter();
  bool ReadFunction(FunctionKind kind, std::string doc);
  bool ReadHeader(TextReader& reader);
  bool ReadBindings(TextReader& reader);
  bool ReadGeneric(Generic& generic);
  bool ReadGenerics(TextReader& reader);
  bool ReadDims(TextReader& reader);
  bool ReadWorkgroup(TextReader& reader);
  bool ReadAxes(TextReader& reader);
  bool ReadSignature(TextReader& reader);
  bool ReadParam(TextReader& reader);
  template <class Item>
  bool ReadList(Item&& item);
  Name Intern(std::string_view text) const { return module_.context().names.Intern(text); }

  TextCursor& cursor_;
  Module& module_;
  std::unordered_map<const Op*, Span> spans_;
  std::unordered_map<const Function*, Span> function_spans_;
};

/// Reads items that are separated by commas, up to the closing parenthesis.
template <class Item>
bool ModuleReader::ReadList(Item&& item) {
  for (bool first = true; !cursor_.TrySign(")"); first = false) {
    if ((!first && !cursor_.Sign(",")) || !item()) return false;
  }
  return true;
}

bool ModuleReader::Read() {
  bool good = true;
  while (!cursor_.AtEnd()) {
    if (ReadItem()) continue;
    good = false;
    cursor_.Recover({"kernel", "fn", "program", "contract"});
  }
  return good;
}

bool ModuleReader::ReadItem() {
  std::string doc;
  while (std::optional<std::string> line = cursor_.DocLine()) doc += *line + '\n';
  if (cursor_.TryWord("kernel")) return ReadFunction(FunctionKind::Kernel, std::move(doc));
  if (cursor_.TryWord("fn")) return ReadFunction(FunctionKind::Fn, std::move(doc));
  if (cursor_.TryWord("program")) return ReadFunction(FunctionKind::Program, std::move(doc));
  if (cursor_.TryWord("contract")) return ReadFunction(FunctionKind::Contract, std::move(doc));
  if (!doc.empty() && cursor_.AtEnd()) return true;
  if (cursor_.TryWord("device")) return ReadDevice();
  if (cursor_.TryWord("after")) return ReadAfter();
  if (cursor_.TryWord("module")) {
    std::optional<std::string> name = cursor_.QuotedText("the module's name in quotes");
    if (name) module_.name = Intern(*name);
    return name.has_value();
  }
  cursor_.Expected("'module', 'after', 'device', 'fn', 'kernel', 'program' or 'contract'");
  return false;
}

bool ModuleReader::ReadAfter() {
  std::optional<std::string> pass = cursor_.QuotedText("the name of a pass in quotes");
  if (!pass) return false;
  module_.after = std::move(*pass);
  if (!cursor_.TryWord("for")) return true;
  std::optional<std::string> target = cursor_.QuotedText("a target in quotes");
  if (target) module_.target = std::move(*target);
  return target.has_value();
}

/// Reads the rest of `(2, 4)`.
bool ModuleReader::ReadShape(std::vector<int64_t>& shape) {
  size_t begin = cursor_.Here();
  do {
    std::optional<int64_t> count = cursor_.Integer("a number of ranks");
    if (!count) return false;
    shape.push_back(*count);
  } while (cursor_.TrySign(","));
  Span span = cursor_.From(begin);
  if (!cursor_.Sign(")")) return false;
  if (IsRankShape(shape)) return true;
  cursor_.Fail(diag::IrExpected, span, fmt::format("1 to {} ranks", kMostRanks),
               fmt::format("({})", fmt::join(shape, ", ")));
  return false;
}

bool ModuleReader::ReadDevice() {
  size_t begin = cursor_.Here();
  if (!cursor_.Sign("@")) return false;
  std::optional<TextCursor::NameText> name = cursor_.DottedName("the name of a device");
  if (!name) return false;
  for (const Device& device : module_.devices) {
    if (device.name != Intern(name->name)) continue;
    cursor_.Fail(diag::IrDefinedTwice, cursor_.From(begin), "@" + name->name);
    return false;
  }
  Device device{Intern(name->name), ""};
  if (cursor_.TrySign("=")) {
    std::optional<std::string> spec = cursor_.QuotedText("a device spec in quotes");
    if (!spec) return false;
    device.spec = std::move(*spec);
  }
  device.has_ranks = cursor_.TryWord("ranks");
  if (device.has_ranks && cursor_.TrySign("(") && !ReadShape(device.rank_shape)) return false;
  module_.devices.push_back(std::move(device));
  return true;
}

bool ModuleReader::ReadFunction(FunctionKind kind, std::string doc) {
  size_t begin = cursor_.Here();
  if (!cursor_.Sign("@")) return false;
  std::optional<TextCursor::NameText> name = cursor_.DottedName("the name of a function");
  if (!name) return false;
  if (module_.FindFunction(Intern(name->name))) {
    cursor_.Fail(diag::IrDefinedTwice, cursor_.From(begin), "@" + name->name);
    return false;
  }
  Function* function = module_.AddFunction(kind, Intern(name->name));
  function_spans_[function] = cursor_.From(begin);
  function->doc = std::move(doc);
  TextReader reader{cursor_, module_, function, {}, {}, spans_};
  return ReadHeader(reader) && ReadOps(reader, function->body, 0);
}

/// Reads the header of a function and the beginning of its body, up to the first op. The types of parameters
/// may name axes, which are declared in the body, so this function skips the parameters at first, and reads
/// them after the axes.
bool ModuleReader::ReadHeader(TextReader& reader) {
  if (cursor_.TryWord("types") && !ReadBindings(reader)) return false;
  if (cursor_.TryWord("generics") && !ReadGenerics(reader)) return false;
  if (cursor_.TryWord("dims") && !ReadDims(reader)) return false;
  if (cursor_.TrySign("{")) {
    reader.function->exported = true;
    if (!cursor_.Word("export") || !cursor_.Sign("}")) return false;
  }
  size_t signature = cursor_.Here();
  if (!cursor_.SkipTo('{')) {
    cursor_.Expected("'{' and the function's body");
    return false;
  }
  size_t body = cursor_.Here();
  cursor_.Sign("{");
  if (!ReadWorkgroup(reader) || !ReadAxes(reader)) return false;
  size_t first_op = cursor_.Here();
  cursor_.GoTo(signature);
  if (!ReadSignature(reader)) return false;
  if (cursor_.Here() != body) {
    cursor_.Expected("'{'");
    return false;
  }
  cursor_.GoTo(first_op);
  return true;
}

bool ModuleReader::ReadBindings(TextReader& reader) {
  return cursor_.Sign("(") && ReadList([&] {
           std::string_view name = cursor_.Identifier("a type generic");
           if (name.empty() || !cursor_.Sign("=")) return false;
           std::optional<Scalar> scalar = ReadScalar(reader);
           if (scalar) reader.function->bindings.push_back({Intern(name), *scalar});
           return scalar.has_value();
         });
}

/// Reads `D`, `BN = 64`, `D = 64 | 128`, `BM = auto`, `BM = auto(128)` or `E in {32, 64} = auto`.
bool ModuleReader::ReadGeneric(Generic& generic) {
  std::string_view name = cursor_.Identifier("an int generic");
  if (name.empty()) return false;
  generic.name = Intern(name);
  auto integers = [&](std::vector<int64_t>& list, std::string_view separator) {
    do {
      std::optional<int64_t> value = cursor_.Integer("an integer");
      if (!value) return false;
      list.push_back(*value);
    } while (cursor_.TrySign(separator));
    return true;
  };
  if (cursor_.TryWord("in")) {
    if (!cursor_.Sign("{") || !integers(generic.choices, ",") || !cursor_.Sign("}")) return false;
  }
  if (!cursor_.TrySign("=")) return true;
  generic.is_auto = cursor_.TryWord("auto");
  if (!generic.is_auto) return integers(generic.values, "|");
  return !cursor_.TrySign("(") || (integers(generic.values, "|") && cursor_.Sign(")"));
}

bool ModuleReader::ReadGenerics(TextReader& reader) {
  return cursor_.Sign("(") && ReadList([&] {
           reader.function->generics.emplace_back();
           return ReadGeneric(reader.function->generics.back());
         });
}

bool ModuleReader::ReadDims(TextReader& reader) {
  return cursor_.Sign("(") && ReadList([&] {
           size_t begin = cursor_.Here();
           std::optional<TextCursor::ValueText> name = cursor_.Value();
           if (!name) return false;
           if (!name->name) {
             cursor_.Fail(diag::IrExpected, cursor_.From(begin), "a size name", "a number");
             return false;
           }
           Type type = module_.types().ScalarOf(Scalar::I64);
           Value* value = Builder(module_).AddParam(reader.function->body, type, Name());
           reader.function->dims.push_back(Intern(*name->name));
           return Define(reader, value, *name, cursor_.From(begin));
         });
}

/// Reads `workgroup 256`.
bool ModuleReader::ReadWorkgroup(TextReader& reader) {
  if (!cursor_.TryWord("workgroup")) return true;
  constexpr int64_t kMost = 4096;
  size_t begin = cursor_.Here();
  std::optional<int64_t> threads = cursor_.Integer("a number of threads");
  if (!threads) return false;
  if (*threads < 1 || *threads > kMost) {
    cursor_.Fail(diag::IrExpected, cursor_.From(begin), "a number of threads from 1 to 4096",
                 fmt::format("{}", *threads));
    return false;
  }
  reader.function->workgroup = *threads;
  return true;
}

/// Reads `axis i = M by 64`, `axis ii in i by 16` or `axis j = N by 64 innermost`.
bool ModuleReader::ReadAxes(TextReader& reader) {
  while (cursor_.TryWord("axis")) {
    size_t begin = cursor_.Here();
    std::optional<TextCursor::ValueText> label = cursor_.Label("the name of an axis");
    if (!label) return false;
    Axis axis;
    if (label->name) axis.name = Intern(*label->name);
    Span span = cursor_.From(begin);
    if (cursor_.TryWord("in")) {
      std::optional<AxisId> parent = ReadAxis(reader);
      if (!parent) return false;
      axis.parent = *parent;
    }
    if (cursor_.TrySign("=") && !(axis.domain = ReadSize(reader))) return false;
    if (cursor_.TryWord("by") && !(axis.extent = ReadSize(reader))) return false;
    axis.innermost = cursor_.TryWord("innermost");
    if (!reader.axes.emplace(label->key, reader.function->AddAxis(axis)).second) {
      cursor_.Fail(diag::IrDefinedTwice, span, "axis " + label->key);
      return false;
    }
  }
  return true;
}

bool ModuleReader::ReadParam(TextReader& reader) {
  size_t begin = cursor_.Here();
  std::optional<TextCursor::ValueText> name = cursor_.Value();
  if (!name) return false;
  Span span = cursor_.From(begin);
  if (!cursor_.Sign(":")) return false;
  Type type = ReadType(reader);
  if (!type) return false;
  Param param{Builder(module_).AddParam(reader.function->body, type, Name()), Direction::In};
  if (cursor_.TryWord("out")) {
    param.direction = Direction::Out;
  } else if (cursor_.TryWord("inout")) {
    param.direction = Direction::InOut;
  } else {
    cursor_.TryWord("in");
  }
  reader.function->params.push_back(param);
  return Define(reader, param.value, *name, span);
}

bool ModuleReader::ReadSignature(TextReader& reader) {
  if (!cursor_.Sign("(") || !ReadList([&] { return ReadParam(reader); })) return false;
  if (cursor_.TrySign("->")) {
    do {
      Type type = ReadType(reader);
      if (!type) return false;
      reader.function->results.push_back(type);
    } while (cursor_.TrySign(","));
  }
  std::optional<Loc> loc = ReadLoc(reader);
  if (loc) reader.function->loc = *loc;
  return loc.has_value();
}

bool ModuleReader::ReportFaults(DiagnosticEngine& diagnostics) const {
  std::vector<Fault> faults = FindFaults(module_);
  for (const Fault& fault : faults) {
    Span span = fault.op ? SourceSpan(fault.op) : SourceSpan(fault.function);
    diagnostics.Report(diag::IrInvalid, span, fault.text);
  }
  return !faults.empty();
}

/// Reports size names whose values no call determines, in functions that a caller or a program of this module
/// may call.
bool ModuleReader::ReportUngivenSizes(DiagnosticEngine& diagnostics) const {
  std::set<Name> launched;
  for (const Function* function : module_.functions()) {
    Walk(function->body, [&](const Op* op) {
      if (op->kind() == OpKind::Launch) launched.insert(op->attr<AttrKey::Callee>());
    });
  }
  bool any = false;
  for (const Function* function : module_.functions()) {
    bool is_called = function->kind == FunctionKind::Program || function->exported ||
                     launched.contains(function->name);
    Name ungiven = is_called ? function->UngivenDim() : Name();
    if (ungiven.empty()) continue;
    any = true;
    diagnostics
        .Report(diag::IrSizeUngiven, SourceSpan(function), function->base_name(), ungiven.text())
        .Help(fmt::format("give a parameter a dimension that is only '{}'", ungiven.text()));
  }
  return any;
}

void ModuleReader::Refuse(DiagnosticEngine& diagnostics, const Assumed& assumed) const {
  Span span = assumed.op ? SourceSpan(assumed.op) : SourceSpan(assumed.function);
  auto report = [&]() -> Diagnostic& {
    using enum Assumed::What;
    switch (assumed.what) {
      case BelowTileLevel:
        return diagnostics.Report(diag::IrBelowTileLevel, span, assumed.op->info().spelling);
      case Plan:
        return diagnostics.Report(diag::IrPlan, span, assumed.op->info().spelling);
      case Attribute:
        return diagnostics.Report(diag::IrAssumption, span, assumed.op->info().spelling,
                                  Spelling(assumed.attribute));
      case Workgroup:
        return diagnostics.Report(diag::IrAssumption, span, assumed.function->name.text(),
                                  "workgroup");
    }
    KDL_UNREACHABLE("unknown kind of assumption {}", static_cast<int>(assumed.what));
  };
  report().Help("if kernelc printed this text, compile it with --trust-ir, which trusts it");
}

void ModuleReader::PlaceOps(const SourceManager& sources) {
  bool has_source = false;
  auto look = [&](const Op* op) { has_source = has_source || op->loc().line != 0; };
  auto place = [&](Op* op) {
    Span span = SourceSpan(op);
    LineColumn at = sources.Locate(span);
    op->set_loc({Intern(sources.name(span.file)), at.line, at.column, span.end - span.begin});
  };
  for (const Function* function : module_.functions()) Walk(function->body, look);
  if (has_source) return;
  for (const Function* function : module_.functions()) Walk(function->body, place);
}

}  // namespace

std::unique_ptr<Module> Parse(const SourceManager& sources, FileId file, Context& context,
                              DiagnosticEngine& diagnostics, Trust trust) {
  std::string_view text = sources.text(file);
  if (text.size() > kMaxTextBytes) {
    diagnostics.Report(diag::IrTooLarge, {file, 0, 0}, text.size(), kMaxTextBytes);
    return nullptr;
  }
  TextCursor cursor(text, file, diagnostics);
  auto module = std::make_unique<Module>(context);
  ModuleReader reader(cursor, *module);
  if (!reader.Read()) return nullptr;
  if (reader.ReportFaults(diagnostics)) return nullptr;
  if (reader.ReportUngivenSizes(diagnostics)) return nullptr;
  reader.PlaceOps(sources);
  if (trust == Trust::Everything) return module;
  std::vector<Assumed> assumptions = FindAssumptions(*module);
  for (const Assumed& assumed : assumptions) reader.Refuse(diagnostics, assumed);
  if (!assumptions.empty()) return nullptr;
  ForgetAssumptions(*module);
  // Verify again: the accesses are now checked at run time, which is not allowed everywhere.
  return reader.ReportFaults(diagnostics) ? nullptr : std::move(module);
}

}  // namespace kdl::ir
