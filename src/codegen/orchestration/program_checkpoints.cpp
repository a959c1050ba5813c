#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "codegen/orchestration/program_printer.h"
#include "ir/identity.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "kdl/checkpoint_text.hpp"

// Prints the checkpoints of programs. Each number of a checkpoint becomes a variable before the loop. If the program continues at
// the checkpoint, the request replaces its value.

namespace kdl::codegen {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

void ProgramPrinter::PrintCheckpoints() {
  std::vector<std::string> files;
  ir::Walk(function_.body, [&](const Op* op) {
    if (op->kind() == OpKind::Restore) files.push_back(Quoted(op->attr<AttrKey::Text>().text()));
  });
  if (files.empty()) return;
  checkpoints_ = names_.Pick("checkpoints");
  syntax_->OpenCheckpoints(writer_, checkpoints_, ranks_.empty() ? "" : ranks_.begin()->second,
                           {Quoted(function_.base_name()),
                            Quoted(checkpoints::HexText(ir::FindIdentity(function_).value_or(0)))},
                           files);
}

void ProgramPrinter::AddSaved(Call& call, const Op* op, std::span<Value* const> tensors,
                              std::span<Value* const> after) {
  std::vector<std::string> texts;
  for (const Value* tensor : tensors)
    texts.push_back(
        fmt::format("{{{}, {}}}", Quoted(ir::MemoryOf(tensor)->name().text()), TensorText(tensor)));
  call.items.emplace_back(Item::Kind::Parameters, std::move(texts));
  call.items.push_back(Events(after));
  call.items.emplace_back(Item::Kind::Place, std::vector{FailurePlace(op)});
}

void ProgramPrinter::PrintRestore(const Op* op) {
  ir::RestoreOp restore(const_cast<Op*>(op));
  std::vector<std::string> variables;
  for (size_t i = 0; i < op->results().size(); ++i) {
    const Value* number = restore.numbers()[i];
    Scalar scalar = number->type()->scalar;
    std::string value = Unwrapped(Text(number, LiteralStyle::Typed));
    const std::string& name = NewVariable(op->result(i), Wanted(op->result(i), "number"));
    syntax_->Variable(writer_, scalar, name, value, true);
    variables.push_back(syntax_->VariableArgument(scalar, name));
  }
  Call call{Request::Restore, checkpoints_, {Quoted(op->attr<AttrKey::Text>().text())}};
  call.items.emplace_back(Item::Kind::Variables, std::move(variables));
  AddSaved(call, op, restore.tensors(), restore.after());
  syntax_->Print(writer_, call, {}, "");
}

void ProgramPrinter::PrintCheckpoint(const Op* op) {
  ir::CheckpointOp checkpoint(const_cast<Op*>(op));
  std::vector<std::string> numbers;
  for (const Value* number : checkpoint.numbers()) numbers.push_back(ArgumentText(number));
  Call call{Request::WriteCheckpoint, checkpoints_, {Quoted(op->attr<AttrKey::Text>().text())}};
  call.items.emplace_back(Unwrapped(Text(checkpoint.every(), LiteralStyle::Plain)));
  call.items.emplace_back(Item::Kind::Arguments, std::move(numbers));
  AddSaved(call, op, checkpoint.tensors(), checkpoint.after());
  syntax_->Print(writer_, call, {}, "");
}

}  // namespace kdl::codegen
