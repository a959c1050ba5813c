#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codegen/orchestration/cpp_names.h"
#include "codegen/orchestration/expression.h"
#include "codegen/orchestration/interface.h"
#include "codegen/orchestration/launch_name.h"
#include "codegen/orchestration/writer.h"
#include "ir/attr.h"
#include "ir/module.h"
#include "ir/op.h"
#include "ir/requirement.h"
#include "ir/type.h"
#include "ir/views.h"
#include "support/check.h"
#include "support/names.h"
#include "support/scalar.h"
#include "support/size.h"

// A program's body as C++. A scalar becomes a variable where the source names it, or where it is used more than once
// or in another block; else it is written out where it is used.

namespace kdl::codegen {

namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

std::string ElementText(Scalar scalar) {
  return scalar == Scalar::Bool ? "kdl::bool_" : fmt::format("kdl::{}", Spelling(scalar));
}

/// What of a program has an effect, or is used by what has.
class Needs {
 public:
  explicit Needs(const ir::Block* body) {
    ir::Walk(body, [this](const Op* op) {
      if (!op->info().has(ir::kPure)) Mark(op);
    });
  }
  bool Has(const Op* op) const { return needed_.contains(op); }
  /// How often a value is used by needed ops.
  int Uses(const Value* value) const {
    auto found = uses_.find(value);
    return found == uses_.end() ? 0 : found->second;
  }

 private:
  void Mark(const Op* op) {
    if (!needed_.insert(op).second) return;
    for (const Value* operand : op->operands()) {
      if (op->kind() == OpKind::Free && operand != op->operand(0))
        continue;  // the runtime's memory waits by itself
      ++uses_[operand];
      if (operand->def() && operand->def()->info().has(ir::kPure)) Mark(operand->def());
    }
  }

  std::set<const Op*> needed_;
  std::unordered_map<const Value*, int> uses_;
};

class ProgramPrinter {
 public:
  ProgramPrinter(Writer& writer, const ir::Module& module, const ModuleFace& face,
                 const FaceFunction& program)
      : writer_(writer),
        module_(module),
        face_(face),
        program_(program),
        function_(*program.functions[0]),
        needs_(function_.body),
        own_(NamesBeside(program.params)) {}

  void Print() {
    for (const FaceParam& param : program_.params)
      variables_[param.param->value] = names_.Pick(param.name);
    for (const std::string& name : {own_.context, own_.devices}) names_.Pick(name);
    DeclareProgram(writer_, face_, program_, Defaults::Absent, ") {");
    writer_.Indent();
    PrintDevices();
    PrintDrain();
    PrintSizes();
    PrintBlock(function_.body);
    if (!queues_.empty()) writer_.Line(drain_ + ".Wait();");
    writer_.Outdent();
    writer_.Line("}");
  }

 private:
  // -- What stands before the statements ----------------------------------------------------------

  void PrintDevices() {
    ir::Walk(function_.body, [this](const Op* op) {
      if (!op->HasAttr(AttrKey::Device)) return;
      Name device = op->attr<AttrKey::Device>();
      if (op->HasAttr(AttrKey::Queue)) UseQueue(device, op->attr<AttrKey::Queue>());
      if (devices_.contains(device)) return;
      devices_[device] = names_.Pick(device.text());
      auto row = std::find_if(face_.devices.begin(), face_.devices.end(),
                              [&](const FaceDevice& d) { return d.source_name == device.text(); });
      KDL_CHECK(row != face_.devices.end(), "the device '{}' is not declared", device.text());
      writer_.Line(fmt::format("const kdl::Device {} = {}.Select({}.{});", devices_[device],
                               own_.context, own_.devices, row->name));
    });
  }

  /// What a statement throws ends the program, but not before what runs has ended.
  void PrintDrain() {
    if (queues_.empty()) return;
    drain_ = names_.Pick("running");
    std::vector<std::string> queues;
    queues.reserve(queues_.size());
    for (const auto& [device, queue] : queues_) queues.push_back(QueueText(device, queue));
    writer_.List(fmt::format("const kdl::Drain {}({{", drain_), queues, "});");
  }

  void UseQueue(Name device, int64_t queue) {
    std::pair<Name, int64_t> used(device, queue);
    if (std::find(queues_.begin(), queues_.end(), used) == queues_.end()) queues_.push_back(used);
  }

