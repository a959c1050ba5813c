#include <fmt/format.h>

#include <cctype>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/orchestration/launch_name.h"
#include "codegen/orchestration/program_printer.h"
#include "ir/program_tensors.h"
#include "ir/views.h"
#include "support/check.h"

// Prints the ops that a program submits to queues, such as launches and transfers, and their workspaces and
// events.

namespace kdl::codegen {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

std::string ProgramPrinter::QueueText(const Op* op) const {
  return syntax_->Queue(devices_.at(op->attr<AttrKey::Device>()), op->attr<AttrKey::Queue>());
}

Item ProgramPrinter::Events(std::span<Value* const> events) const {
  std::vector<std::string> names;
  for (const Value* event : events) names.push_back(variables_.at(event));
  return {Item::Kind::Events, std::move(names)};
}

void ProgramPrinter::PrintQueued(const Op* op, const Value* event, const std::string& wanted,
                                 Call call, const std::string& place) {
  Given given;
  if (needs_.Uses(event) > 0 || op->kind() == OpKind::Mark)
    given.event = NewVariable(event, Wanted(event, wanted));
  syntax_->Print(writer_, call, given, place);
  if (!given.event.empty()) Own(Owned::Kind::Event, given.event);
}

void ProgramPrinter::PrintLives(const Op* op) {
  kdl::Name device = op->attr<AttrKey::Device>();
  Call call{Request::ExpectOn, TensorText(op->operand(0)), {}};
  call.items = {devices_.at(device), Quoted(op->operand(0)->name().text()), Quoted(device.text()),
                FailurePlace(op)};
  syntax_->Print(writer_, call, {}, "");
}

void ProgramPrinter::PrintApartOp(const Op* op) {
  Call call{Request::Apart, TensorText(op->operand(0)), {}};
  call.items = {TensorText(op->operand(1)), FailurePlace(op),
                Quoted(op->attr<AttrKey::Text>().text())};
  syntax_->Print(writer_, call, {}, "");
}

Call ProgramPrinter::Move(Request request, const Op* op, std::vector<Item> tensors,
                          std::span<Value* const> after) {
  Call call{request, QueueText(op), std::move(tensors)};
  call.items.emplace_back(Quoted(op->attr<AttrKey::Cause>().text()));
  call.items.push_back(Events(after));
  call.items.emplace_back(Item::Kind::Place, std::vector{FailurePlace(op)});
  if (request == Request::CopyBack) return call;
  std::vector<std::string> leaves;
  if (op->HasAttr(AttrKey::Fresh)) leaves.emplace_back("kdl::Queue::Elements::kLeave");
  call.items.emplace_back(Item::Kind::Elements, std::move(leaves));
  call.items.insert(call.items.begin(),
                    {Item::Kind::Device, {devices_.at(op->attr<AttrKey::Device>())}});
  return call;
}

void ProgramPrinter::SayCause(const Op* op) {
  writer_.Line(
      fmt::format("// {}: {}", ir::SourceName(op->operand(0)), op->attr<AttrKey::Cause>().text()));
}

void ProgramPrinter::PrintTransfer(const Op* op) {
  ir::TransferOp transfer(const_cast<Op*>(op));
  const std::string from = variables_.at(transfer.tensor());
  const std::string& device = devices_.at(op->attr<AttrKey::Device>());
  Call call = Move(Request::Transfer, op, {TensorText(transfer.tensor())}, transfer.after());
  Given given;
  given.tensor =
      NewVariable(op->result(0), Wanted(op->result(0), fmt::format("{}_on_{}", from, device)));
  given.event = NewVariable(op->result(1), Wanted(op->result(1), from + "_moved"));
  given.is_event_used = needs_.Uses(op->result(1)) > 0;
  SayCause(op);
  syntax_->Print(writer_, call, given, "");
  Own(Owned::Kind::Tensor, given.tensor);
  if (given.is_event_used) Own(Owned::Kind::Event, given.event);
}

void ProgramPrinter::PrintRelocate(const Op* op) {
  ir::RelocateOp move(const_cast<Op*>(op));
  Call call = Move(Request::Move, op, {TensorText(move.tensor())}, move.after());
  SayCause(op);
  PrintQueued(op, op->result(), CalledAfter(move.tensor()) + "_moved", std::move(call));
}

void ProgramPrinter::PrintCopyBack(const Op* op) {
  ir::CopyBackOp copy(const_cast<Op*>(op));
  Call call =
      Move(Request::CopyBack, op, {TensorText(copy.to()), TensorText(copy.from())}, copy.after());
  SayCause(op);
  PrintQueued(op, op->result(), CalledAfter(copy.to()) + "_copied_back", std::move(call));
}

void ProgramPrinter::PrintCopy(const Op* op) {
  ir::CopyOp copy(const_cast<Op*>(op));
  Call call{Request::Copy, QueueText(op), {}};
  call.items = {TensorText(copy.to()),
                TensorText(copy.from()),
                Quoted("copy"),
                Events(copy.after()),
                {Item::Kind::Place, {FailurePlace(op)}}};
  PrintQueued(op, op->result(), CalledAfter(copy.to()) + "_copied", std::move(call));
}

void ProgramPrinter::PrintFill(const Op* op) {
  ir::FillOp fill(const_cast<Op*>(op));
  Call call{Request::Fill, QueueText(op), {}};
  call.items = {TensorText(fill.tensor()), ArgumentText(fill.value()), Events(fill.after())};
  PrintQueued(op, op->result(), CalledAfter(fill.tensor()) + "_filled", std::move(call), Place(op));
}

void ProgramPrinter::PrintWorkspace(const Op* op) {
  std::string_view users = op->attr<AttrKey::Name>().text();
  std::string wanted;
  for (char ch : users) {
    bool is_part = std::isalnum(static_cast<unsigned char>(ch)) != 0 || ch == '_';
    if (is_part) wanted += ch;
    if (!is_part && !wanted.empty() && wanted.back() != '_') wanted += '_';
  }
  const std::string& name = NewVariable(op->result(), wanted);
  syntax_->MakeWorkspace(writer_, name, devices_.at(op->attr<AttrKey::Device>()), Quoted(users));
  Own(Owned::Kind::Workspace, name);
}

void ProgramPrinter::PrintFootprint(const Op* op) {
  Call call{Request::Footprint, devices_.at(op->attr<AttrKey::Device>()), {}};
  call.items = {Quoted(LaunchName(module_, face_.runtime_name, op, TypeNames::WhereSeveral)),
                FailurePlace(op)};
  variables_[op->result()] = syntax_->Text(call);
}

void ProgramPrinter::PrintInstances(const Op* op) {
  std::span<Value* const> cores = op->Segment(ir::InstancesOp::at_cores);
  Call call{Request::Instances, devices_.at(op->attr<AttrKey::Device>()), {}};
  call.items = {CoresText(cores.empty() ? nullptr : cores[0])};
  variables_[op->result()] = syntax_->Text(call);
}

void ProgramPrinter::PrintReserve(const Op* op) {
  ir::ReserveOp reserve(const_cast<Op*>(op));
  Call call{Request::Reserve, syntax_->Tensor(variables_.at(reserve.workspace()), false), {}};
  call.items = {Unwrapped(Text(reserve.instances(), LiteralStyle::Plain)),
                Unwrapped(Text(reserve.footprint(), LiteralStyle::Plain)), FailurePlace(op)};
  syntax_->Print(writer_, call, {}, "");
}

void ProgramPrinter::PrintMark(const Op* op) {
  std::string name =
      syntax_->MarkName(devices_.at(op->attr<AttrKey::Device>()), op->attr<AttrKey::Queue>());
  Call call{Request::Mark, QueueText(op), {Events({})}};
  PrintQueued(op, op->result(), name, std::move(call));
}

void ProgramPrinter::PrintLaunch(const Op* op) {
  if (has_fetches_) PrintStartFetches(op);
  ir::LaunchOp launch(const_cast<Op*>(op));
  const ir::Function* kernel = module_.FindFunction(op->attr<AttrKey::Callee>());
  KDL_CHECK(kernel, "'{}' is launched, but is not in the module",
            op->attr<AttrKey::Callee>().text());
  std::vector<std::string> args;
  for (const Value* argument : launch.arguments()) args.push_back(ArgumentText(argument));
  std::vector<std::string> place;
  if (op->loc().line != 0) place = {FailurePlace(op)};
  std::vector<std::string> workspace;
  if (launch.workspace()) workspace = {syntax_->Tensor(variables_.at(launch.workspace()), false)};
  Call call{Request::Launch, QueueText(op), {}};
  call.items = {Quoted(LaunchName(module_, face_.runtime_name, op, TypeNames::WhereNeeded)),
                CoresText(launch.cores()),
                {Item::Kind::Arguments, std::move(args)},
                Events(launch.after()),
                {Item::Kind::Place, std::move(place)},
                {Item::Kind::Workspace, std::move(workspace)}};
  std::string_view name = kernel->base_name();
  PrintQueued(op, op->result(), std::string(name.substr(name.rfind(':') + 1)) + "_done",
              std::move(call));
}

std::string ProgramPrinter::CoresText(const Value* cores) const {
  if (!cores) return syntax_->Cores("", false);
  const Op* def = cores->def();
  bool is_literal = def && def->kind() == OpKind::Const;
  LiteralStyle style = is_literal ? LiteralStyle::Plain : LiteralStyle::Typed;
  return syntax_->Cores(Unwrapped(Text(cores, style)), is_literal);
}

}  // namespace kdl::codegen
