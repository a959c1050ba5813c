#include "codegen/orchestration/program_printer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/attr.h"
#include "ir/op_table.h"
#include "ir/requirement.h"
#include "ir/views.h"
#include "support/check.h"
#include "support/scalar.h"

// A program's body as C++. A scalar becomes a variable where the source names it, or where it is used more than once
// or in another block; else it is written out where it is used.

namespace kdl::codegen {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

std::string ElementText(Scalar scalar) {
  return scalar == Scalar::Bool ? "kdl::bool_" : fmt::format("kdl::{}", Spelling(scalar));
}

void ProgramPrinter::Print() {
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

void ProgramPrinter::PrintDevices() {
  ir::Walk(function_.body, [this](const Op* op) {
    if (!op->HasAttr(AttrKey::Device)) return;
    Name device = op->attr<AttrKey::Device>();
    if (op->HasAttr(AttrKey::Queue)) UseQueue(device, op->attr<AttrKey::Queue>());
    if (devices_.contains(device)) return;
    devices_[device] = names_.Pick(CIdentifier(device.text()));
    auto row = std::find_if(face_.devices.begin(), face_.devices.end(),
                            [&](const FaceDevice& d) { return d.source_name == device.text(); });
    KDL_CHECK(row != face_.devices.end(), "the device '{}' is not declared", device.text());
    writer_.Line(fmt::format("const kdl::Device {} = {}.Select({}.{}).Own();", devices_[device],
                             own_.context, own_.devices, row->name));
  });
}

void ProgramPrinter::PrintDrain() {
  if (queues_.empty()) return;
  drain_ = names_.Pick("running");
  std::vector<std::string> queues;
  queues.reserve(queues_.size());
  for (const auto& [device, queue] : queues_) queues.push_back(QueueText(device, queue));
  writer_.List(fmt::format("const kdl::Drain {}({{", drain_), queues, "});");
}

void ProgramPrinter::UseQueue(Name device, int64_t queue) {
  std::pair<Name, int64_t> used(device, queue);
  if (std::find(queues_.begin(), queues_.end(), used) == queues_.end()) queues_.push_back(used);
}

void ProgramPrinter::PrintSizes() {
  for (Name dim : function_.dims) dims_[dim] = names_.PickLocal(dim.text());
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

std::string ProgramPrinter::SizeSource(Name dim) const {
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

std::vector<std::string> ProgramPrinter::SizeTexts(ir::Type type, ir::Loc loc) const {
  std::vector<std::string> texts;
  texts.reserve(type->dims.size());
  for (Size size : type->dims) {
    texts.push_back(SizeExpression(size, [this](Name dim) { return dims_.at(dim); }, loc));
  }
  return texts;
}

std::string ProgramPrinter::Text(const Value* value, LiteralStyle style) const {
  return Expression(value, Variables(), style);
}

VariableName ProgramPrinter::Variables() const {
  return [this](const Value* value) -> std::optional<std::string> {
    auto found = variables_.find(value);
    return found == variables_.end() ? std::nullopt : std::optional(found->second);
  };
}

bool ProgramPrinter::IsVariable(const Value* value) const {
  if (!value->name().empty()) return needs_.Uses(value) > 0;
  if (value->def()->kind() == OpKind::Const) return false;
  bool elsewhere = std::any_of(value->uses().begin(), value->uses().end(), [&](const ir::Use& use) {
    return needs_.Has(use.user) && use.user->block() != value->def()->block();
  });
  return needs_.Uses(value) > 1 || elsewhere;
}

const std::string& ProgramPrinter::NameOf(const Value* value, std::string_view wanted) {
  return variables_[value] = names_.PickLocal(wanted);
}

std::string ProgramPrinter::Wanted(const Value* value, std::string otherwise) {
  return value->name().empty() ? std::move(otherwise) : value->name().str();
}

std::string ProgramPrinter::Place(const Op* op) {
  ir::Loc loc = op->loc();
  if (loc.line == 0 || !said_.insert({loc.file.text(), loc.line}).second) return "";
  std::string_view file = loc.file.text();
  return fmt::format("  // {}:{}", file.substr(file.rfind('/') + 1), loc.line);
}

std::string ProgramPrinter::FailurePlace(const Op* op) {
  said_.insert({op->loc().file.text(), op->loc().line});
  return Quoted(PlaceText(op->loc()));
}

void ProgramPrinter::PrintBlock(const ir::Block* block) {
  for (const Op* op : *block) {
    if (needs_.Has(op)) PrintOp(op);
  }
}

void ProgramPrinter::PrintFree(const Op* op) {
  const Value* tensor = op->operand(0);
  if (IsPart(tensor) && !part_variables_.contains(tensor)) return;
  writer_.Line(variables_.at(tensor) + " = {};");
}

void ProgramPrinter::PrintSwap(const Op* op) {
  writer_.Line(fmt::format("std::swap({}, {});{}", variables_.at(op->operand(0)),
                           variables_.at(op->operand(1)), Place(op)));
}

void ProgramPrinter::PrintNothing(const Op*) {}

void ProgramPrinter::PrintOp(const Op* op) {
  struct Row {
    OpKind kind;
    void (ProgramPrinter::*print)(const Op*);
  };
  static constexpr Row kRows[] = {
      {OpKind::Alloc, &ProgramPrinter::PrintAlloc},
      {OpKind::Slice, &ProgramPrinter::PrintSlice},
      {OpKind::View, &ProgramPrinter::PrintView},
      {OpKind::Fill, &ProgramPrinter::PrintFill},
      {OpKind::Lives, &ProgramPrinter::PrintLives},
      {OpKind::Transfer, &ProgramPrinter::PrintTransfer},
      {OpKind::Relocate, &ProgramPrinter::PrintRelocate},
      {OpKind::CopyBack, &ProgramPrinter::PrintCopyBack},
      {OpKind::Copy, &ProgramPrinter::PrintCopy},
      {OpKind::BindSize, &ProgramPrinter::PrintBindSize},
      {OpKind::Require, &ProgramPrinter::PrintRequire},
      {OpKind::HostLoad, &ProgramPrinter::PrintHostLoad},
      {OpKind::HostStore, &ProgramPrinter::PrintHostStore},
      {OpKind::DeviceCores, &ProgramPrinter::PrintDeviceCores},
      {OpKind::Workspace, &ProgramPrinter::PrintWorkspace},
      {OpKind::Footprint, &ProgramPrinter::PrintFootprint},
      {OpKind::Instances, &ProgramPrinter::PrintInstances},
      {OpKind::Reserve, &ProgramPrinter::PrintReserve},
      {OpKind::Mark, &ProgramPrinter::PrintMark},
      {OpKind::Launch, &ProgramPrinter::PrintLaunch},
      {OpKind::Loop, &ProgramPrinter::PrintLoop},
      {OpKind::While, &ProgramPrinter::PrintWhile},
      {OpKind::If, &ProgramPrinter::PrintIf},
      {OpKind::Assert, &ProgramPrinter::PrintAssert},
      {OpKind::Call, &ProgramPrinter::PrintCall},
      {OpKind::Return, &ProgramPrinter::PrintReturn},
      {OpKind::Free, &ProgramPrinter::PrintFree},
      {OpKind::Swap, &ProgramPrinter::PrintSwap},
      {OpKind::Yield, &ProgramPrinter::PrintNothing},
      // Values, and what makes expressions of values: expression.cpp.
      {OpKind::Const, &ProgramPrinter::PrintScalar},
      {OpKind::SizeOf, &ProgramPrinter::PrintScalar},
  };
  static_assert(ir::CoverOnce(kRows,
                              [](const ir::OpInfo& info) {
                                return info.stands_in(ir::kPrograms) && !info.is_computed();
                              }),
                "each op of programs is printed");
  static constexpr auto kPrinters = ir::ByOp(kRows);
  auto print = kPrinters[static_cast<size_t>(op->kind())].print;
  print ? (this->*print)(op) : PrintScalar(op);
}

void ProgramPrinter::PrintScalar(const Op* op) {
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

std::string Unwrapped(const std::string& text) {
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') return text;
  int depth = 0;
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0) return text;
  }
  return text.substr(1, text.size() - 2);
}

void ProgramPrinter::PrintRequire(const Op* op) {
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

std::vector<std::string> ProgramPrinter::AccessItems(const Op* op, std::span<Value* const> index,
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

void ProgramPrinter::PrintHostLoad(const Op* op) {
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

void ProgramPrinter::PrintHostStore(const Op* op) {
  ir::HostStoreOp store(const_cast<Op*>(op));
  std::vector<std::string> items = {Unwrapped(Text(store.value(), LiteralStyle::Typed))};
  for (std::string& item : AccessItems(op, store.index(), store.after()))
    items.push_back(std::move(item));
  writer_.List(variables_.at(store.tensor()) + ".Write(", items, ");");
}

void ProgramPrinter::PrintDeviceCores(const Op* op) {
  std::string text = devices_.at(op->attr<AttrKey::Device>()) + ".cores()";
  if (op->result()->name().empty()) {
    variables_[op->result()] = text;
    return;
  }
  const std::string& name = NameOf(op->result(), op->result()->name().text());
  writer_.Line(fmt::format("const std::int64_t {} = {};{}", name, text, Place(op)));
}

std::string ProgramPrinter::Declaration(const Value* value, const std::string& name,
                                        bool used) const {
  return fmt::format("{}{} {}", used ? "" : "[[maybe_unused]] ", CppType(value->type()->scalar),
                     name);
}

void ProgramPrinter::PrintYield(const ir::Block* region, const std::vector<std::string>& targets) {
  std::vector<std::string> values;
  for (const Value* value : region->terminator()->operands()) {
    values.push_back(Unwrapped(Text(value, LiteralStyle::Typed)));
  }
  bool at_once = targets.size() > 1 && region->parent()->kind() != OpKind::If;
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

void ProgramPrinter::PrintLoop(const Op* op) {
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
  if (op->HasAttr(AttrKey::Breaks)) writer_.Line(fmt::format("if (!{}) break;", carried[0]));
  writer_.Outdent();
  writer_.Line("}");
}

/// The first carried variable says whether there is a turn.
void ProgramPrinter::PrintWhile(const Op* op) {
  const ir::Block* region = op->region();
  std::vector<std::string> carried;
  for (size_t i = 0; i < op->operands().size(); ++i) {
    const Value* param = region->param(i);
    std::string init = Text(op->operand(i), LiteralStyle::Typed);
    carried.push_back(names_.Pick(param->name().text()));
    variables_[param] = variables_[op->result(i)] = carried[i];
    bool used = i == 0 || needs_.Uses(op->result(i)) > 0;
    writer_.Line(Declaration(param, carried[i], used) + " = " + Unwrapped(init) + ";");
  }
  writer_.Line(fmt::format("while ({}) {{{}", carried[0], Place(op)));
  writer_.Indent();
  PrintBlock(region);
  PrintYield(region, carried);
  writer_.Outdent();
  writer_.Line("}");
}

void ProgramPrinter::PrintAssert(const Op* op) {
  std::string holds = Unwrapped(Text(op->operand(0), LiteralStyle::Typed));
  for (const Value* mask : op->Segment(ir::AssertOp::at_mask))
    holds = fmt::format("!{} || {}", Text(mask, LiteralStyle::Typed),
                        Text(op->operand(0), LiteralStyle::Typed));
  writer_.List("kdl::Assert(", {holds, FailurePlace(op), Quoted(op->attr<AttrKey::Text>().text())},
               ");");
}

void ProgramPrinter::PrintIf(const Op* op) {
  std::vector<std::string> results;
  for (const Value* result : op->results()) {
    results.push_back(NameOf(result, result->name().text()));
    writer_.Line(Declaration(result, results.back(), needs_.Uses(result) > 0) + " = {};");
  }
  writer_.Line(
      fmt::format("if ({}) {{{}", Unwrapped(Text(op->operand(0), LiteralStyle::Typed)), Place(op)));
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

}  // namespace kdl::codegen
