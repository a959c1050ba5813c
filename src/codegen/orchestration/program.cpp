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

// Prints a program's body, statement by statement. A scalar becomes a variable if the source names it, if it
// is used more than once, or if it is used in a different block than the one that computes it. Otherwise its
// expression is printed where it is used.

namespace kdl::codegen {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

void ProgramPrinter::Print() {
  for (const FaceParam& param : program_.params)
    variables_[param.param->value] = names_.Pick(param.name);
  syntax_->OpenProgram(writer_, face_, program_, names_);
  for (const FaceParam& param : program_.params) {
    if (!param.is_tensor && needs_.Uses(param.param->value) == 0)
      syntax_->Discard(writer_, variables_.at(param.param->value));
  }
  PrintBeginCall();
  PrintDevices();
  PrintCheckpoints();
  PrintSizes();
  PrintApart();
  PrintRegion(function_.body);
  syntax_->CloseProgram(writer_);
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
    syntax_->Select(writer_, devices_[device], *row);
  });
  if (devices_.empty()) syntax_->SelectNothing(writer_, !face_.devices.empty());
  Syntax::Queues queues;
  for (const auto& [device, queue] : queues_) queues.emplace_back(devices_.at(device), queue);
  if (!queues.empty()) syntax_->OpenQueues(writer_, queues, names_);
  PrintRankDevices();
}

void ProgramPrinter::UseQueue(Name device, int64_t queue) {
  std::pair<Name, int64_t> used(device, queue);
  if (std::find(queues_.begin(), queues_.end(), used) == queues_.end()) queues_.push_back(used);
}

void ProgramPrinter::PrintSizes() {
  for (Name dim : function_.dims) dims_[dim] = names_.Pick(dim.text());
  for (size_t i = 0; i < function_.dims.size(); ++i) {
    const std::string& name = dims_[function_.dims[i]];
    variables_[function_.dim_value(i)] = name;
    syntax_->Constant(writer_, Scalar::I64, name, SizeSource(function_.dims[i]), true, "");
  }
  for (const FaceParam& param : program_.params) {
    if (!param.is_tensor) continue;
    ir::Type type = param.param->value->type();
    Call call{Request::Expect, param.name, {}};
    call.items = {Quoted(fmt::format("{}: {}", param.param->value->name().text(), param.declared)),
                  syntax_->Element(type->scalar),
                  {Item::Kind::Sizes, SizeTexts(type, function_.loc)}};
    syntax_->Print(writer_, call, {}, "");
  }
}

void ProgramPrinter::PrintApart() {
  std::vector<const FaceParam*> tensors;
  for (const FaceParam& param : program_.params)
    if (param.is_tensor) tensors.push_back(&param);
  auto is_written = [](const FaceParam& param) {
    return param.param->direction != ir::Direction::In;
  };
  auto source_name = [](const FaceParam& param) {
    return Quoted(param.param->value->name().text());
  };
  for (size_t p = 0; p < tensors.size(); ++p) {
    if (!is_written(*tensors[p])) continue;
    std::vector<std::string> others;
    for (size_t q = 0; q < tensors.size(); ++q) {
      if (q == p || (q < p && is_written(*tensors[q]))) continue;
      others.push_back(fmt::format("{{{}, {}}}", source_name(*tensors[q]), tensors[q]->name));
    }
    Call call{Request::ExpectApart, tensors[p]->name, {source_name(*tensors[p])}};
    call.items.emplace_back(Item::Kind::Parameters, std::move(others));
    syntax_->Print(writer_, call, {}, "");
  }
}

std::string ProgramPrinter::SizeSource(Name dim) const {
  for (const FaceParam& param : program_.params) {
    const std::vector<Size>& sizes = param.param->value->type()->dims;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d]->kind == SizeKind::Symbol && sizes[d]->symbol == dim) {
        return syntax_->TensorSizeText(param.name, d);
      }
    }
  }
  KDL_UNREACHABLE("no parameter gives the size '{}'", dim.text());
}