  /// Binds each size where it stands first on its own, then compares every tensor with what it is declared to be.
  void PrintSizes() {
    for (Name dim : function_.dims) dims_[dim] = names_.Pick(dim.text());
    for (size_t i = 0; i < function_.dims.size(); ++i) {
      variables_[function_.dim_value(i)] = dims_[function_.dims[i]];
      writer_.Line(fmt::format("const std::int64_t {} = {};", dims_[function_.dims[i]],
                               SizeSource(function_.dims[i])));
    }
    for (const FaceParam& param : program_.params) {
      if (!param.is_tensor) continue;
      ir::Type type = param.param->value->type();
      writer_.List(fmt::format("{}.Expect({}, {}, {{", param.name,
                               Quoted(fmt::format("{}: {}", param.param->value->name().text(),
                                                  param.declared)),
                               ElementText(type->scalar)),
                   SizeTexts(type, function_.loc), "});");
    }
  }

  std::string SizeSource(Name dim) const {
    for (const FaceParam& param : program_.params) {
      const std::vector<Size>& sizes = param.param->value->type()->dims;
      for (size_t d = 0; d < sizes.size(); ++d) {
        if (sizes[d]->kind == SizeKind::Symbol && sizes[d]->symbol == dim) {
          return fmt::format("{}.size({})", param.name, d);
        }
      }
    }
    KDL_UNREACHABLE("no parameter gives the size '{}'", dim.text());
  }

  std::vector<std::string> SizeTexts(ir::Type type, ir::Loc loc) const {
    std::vector<std::string> texts;
    texts.reserve(type->dims.size());
    for (Size size : type->dims) {
      texts.push_back(SizeExpression(size, [this](Name dim) { return dims_.at(dim); }, loc));
    }
    return texts;
  }

  // -- Values -------------------------------------------------------------------------------------

  std::string Text(const Value* value, LiteralStyle style) const {
    return Expression(value, Variables(), style);
  }

  VariableName Variables() const {
    return [this](const Value* value) -> std::optional<std::string> {
      auto found = variables_.find(value);
      return found == variables_.end() ? std::nullopt : std::optional(found->second);
    };
  }

  /// A scalar that is more than a part of one expression.
  bool IsVariable(const Value* value) const {
    if (!value->name().empty()) return needs_.Uses(value) > 0;
    if (value->def()->kind() == OpKind::Const) return false;
    bool elsewhere =
        std::any_of(value->uses().begin(), value->uses().end(), [&](const ir::Use& use) {
          return needs_.Has(use.user) && use.user->block() != value->def()->block();
        });
    return needs_.Uses(value) > 1 || elsewhere;
  }

  const std::string& NameOf(const Value* value, std::string_view wanted) {
    return variables_[value] = names_.Pick(wanted);
  }

  /// The value's own name, else `otherwise`.
  static std::string Wanted(const Value* value, std::string otherwise) {
    return value->name().empty() ? std::move(otherwise) : value->name().str();
  }

  // -- Statements ---------------------------------------------------------------------------------

  /// `  // file.kdl:12`, the first time that something of the line is printed.
  std::string Place(const Op* op) {
    ir::Loc loc = op->loc();
    if (loc.line == 0 || !said_.insert({loc.file.text(), loc.line}).second) return "";
    std::string_view file = loc.file.text();
    return fmt::format("  // {}:{}", file.substr(file.rfind('/') + 1), loc.line);
  }

  /// `"file.kdl:12:5"`, for errors of what may fail; it says the line, too.
  std::string FailurePlace(const Op* op) {
    said_.insert({op->loc().file.text(), op->loc().line});
    return Quoted(PlaceText(op->loc()));
  }

  void PrintBlock(const ir::Block* block) {
    for (const Op* op : *block) {
      if (needs_.Has(op)) PrintOp(op);
    }
  }

