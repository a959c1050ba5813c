#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "codegen/orchestration/program_printer.h"
#include "ir/identity.h"
#include "ir/views.h"
#include "kdl/checkpoint_text.hpp"

// Prints the ops of programs whose tensors are distributed over ranks. A process of a compiled program has one rank, so a
// distributed tensor has one memory in it: the tensor itself.

namespace kdl::codegen {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

void ProgramPrinter::PrintRankDevices() {
  ir::Walk(function_.body, [this](const Op* op) {
    if (!UsesRanks(op)) return;
    Name device = op->attr<AttrKey::Device>();
    if (ranks_.contains(device)) return;
    auto declared = std::ranges::find(module_.devices, device, &ir::Device::name);
    ranks_[device] = names_.Pick(devices_.at(device) + "_ranks");
    syntax_->OpenRanks(writer_, ranks_.at(device), declared->rank_shape);
    for (const auto& [on, queue] : queues_) {
      if (on != device) continue;
      std::string used = syntax_->Queue(devices_.at(on), queue);
      syntax_->Print(writer_, {Request::UseQueue, ranks_.at(device), {used}}, {}, "");
    }
  });
}

/// Processes fail together from here on, so this comes before everything else that may fail.
void ProgramPrinter::PrintBeginCall() {
  if (!UsesRanks(function_)) return;
  std::vector<std::string> args;
  for (const FaceParam& param : program_.params)
    args.push_back(fmt::format("{{{}, {}}}", Quoted(param.param->value->name().text()),
                               ArgumentText(param.param->value)));
  Call call{Request::BeginCall, "", {}};
  call.items = {Quoted(function_.base_name()),
                Quoted(checkpoints::HexText(ir::FindIdentity(function_).value_or(0))),
                {Item::Kind::Named, std::move(args)},
                {Item::Kind::Place, {}}};
  if (function_.loc.line != 0) call.items.back().texts = {Quoted(PlaceText(function_.loc))};
  syntax_->BeginCall(writer_, std::move(call));
}

const std::string& ProgramPrinter::RanksOf(const Op* op) const {
  return ranks_.at(op->attr<AttrKey::Device>());
}

void ProgramPrinter::PrintRanks(const Op* op) {
  static constexpr Request kRequests[] = {Request::RankCount, Request::RankFirst, Request::RankEnd};
  for (size_t i = 0; i < op->results().size(); ++i)
    variables_[op->result(i)] = syntax_->Text({kRequests[i], RanksOf(op), {}});
}

void ProgramPrinter::PrintOwnedNumbers(
    const Op* op, std::initializer_list<std::pair<Request, std::string_view>> numbers) {
  const Value* const* result = op->results().data();
  for (const auto& [request, wanted] : numbers) {
    const Value* number = *result++;
    if (needs_.Uses(number) == 0) continue;
    Call call{request, RanksOf(op), {}};
    for (const Value* operand : op->operands())
      call.items.emplace_back(Unwrapped(Text(operand, LiteralStyle::Plain)));
    call.items.emplace_back(fmt::format("{}", op->attr<AttrKey::RankAxis>()));
    if (op->HasAttr(AttrKey::RankBlock))
      call.items.emplace_back(fmt::format("{}", op->attr<AttrKey::RankBlock>()));
    std::string text = syntax_->Text(call);
    const std::string& name = NewVariable(number, Wanted(number, std::string(wanted)));
    syntax_->Constant(writer_, Scalar::I64, name, text, true, Place(op));
  }
}

void ProgramPrinter::PrintOwned(const Op* op) {
  PrintOwnedNumbers(op, {{Request::OwnedFirst, "first"}, {Request::OwnedEnd, "end"}});
}

void ProgramPrinter::PrintOwnedBlocks(const Op* op) {
  PrintOwnedNumbers(op, {{Request::OwnedBlocks, "blocks"}});
}

void ProgramPrinter::PrintOwnedBlock(const Op* op) {
  PrintOwnedNumbers(op, {{Request::OwnedBlockFirst, "first"}, {Request::OwnedBlockEnd, "end"}});
}

void ProgramPrinter::PrintRankMemory(const Op* op) {
  variables_[op->result()] = variables_.at(op->operand(0));
}

void ProgramPrinter::PrintFetch(const Op* op) {
  has_fetches_ = true;
  ir::FetchOp fetch(const_cast<Op*>(op));
  auto texts = [&](std::span<Value* const> values) {
    std::vector<std::string> bounds;
    for (const Value* value : values) bounds.push_back(Unwrapped(Text(value, LiteralStyle::Plain)));
    return Item(Item::Kind::Sizes, std::move(bounds));
  };
  Call call{Request::Fetch, RanksOf(op), {}};
  call.items = {TensorText(fetch.tensor()),
                Unwrapped(Text(fetch.rank(), LiteralStyle::Plain)),
                texts(fetch.lo()),
                texts(fetch.hi()),
                Quoted(op->attr<AttrKey::Cause>().text()),
                Events(fetch.after()),
                {Item::Kind::Place, {FailurePlace(op)}}};
  syntax_->Print(writer_, call, {}, "");
}

/// What has been requested travels while kernels run.
void ProgramPrinter::PrintStartFetches(const Op* op) {
  syntax_->Print(writer_, {Request::StartFetches, RanksOf(op), {}}, {}, "");
}

/// Kernels that use the memories must have ended before elements arrive.
void ProgramPrinter::PrintFinishFetches(const Op* op) {
  has_fetches_ = false;
  Name device = op->attr<AttrKey::Device>();
  PrintStartFetches(op);
  for (const auto& [on, queue] : queues_)
    if (on == device)
      syntax_->Print(writer_, {Request::Wait, syntax_->Queue(devices_.at(on), queue), {}}, {}, "");
  syntax_->Print(writer_, {Request::FinishFetches, RanksOf(op), {}}, {}, "");
}

/// Later requests do not wait for the owners again.
void ProgramPrinter::PrintRewritten(const Op* op) {
  Call call{Request::Rewritten, RanksOf(op), {TensorText(op->operand(0))}};
  call.items.push_back(Events(op->Segment(ir::RewrittenOp::at_after)));
  syntax_->Print(writer_, call, {}, "");
}

}  // namespace kdl::codegen