std::vector<std::string> ProgramPrinter::SizeTexts(ir::Type type, ir::Loc loc) const {
  std::vector<std::string> texts;
  texts.reserve(type->dims.size());
  for (Size size : type->dims) {
    texts.push_back(
        SizeExpression(size, [this](Name dim) { return dims_.at(dim); }, loc, *syntax_));
  }
  return texts;
}

std::string ProgramPrinter::Text(const Value* value, LiteralStyle style) const {
  return expressions_.Text(value, style);
}

std::optional<std::string> ProgramPrinter::VariableOf(const Value* value) const {
  auto found = variables_.find(value);
  return found == variables_.end() ? std::nullopt : std::optional(found->second);
}

std::string ProgramPrinter::TensorText(const Value* tensor) const {
  return syntax_->Tensor(variables_.at(tensor), tensor->def() == nullptr);
}

std::string ProgramPrinter::ArgumentText(const Value* value) const {
  if (!ir::IsScalar(value->type())) return syntax_->TensorArgument(TensorText(value));
  return syntax_->ScalarArgument(value->type()->scalar,
                                 Unwrapped(Text(value, LiteralStyle::Typed)));
}

bool ProgramPrinter::IsVariable(const Value* value) const {
  if (!value->name().empty()) return needs_.Uses(value) > 0;
  if (value->def()->kind() == OpKind::Const) return false;
  bool elsewhere = std::any_of(value->uses().begin(), value->uses().end(), [&](const ir::Use& use) {
    return needs_.Has(use.user) && use.user->parent_region() != value->def()->parent_region();
  });
  return needs_.Uses(value) > 1 || elsewhere;
}

const std::string& ProgramPrinter::NewVariable(const Value* value, std::string_view wanted) {
  return variables_[value] = names_.Pick(wanted);
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

void ProgramPrinter::PrintRegion(const ir::Region* region, const std::function<void()>& last) {
  owned_.emplace_back();
  for (const Op* op : *region) {
    if (needs_.Has(op)) PrintOp(op);
  }
  if (last) last();
  syntax_->CloseBlock(writer_, owned_.back());
  owned_.pop_back();
}

void ProgramPrinter::PrintFree(const Op* op) {
  const Value* tensor = op->operand(0);
  if (tensor->def()->kind() == OpKind::RankMemory) return;  // another name of the tensor
  if (IsPart(tensor) && !part_variables_.contains(tensor)) return;
  const std::string& name = variables_.at(tensor);
  syntax_->EndTensor(writer_, name);
  std::erase_if(owned_.back(), [&](const Owned& thing) { return thing.name == name; });
}

void ProgramPrinter::PrintSwap(const Op* op) {
  syntax_->Swap(writer_, variables_.at(op->operand(0)), variables_.at(op->operand(1)), Place(op));
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
      {OpKind::Apart, &ProgramPrinter::PrintApartOp},
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
      {OpKind::Ranks, &ProgramPrinter::PrintRanks},
      {OpKind::Restore, &ProgramPrinter::PrintRestore},
      {OpKind::Checkpoint, &ProgramPrinter::PrintCheckpoint},
      {OpKind::Owned, &ProgramPrinter::PrintOwned},
      {OpKind::OwnedBlocks, &ProgramPrinter::PrintOwnedBlocks},
      {OpKind::OwnedBlock, &ProgramPrinter::PrintOwnedBlock},
      {OpKind::RankMemory, &ProgramPrinter::PrintRankMemory},
      {OpKind::Fetch, &ProgramPrinter::PrintFetch},
      {OpKind::FinishFetches, &ProgramPrinter::PrintFinishFetches},
      {OpKind::Rewritten, &ProgramPrinter::PrintRewritten},
      {OpKind::SizeOf, &ProgramPrinter::PrintSizeOf},
      // Constants are printed as expressions, like computed scalars (expression.cpp).
      {OpKind::Const, &ProgramPrinter::PrintScalar},
  };
  static_assert(ir::CoverOnce(kRows,
                              [](const ir::OpInfo& info) {
                                return info.is_in(ir::kPrograms) && !info.is_computed();
                              }),
                "each op of programs is printed");
  // Only `fn`s have these ops, which programs cannot have.
  if (op->kind() == OpKind::Table) return PrintTable(op);
  if (op->kind() == OpKind::Load) return PrintTableLoad(op);
  static constexpr auto kPrinters = ir::ByOp(kRows);
  auto print = kPrinters[static_cast<size_t>(op->kind())].print;
  print ? (this->*print)(op) : PrintScalar(op);
}