  void PrintOp(const Op* op) {
    switch (op->kind()) {
      case OpKind::Alloc:
        return PrintAlloc(op);
      case OpKind::Free:
        return writer_.Line(variables_.at(op->operand(0)) + " = {};");
      case OpKind::Transfer:
        return PrintTransfer(op);
      case OpKind::Require:
        return PrintRequire(op);
      case OpKind::HostLoad:
        return PrintHostLoad(op);
      case OpKind::HostStore:
        return PrintHostStore(op);
      case OpKind::DeviceCores:
        return PrintDeviceCores(op);
      case OpKind::Workspace:
        return PrintWorkspace(op);
      case OpKind::Footprint:
        return PrintFootprint(op);
      case OpKind::Instances:
        return PrintInstances(op);
      case OpKind::Reserve:
        return PrintReserve(op);
      case OpKind::Mark:
        return PrintMark(op);
      case OpKind::Launch:
        return PrintLaunch(op);
      case OpKind::Loop:
        return PrintLoop(op);
      case OpKind::If:
        return PrintIf(op);
      case OpKind::Yield:
      case OpKind::Return:
        return;
      default:
        return PrintScalar(op);
    }
  }

  void PrintScalar(const Op* op) {
    KDL_CHECK(op->results().size() == 1 && ir::IsScalar(op->result()->type()), "'{}' in a program",
              op->info().spelling);
    const Value* value = op->result();
    if (needs_.Uses(value) == 0) {
      writer_.Line(fmt::format("static_cast<void>({});{}", Definition(op, Variables()), Place(op)));
    } else if (IsVariable(value)) {
      std::string definition = Definition(op, Variables());
      const std::string& name = NameOf(value, value->name().text());
      writer_.Line(fmt::format("const {} {} = {};{}", CppType(value->type()->scalar), name,
                               Unwrapped(definition), Place(op)));
    }
  }

  /// Without parentheses around the whole.
  static std::string Unwrapped(const std::string& text) {
    if (text.size() < 2 || text.front() != '(' || text.back() != ')') return text;
    int depth = 0;
    for (size_t i = 0; i + 1 < text.size(); ++i) {
      depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
      if (depth == 0) return text;
    }
    return text.substr(1, text.size() - 2);
  }

  void PrintAlloc(const Op* op) {
    ir::Type type = op->result()->type();
    kdl::Name name = op->attr<AttrKey::Name>();
    const std::string& variable = NameOf(op->result(), name.text());
    writer_.List(fmt::format("kdl::Tensor {} = {}.Allocate({}, {}, {{", variable, own_.context,
                             devices_.at(op->attr<AttrKey::Device>()), ElementText(type->scalar)),
                 SizeTexts(type, op->loc()),
                 fmt::format("}}, {}, {});", Quoted(name.text()), FailurePlace(op)));
  }

  std::string QueueText(kdl::Name device, int64_t queue) const {
    return fmt::format("{}.queue({})", devices_.at(device), queue);
  }

  /// Nothing where there is nothing to wait for.
  void AppendEvents(std::vector<std::string>& list, std::span<Value* const> events) const {
    std::vector<std::string> names;
    for (const Value* event : events) names.push_back(variables_.at(event));
    if (!names.empty()) AddBraced(list, names);
  }

  void PrintTransfer(const Op* op) {
    ir::TransferOp transfer(const_cast<Op*>(op));
    const std::string& from = variables_.at(transfer.tensor());
    kdl::Name device = op->attr<AttrKey::Device>();
    std::string name = fmt::format("{}_on_{}", from, devices_.at(device));
    const std::string& tensor = NameOf(op->result(0), Wanted(op->result(0), name));
    const std::string& event = NameOf(op->result(1), Wanted(op->result(1), from + "_moved"));
    std::vector<std::string> items = {from, Quoted(op->attr<AttrKey::Cause>().text())};
    AppendEvents(items, transfer.after());
    writer_.List(fmt::format("auto [{}, {}] = {}.Transfer(", tensor, event,
                             QueueText(device, op->attr<AttrKey::Queue>())),
                 items, ");" + Place(op));
  }

  void PrintRequire(const Op* op) {
    static constexpr std::string_view kCompares[] = {"equal_to",   "not_equal_to", "less",
                                                     "less_equal", "greater",      "greater_equal"};
    auto side = [&](Size size) {
      return SizeExpression(size, [this](Name dim) { return dims_.at(dim); }, op->loc());
    };
    auto compare = static_cast<size_t>(op->attr<AttrKey::Compare>());
    writer_.List("kdl::Require(",
                 {side(op->attr<AttrKey::Left>()), fmt::format("std::{}<>()", kCompares[compare]),
                  side(op->attr<AttrKey::Right>()), FailurePlace(op),
                  Quoted(ir::RequirementTemplate(function_, op))},
                 ");");
  }

