#include "interp/trap.h"

#include <fmt/format.h>

#include <string_view>

#include "ir/op_info.h"

namespace kdl::interp {

namespace {

std::string_view TrapMessage(kdl_trap_code code) {
  switch (code) {
#define KDL_TRAP_CODE(ID, code, text) \
  case KDL_TRAP_##ID:                 \
    return text;
#include "kdl/abi.def"
  }
  return "unknown trap";
}

}  // namespace

std::string QuotedText(const ir::Op& op) {
  // A loop traps only if its step is not positive. The message identifies the loop by the name of its index.
  if (op.kind() == ir::OpKind::Loop) return op.region()->param(0)->name().str();
  const ir::Attr* text = op.FindAttr(ir::AttrKey::Text);
  return text ? std::get<Name>(text->value).str() : std::string(op.info().spelling);
}

std::string ToString(const ir::Loc& loc) {
  if (loc.line == 0) return "an op without a location";
  return fmt::format("{}:{}:{}", loc.file.text(), loc.line, loc.column);
}

void NoteCall(const ir::Loc& call, Trap& trap) {
  if (call.line != 0) trap.notes.emplace_back(call, "called here");
  NoteCalls(call, trap);
}

void NoteCalls(const ir::Loc& loc, Trap& trap) {
  if (loc.call) NoteCall(loc.call->at, trap);
}

std::string ToString(const Trap& trap) {
  std::string text = trap.text.empty() ? QuotedText(*trap.op) : trap.text;
  std::string message =
      fmt::format("{}: error: {}", ToString(trap.place ? *trap.place : trap.op->loc()),
                  fmt::format(fmt::runtime(TrapMessage(trap.code)), fmt::arg("index", trap.index),
                              fmt::arg("bound", trap.bound), fmt::arg("dimension", trap.dimension),
                              fmt::arg("text", text), fmt::arg("message", text)));
  for (const auto& [loc, note] : trap.notes)
    message += fmt::format("\n{}: note: {}", ToString(loc), note);
  if (trap.other) {
    message += fmt::format("\n{}: note: '{}' is the other access", ToString(trap.other->loc()),
                           QuotedText(*trap.other));
  }
  return message;
}

}  // namespace kdl::interp