void ProgramPrinter::PrintScalar(const Op* op) {
  KDL_CHECK(op->results().size() == 1 && ir::IsScalar(op->result()->type()),
            "'{}' is not an op of programs", op->info().spelling);
  const Value* value = op->result();
  if (needs_.Uses(value) == 0) {
    syntax_->Discard(writer_, Definition(op), Place(op));
  } else if (IsVariable(value)) {
    std::string definition = Definition(op);
    const std::string& name = NewVariable(value, value->name().text());
    syntax_->Constant(writer_, value->type()->scalar, name, Unwrapped(definition), true, Place(op));
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
  auto side = [&](Size size) {
    return SizeExpression(size, [this](Name dim) { return dims_.at(dim); }, op->loc(), *syntax_);
  };
  auto compare = static_cast<size_t>(op->attr<AttrKey::Compare>());
  Call call{Request::Require, "", {}};
  call.items = {side(op->attr<AttrKey::Left>()), std::string(syntax_->Compare(compare)),
                side(op->attr<AttrKey::Right>()), FailurePlace(op),
                Quoted(ir::RequirementTemplate(function_, op))};
  syntax_->Print(writer_, call, {}, "");
}

void ProgramPrinter::AddAccess(Call& call, const Op* op, std::span<Value* const> index,
                               std::span<Value* const> after) {
  std::vector<std::string> indices;
  for (const Value* i : index) indices.push_back(Unwrapped(Text(i, LiteralStyle::Plain)));
  call.items.emplace_back(Item::Kind::Sizes, std::move(indices));
  call.items.push_back(Events(after));
  call.items.emplace_back(Item::Kind::Place, std::vector{FailurePlace(op)});
  call.items.emplace_back(Quoted(op->attr<AttrKey::Text>().text()));
}

void ProgramPrinter::PrintHostLoad(const Op* op) {
  ir::HostLoadOp load(const_cast<Op*>(op));
  Call call{Request::Read, TensorText(load.tensor()), {}, op->result()->type()->scalar};
  AddAccess(call, op, load.index(), load.after());
  Given given;
  if (needs_.Uses(op->result()) > 0)
    given.value =
        NewVariable(op->result(), Wanted(op->result(), variables_.at(load.tensor()) + "_element"));
  syntax_->Print(writer_, call, given, "");
}

void ProgramPrinter::PrintHostStore(const Op* op) {
  ir::HostStoreOp store(const_cast<Op*>(op));
  Call call{Request::Write, TensorText(store.tensor()), {}, store.value()->type()->scalar};
  call.items.emplace_back(Unwrapped(Text(store.value(), LiteralStyle::Typed)));
  AddAccess(call, op, store.index(), store.after());
  syntax_->Print(writer_, call, {}, "");
}

void ProgramPrinter::PrintDeviceCores(const Op* op) {
  std::string text = syntax_->Text({Request::Cores, devices_.at(op->attr<AttrKey::Device>()), {}});
  if (op->result()->name().empty()) {
    variables_[op->result()] = text;
    return;
  }
  const std::string& name = NewVariable(op->result(), op->result()->name().text());
  syntax_->Constant(writer_, Scalar::I64, name, text, true, Place(op));
}

void ProgramPrinter::PrintYield(const ir::Region* region, const std::vector<std::string>& targets) {
  std::vector<std::string> values;
  for (const Value* value : region->terminator()->operands()) {
    values.push_back(Unwrapped(Text(value, LiteralStyle::Typed)));
  }
  bool at_once = targets.size() > 1 && region->parent()->kind() != OpKind::If;
  for (size_t i = 0; i < targets.size() && at_once; ++i) {
    if (values[i] == targets[i]) continue;
    std::string next = names_.Pick("next_" + targets[i]);
    syntax_->Next(writer_, region->terminator()->operand(i)->type()->scalar, next, values[i]);
    values[i] = next;
  }
  for (size_t i = 0; i < targets.size(); ++i) {
    if (values[i] != targets[i]) writer_.Line(fmt::format("{} = {};", targets[i], values[i]));
  }
}

std::vector<std::string> ProgramPrinter::PrintCarried(const Op* op, std::span<Value* const> inits,
                                                      size_t first) {
  std::vector<std::string> carried;
  for (size_t i = 0; i < inits.size(); ++i) {
    const Value* param = op->region()->param(i + first);
    std::string init = Text(inits[i], LiteralStyle::Typed);
    carried.push_back(names_.Pick(param->name().text()));
    variables_[param] = variables_[op->result(i)] = carried[i];
    bool is_condition = op->kind() == OpKind::While && i == 0;
    syntax_->Variable(writer_, param->type()->scalar, carried[i], Unwrapped(init),
                      is_condition || needs_.Uses(op->result(i)) > 0);
  }
  return carried;
}

void ProgramPrinter::PrintLoop(const Op* op) {
  ir::LoopOp loop(const_cast<Op*>(op));
  const ir::Region* region = op->region();
  std::vector<std::string> carried = PrintCarried(op, loop.inits(), 1);
  const Value* index = region->param(0);
  LoopHead head;
  head.is_used = needs_.Uses(index) > 0;
  head.lo = Text(loop.lo(), LiteralStyle::Plain);
  head.hi = Text(loop.hi(), LiteralStyle::Plain);
  const Op* step = loop.step()->def();
  bool by_one = step && step->kind() == OpKind::Const && step->attr<AttrKey::Bits>() == 1;
  if (!by_one) head.step = Text(loop.step(), LiteralStyle::Plain);
  head.index = NewVariable(index, index->name().text());
  head.place = Place(op);
  syntax_->OpenLoop(writer_, head, names_);
  writer_.Indent();
  PrintRegion(region, [&] { PrintYield(region, carried); });
  if (op->HasAttr(AttrKey::Breaks)) writer_.Line(fmt::format("if (!{}) break;", carried[0]));
  writer_.Outdent();
  writer_.Line("}");
}

/// Prints a `while` loop. The loop's first carried variable tells whether there is another iteration.
void ProgramPrinter::PrintWhile(const Op* op) {
  const ir::Region* region = op->region();
  std::vector<std::string> carried = PrintCarried(op, op->operands(), 0);
  syntax_->OpenWhile(writer_, carried[0], Place(op));
  writer_.Indent();
  PrintRegion(region, [&] { PrintYield(region, carried); });
  writer_.Outdent();
  writer_.Line("}");
}

void ProgramPrinter::PrintAssert(const Op* op) {
  std::string holds = Unwrapped(Text(op->operand(0), LiteralStyle::Typed));
  for (const Value* mask : op->Segment(ir::AssertOp::at_mask))
    holds = fmt::format("!{} || {}", Text(mask, LiteralStyle::Typed),
                        Text(op->operand(0), LiteralStyle::Typed));
  Call call{Request::Assert, "", {}};
  call.items = {holds, FailurePlace(op), Quoted(op->attr<AttrKey::Text>().text())};
  syntax_->Print(writer_, call, {}, "");
}

void ProgramPrinter::PrintIf(const Op* op) {
  std::vector<std::string> results;
  for (const Value* result : op->results()) {
    results.push_back(NewVariable(result, result->name().text()));
    syntax_->Variable(writer_, result->type()->scalar, results.back(), "", needs_.Uses(result) > 0);
  }
  writer_.Line(
      fmt::format("if ({}) {{{}", Unwrapped(Text(op->operand(0), LiteralStyle::Typed)), Place(op)));
  for (size_t branch = 0; branch < 2; ++branch) {
    const ir::Region* region = op->region(branch);
    bool empty = region->first() == region->terminator() && results.empty();
    if (branch == 1 && empty) break;
    if (branch == 1) writer_.Line("} else {");
    writer_.Indent();
    PrintRegion(region, [&] { PrintYield(region, results); });
    writer_.Outdent();
  }
  writer_.Line("}");
}

}  // namespace kdl::codegen