  /// `{i, j}`, the events that are waited for, the place and the access as written.
  std::vector<std::string> AccessItems(const Op* op, std::span<Value* const> index,
                                       std::span<Value* const> after) {
    std::vector<std::string> indices;
    for (const Value* i : index) indices.push_back(Unwrapped(Text(i, LiteralStyle::Plain)));
    std::vector<std::string> items;
    AddBraced(items, indices);
    AppendEvents(items, after);
    if (after.empty()) items.emplace_back("{}");
    items.push_back(FailurePlace(op));
    items.push_back(Quoted(op->attr<AttrKey::Text>().text()));
    return items;
  }

  void PrintHostLoad(const Op* op) {
    ir::HostLoadOp load(const_cast<Op*>(op));
    const std::string& tensor = variables_.at(load.tensor());
    std::string type = CppType(op->result()->type()->scalar);
    std::string head;
    if (needs_.Uses(op->result()) > 0) {
      head = fmt::format("const {} {} = ", type,
                         NameOf(op->result(), Wanted(op->result(), tensor + "_element")));
    }
    writer_.List(fmt::format("{}{}.Read<{}>(", head, tensor, type),
                 AccessItems(op, load.index(), load.after()), ");");
  }

  void PrintHostStore(const Op* op) {
    ir::HostStoreOp store(const_cast<Op*>(op));
    std::vector<std::string> items = {Unwrapped(Text(store.value(), LiteralStyle::Typed))};
    for (std::string& item : AccessItems(op, store.index(), store.after()))
      items.push_back(std::move(item));
    writer_.List(variables_.at(store.tensor()) + ".Write(", items, ");");
  }

  void PrintDeviceCores(const Op* op) {
    std::string text = devices_.at(op->attr<AttrKey::Device>()) + ".cores()";
    if (op->result()->name().empty()) {
      variables_[op->result()] = text;
      return;
    }
    const std::string& name = NameOf(op->result(), op->result()->name().text());
    writer_.Line(fmt::format("const std::int64_t {} = {};{}", name, text, Place(op)));
  }

  /// `matmul_residual_q` for the pipe q of matmul_residual.
  void PrintWorkspace(const Op* op) {
    std::string_view users = op->attr<AttrKey::Name>().text();
    std::string wanted;
    for (char ch : users) {
      bool is_part = std::isalnum(static_cast<unsigned char>(ch)) != 0 || ch == '_';
      if (is_part) wanted += ch;
      if (!is_part && !wanted.empty() && wanted.back() != '_') wanted += '_';
    }
    writer_.Line(fmt::format("kdl::Workspace {}({}, {});", NameOf(op->result(), wanted),
                             devices_.at(op->attr<AttrKey::Device>()), Quoted(users)));
  }

  /// Part of the statement that reserves so much.
  void PrintFootprint(const Op* op) {
    variables_[op->result()] =
        fmt::format("{}.Footprint({}, {})", devices_.at(op->attr<AttrKey::Device>()),
                    Quoted(LaunchName(module_, op, TypeNames::WhereSeveral)), FailurePlace(op));
  }

  void PrintInstances(const Op* op) {
    std::span<Value* const> cores = op->Segment(ir::InstancesOp::at_cores);
    variables_[op->result()] =
        fmt::format("{}.Instances({})", devices_.at(op->attr<AttrKey::Device>()),
                    CoresText(cores.empty() ? nullptr : cores[0]));
  }

  /// Instances times footprint.
  void PrintReserve(const Op* op) {
    ir::ReserveOp reserve(const_cast<Op*>(op));
    std::vector<std::string> items = {Unwrapped(Text(reserve.instances(), LiteralStyle::Plain)),
                                      Unwrapped(Text(reserve.footprint(), LiteralStyle::Plain)),
                                      FailurePlace(op)};
    writer_.List(variables_.at(reserve.workspace()) + ".Reserve(", items, ");");
  }

  /// It belongs to the statement of the launch that waits for it, which tells the place.
  void PrintMark(const Op* op) {
    kdl::Name device = op->attr<AttrKey::Device>();
    int64_t queue = op->attr<AttrKey::Queue>();
    std::string name = fmt::format("{}_queue{}", devices_.at(device), queue);
    const std::string& event = NameOf(op->result(), Wanted(op->result(), name));
    writer_.Line(fmt::format("const kdl::Event {} = {}.Mark();", event, QueueText(device, queue)));
  }

