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

// What a program gives to queues: launches, the workspaces of their pipes, transfers; and events.

namespace kdl::codegen {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

std::string ProgramPrinter::QueueText(kdl::Name device, int64_t queue) const {
  return fmt::format("{}.queue({})", devices_.at(device), queue);
}

void ProgramPrinter::AppendEvents(std::vector<std::string>& list,
                                  std::span<Value* const> events) const {
  std::vector<std::string> names;
  for (const Value* event : events) names.push_back(variables_.at(event));
  if (!names.empty()) AddBraced(list, names);
}

void ProgramPrinter::PrintLives(const Op* op) {
  kdl::Name device = op->attr<AttrKey::Device>();
  writer_.List(variables_.at(op->operand(0)) + ".ExpectOn(",
               {devices_.at(device), Quoted(op->operand(0)->name().text()), Quoted(device.text()),
                FailurePlace(op)},
               ");");
}

std::vector<std::string> ProgramPrinter::MoveItems(const Op* op, std::vector<std::string> tensors,
                                                   std::span<Value* const> after) {
  std::vector<std::string> items = std::move(tensors);
  items.push_back(Quoted(op->attr<AttrKey::Cause>().text()));
  AppendEvents(items, after);
  if (after.empty()) items.emplace_back("{}");
  items.push_back(FailurePlace(op));
  if (op->HasAttr(AttrKey::Fresh)) items.emplace_back("kdl::Queue::Elements::kLeave");
  return items;
}

void ProgramPrinter::PrintMove(const Op* op, const std::string& head, std::string_view member,
                               const std::vector<std::string>& items) {
  std::string queue = QueueText(op->attr<AttrKey::Device>(), op->attr<AttrKey::Queue>());
  writer_.Line(
      fmt::format("// {}: {}", ir::SourceName(op->operand(0)), op->attr<AttrKey::Cause>().text()));
  writer_.List(fmt::format("{}{}.{}(", head, queue, member), items, ");");
}

void ProgramPrinter::PrintTransfer(const Op* op) {
  ir::TransferOp transfer(const_cast<Op*>(op));
  const std::string& from = variables_.at(transfer.tensor());
  const std::string& device = devices_.at(op->attr<AttrKey::Device>());
  const std::string& tensor =
      NameOf(op->result(0), Wanted(op->result(0), fmt::format("{}_on_{}", from, device)));
  const std::string& event = NameOf(op->result(1), Wanted(op->result(1), from + "_moved"));
  PrintMove(op, fmt::format("auto [{}, {}] = ", tensor, event), "Transfer",
            MoveItems(op, {from}, transfer.after()));
}

void ProgramPrinter::PrintRelocate(const Op* op) {
  ir::RelocateOp move(const_cast<Op*>(op));
  const std::string& tensor = variables_.at(move.tensor());
  std::string head;
  if (needs_.Uses(op->result()) > 0)
    head = fmt::format("const kdl::Event {} = ",
                       NameOf(op->result(), Wanted(op->result(), tensor + "_moved")));
  PrintMove(op, head, "Move", MoveItems(op, {tensor}, move.after()));
}

void ProgramPrinter::PrintCopyBack(const Op* op) {
  ir::CopyBackOp copy(const_cast<Op*>(op));
  const std::string& to = variables_.at(copy.to());
  std::string head;
  if (needs_.Uses(op->result()) > 0)
    head = fmt::format("const kdl::Event {} = ",
                       NameOf(op->result(), Wanted(op->result(), to + "_copied_back")));
  PrintMove(op, head, "CopyBack", MoveItems(op, {to, variables_.at(copy.from())}, copy.after()));
}

void ProgramPrinter::PrintCopy(const Op* op) {
  ir::CopyOp copy(const_cast<Op*>(op));
  const std::string& to = variables_.at(copy.to());
  std::string head;
  if (needs_.Uses(op->result()) > 0)
    head = fmt::format("const kdl::Event {} = ",
                       NameOf(op->result(), Wanted(op->result(), to + "_copied")));
  std::vector<std::string> items = {to, variables_.at(copy.from()), Quoted("copy")};
  AppendEvents(items, copy.after());
  if (copy.after().empty()) items.emplace_back("{}");
  items.push_back(FailurePlace(op));
  writer_.List(fmt::format("{}{}.Copy(", head,
                           QueueText(op->attr<AttrKey::Device>(), op->attr<AttrKey::Queue>())),
               items, ");");
}

void ProgramPrinter::PrintFill(const Op* op) {
  ir::FillOp fill(const_cast<Op*>(op));
  const std::string& tensor = variables_.at(fill.tensor());
  std::string head;
  if (needs_.Uses(op->result()) > 0)
    head = fmt::format("const kdl::Event {} = ",
                       NameOf(op->result(), Wanted(op->result(), tensor + "_filled")));
  std::vector<std::string> items = {tensor, Unwrapped(Text(fill.value(), LiteralStyle::Typed))};
  AppendEvents(items, fill.after());
  writer_.List(fmt::format("{}{}.Fill(", head,
                           QueueText(op->attr<AttrKey::Device>(), op->attr<AttrKey::Queue>())),
               items, ");" + Place(op));
}

void ProgramPrinter::PrintWorkspace(const Op* op) {
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

void ProgramPrinter::PrintFootprint(const Op* op) {
  variables_[op->result()] =
      fmt::format("{}.Footprint({}, {})", devices_.at(op->attr<AttrKey::Device>()),
                  Quoted(LaunchName(module_, face_.runtime_name, op, TypeNames::WhereSeveral)),
                  FailurePlace(op));
}

void ProgramPrinter::PrintInstances(const Op* op) {
  std::span<Value* const> cores = op->Segment(ir::InstancesOp::at_cores);
  variables_[op->result()] =
      fmt::format("{}.Instances({})", devices_.at(op->attr<AttrKey::Device>()),
                  CoresText(cores.empty() ? nullptr : cores[0]));
}

void ProgramPrinter::PrintReserve(const Op* op) {
  ir::ReserveOp reserve(const_cast<Op*>(op));
  std::vector<std::string> items = {Unwrapped(Text(reserve.instances(), LiteralStyle::Plain)),
                                    Unwrapped(Text(reserve.footprint(), LiteralStyle::Plain)),
                                    FailurePlace(op)};
  writer_.List(variables_.at(reserve.workspace()) + ".Reserve(", items, ");");
}

void ProgramPrinter::PrintMark(const Op* op) {
  kdl::Name device = op->attr<AttrKey::Device>();
  int64_t queue = op->attr<AttrKey::Queue>();
  std::string name = fmt::format("{}_queue{}", devices_.at(device), queue);
  const std::string& event = NameOf(op->result(), Wanted(op->result(), name));
  writer_.Line(fmt::format("const kdl::Event {} = {}.Mark();", event, QueueText(device, queue)));
}

void ProgramPrinter::PrintLaunch(const Op* op) {
  ir::LaunchOp launch(const_cast<Op*>(op));
  const ir::Function* kernel = module_.FindFunction(op->attr<AttrKey::Callee>());
  KDL_CHECK(kernel, "a launch of '{}'", op->attr<AttrKey::Callee>().text());
  std::vector<std::string> args;
  for (const Value* argument : launch.arguments()) {
    args.push_back(Unwrapped(Text(argument, LiteralStyle::Typed)));
  }
  std::string head;
  if (needs_.Uses(op->result()) > 0) {
    std::string_view name = kernel->base_name();
    std::string done = std::string(name.substr(name.rfind(':') + 1)) + "_done";
    head = fmt::format("const kdl::Event {} = ", NameOf(op->result(), Wanted(op->result(), done)));
  }
  head += QueueText(op->attr<AttrKey::Device>(), op->attr<AttrKey::Queue>()) + ".Launch(";
  std::vector<std::string> items = {
      Quoted(LaunchName(module_, face_.runtime_name, op, TypeNames::WhereNeeded)),
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

std::string ProgramPrinter::CoresText(const Value* cores) const {
  if (!cores) return "KDL_CORES_AUTO";
  const Op* def = cores->def();
  bool is_literal = def && def->kind() == OpKind::Const;
  std::string text = Text(cores, is_literal ? LiteralStyle::Plain : LiteralStyle::Typed);
  return is_literal ? text : fmt::format("kdl::Cores({})", Unwrapped(text));
}

}  // namespace kdl::codegen