  void PrintLaunch(const Op* op) {
    ir::LaunchOp launch(const_cast<Op*>(op));
    const ir::Function* kernel = module_.FindFunction(op->attr<AttrKey::Callee>());
    KDL_CHECK(kernel, "a launch of '{}'", op->attr<AttrKey::Callee>().text());
    std::vector<std::string> args;
    for (const Value* argument : launch.arguments()) {
      args.push_back(Unwrapped(Text(argument, LiteralStyle::Typed)));
    }
    std::string head;
    if (needs_.Uses(op->result()) > 0) {
      std::string done = std::string(kernel->base_name()) + "_done";
      head =
          fmt::format("const kdl::Event {} = ", NameOf(op->result(), Wanted(op->result(), done)));
    }
    head += QueueText(op->attr<AttrKey::Device>(), op->attr<AttrKey::Queue>()) + ".Launch(";
    std::vector<std::string> items = {Quoted(LaunchName(module_, op, TypeNames::WhereNeeded)),
                                      CoresText(launch.cores())};
    AddBraced(items, args);
    AppendEvents(items, launch.after());
    bool has_place = op->loc().line != 0;
    if (launch.after().empty() && (has_place || launch.workspace())) items.emplace_back("{}");
    if (has_place) items.push_back(FailurePlace(op));
    if (launch.workspace()) {
      if (!has_place) items.emplace_back("nullptr");
      items.push_back(variables_.at(launch.workspace()));
    }
    writer_.List(head, items, ");");
  }

  /// Null: `auto`.
  std::string CoresText(const Value* cores) const {
    if (!cores) return "KDL_CORES_AUTO";
    const Op* def = cores->def();
    bool is_literal = def && def->kind() == OpKind::Const;
    std::string text = Text(cores, is_literal ? LiteralStyle::Plain : LiteralStyle::Typed);
    return is_literal ? text : fmt::format("kdl::Cores({})", Unwrapped(text));
  }

  // -- Control flow -------------------------------------------------------------------------------

  std::string Declaration(const Value* value, const std::string& name, bool used) const {
    return fmt::format("{}{} {}", used ? "" : "[[maybe_unused]] ", CppType(value->type()->scalar),
                       name);
  }

  /// Assigns what a region yields to the variables that its op has for it.
  void PrintYield(const ir::Block* region, const std::vector<std::string>& targets) {
    std::vector<std::string> values;
    for (const Value* value : region->terminator()->operands()) {
      values.push_back(Unwrapped(Text(value, LiteralStyle::Typed)));
    }
    bool at_once = targets.size() > 1 && region->parent()->kind() == OpKind::Loop;
    for (size_t i = 0; i < targets.size() && at_once; ++i) {
      if (values[i] == targets[i]) continue;
      std::string next = names_.Pick("next_" + targets[i]);
      writer_.Line(fmt::format("const auto {} = {};", next, values[i]));
      values[i] = next;
    }
    for (size_t i = 0; i < targets.size(); ++i) {
      if (values[i] != targets[i]) writer_.Line(fmt::format("{} = {};", targets[i], values[i]));
    }
  }

  void PrintLoop(const Op* op) {
    ir::LoopOp loop(const_cast<Op*>(op));
    const ir::Block* region = op->region();
    std::vector<std::string> carried;
    for (size_t i = 0; i < loop.inits().size(); ++i) {
      const Value* param = region->param(i + 1);
      std::string init = Text(loop.inits()[i], LiteralStyle::Typed);
      carried.push_back(names_.Pick(param->name().text()));
      variables_[param] = variables_[op->result(i)] = carried[i];
      writer_.Line(Declaration(param, carried[i], needs_.Uses(op->result(i)) > 0) + " = " +
                   Unwrapped(init) + ";");
    }
    const Value* index = region->param(0);
    std::vector<std::string> bounds = {Text(loop.lo(), LiteralStyle::Plain),
                                       Text(loop.hi(), LiteralStyle::Plain)};
    const Op* step = loop.step()->def();
    bool by_one = step && step->kind() == OpKind::Const && step->attr<AttrKey::Bits>() == 1;
    if (!by_one) bounds.push_back(Text(loop.step(), LiteralStyle::Plain));
    writer_.List(fmt::format("for ({}const std::int64_t {} : kdl::Steps(",
                             needs_.Uses(index) > 0 ? "" : "[[maybe_unused]] ",
                             NameOf(index, index->name().text())),
                 bounds, ")) {" + Place(op));
    writer_.Indent();
    PrintBlock(region);
    PrintYield(region, carried);
    writer_.Outdent();
    writer_.Line("}");
  }

  void PrintIf(const Op* op) {
    std::vector<std::string> results;
    for (const Value* result : op->results()) {
      results.push_back(NameOf(result, result->name().text()));
      writer_.Line(Declaration(result, results.back(), needs_.Uses(result) > 0) + " = {};");
    }
    writer_.Line(fmt::format("if ({}) {{{}", Unwrapped(Text(op->operand(0), LiteralStyle::Typed)),
                             Place(op)));
    for (size_t branch = 0; branch < 2; ++branch) {
      const ir::Block* region = op->region(branch);
      bool empty = region->first() == region->terminator() && results.empty();
      if (branch == 1 && empty) break;
      if (branch == 1) writer_.Line("} else {");
      writer_.Indent();
      PrintBlock(region);
      PrintYield(region, results);
      writer_.Outdent();
    }
    writer_.Line("}");
  }

  Writer& writer_;
  const ir::Module& module_;
  const ModuleFace& face_;
  const FaceFunction& program_;
  const ir::Function& function_;
  Needs needs_;
  OwnNames own_;
  CppNames names_;
  std::unordered_map<const Value*, std::string> variables_;
  std::unordered_map<kdl::Name, std::string> dims_;
  std::unordered_map<kdl::Name, std::string> devices_;
  std::vector<std::pair<kdl::Name, int64_t>> queues_;
  std::string drain_;
  std::set<std::pair<std::string_view, uint32_t>> said_;
};

/// The condition under which arguments are those of `function` and not of another one of the face.
std::string FitsText(const FaceFunction& face, const FaceFunction& function) {
  std::string text;
  for (size_t p = 0; p < face.params.size(); ++p) {
    Scalar scalar = function.params[p].param->value->type()->scalar;
    bool same = std::all_of(
        face.functions.begin(), face.functions.end(),
        [&](const ir::Function* f) { return f->params[p].value->type()->scalar == scalar; });
    if (same) continue;
    std::string element =
        face.params[p].name + (face.params[p].is_tensor ? ".element()" : ".get().element");
    text += fmt::format("{}{} == {}", text.empty() ? "" : " && ", element, ElementText(scalar));
  }
  return text;
}

/// Calls the one of several functions that the element types of the arguments name.
void PrintDispatch(Writer& writer, const ModuleFace& face, const FaceFunction& program,
                   const std::vector<FaceFunction>& functions) {
  OwnNames own = NamesBeside(program.params);
  DeclareProgram(writer, face, program, Defaults::Absent, ") {");
  writer.Indent();
  for (const FaceFunction& function : functions) {
    std::vector<std::string> args = {own.context};
    for (const FaceParam& param : program.params) {
      Scalar scalar = function.params[args.size() - 1].param->value->type()->scalar;
      args.push_back(param.any_scalar ? fmt::format("{}.As<{}>()", param.name, CppType(scalar))
                                      : param.name);
    }
    if (!face.devices.empty()) args.push_back(own.devices);
    writer.Line(fmt::format("if ({}) {{", FitsText(program, function)));
    writer.Indent();
    writer.List(fmt::format("return {}(", function.name), args, ");");
    writer.Outdent();
    writer.Line("}");
  }
  std::string message = fmt::format("'{}' has no variant for these element types. {}",
                                    program.source_name, program.note);
  writer.List("throw kdl::Error(", {"KDL_ERROR_INVALID_ARGUMENT", Quoted(message)}, ");");
  writer.Outdent();
  writer.Line("}");
}

}  // namespace

void PrintProgram(Writer& writer, const ir::Module& module, const ModuleFace& face,
                  const FaceFunction& program) {
  if (program.functions.size() == 1) {
    return ProgramPrinter(writer, module, face, program).Print();
  }
  std::vector<FaceFunction> functions;
  writer.Line("namespace {");
  for (size_t f = 0; f < program.functions.size(); ++f) {
    functions.push_back(OnlyFunction(program, f));
    writer.Line();
    ProgramPrinter(writer, module, face, functions.back()).Print();
  }
  writer.Line();
  writer.Line("}  // namespace");
  writer.Line();
  PrintDispatch(writer, face, program, functions);
}

}  // namespace kdl::codegen
