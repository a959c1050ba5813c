#include "ir/program_tensors.h"

#include <algorithm>
#include <utility>

#include "ir/tensor_view.h"
#include "ir/views.h"

namespace kdl::ir {

std::string_view SourceName(const Value* tensor) {
  tensor = MemoryOf(tensor);
  bool is_moved = tensor->def() && tensor->def()->kind() == OpKind::Transfer;
  return is_moved ? SourceName(tensor->def()->operand(0)) : tensor->name().text();
}

Name CallersDevice(const Module& module, const Function& program, const Value* param) {
  const Op* first = nullptr;
  Walk(program.body, [&](const Op* op) {
    bool says_where = op->kind() == OpKind::Lives || op->kind() == OpKind::Transfer ||
                      op->kind() == OpKind::Launch;
    if (first || !says_where) return;
    bool is_user = std::ranges::any_of(
        op->operands(), [&](const Value* operand) { return MemoryOf(operand) == param; });
    if (is_user) first = op;
  });
  if (first) return first->attr<AttrKey::Device>();
  return module.devices.empty() ? Name() : module.devices[0].name;
}

NumberList RankAxesOf(const Value* param) {
  NumberList axes;
  for (const Use& use : param->uses()) {
    const Op* op = use.user;
    if (op->kind() == OpKind::Lives) continue;
    if (op->kind() != OpKind::Copy && op->kind() != OpKind::CopyBack) return {};
    const Op* other = op->operand(op->kind() == OpKind::Copy ? 1 : 0)->def();
    bool is_distributed =
        other && other->kind() == OpKind::Alloc && other->HasAttr(AttrKey::RankAxes);
    if (!is_distributed) return {};
    auto found = other->attr<AttrKey::RankAxes>();
    if (!axes.empty() && found != axes) return {};
    axes = std::move(found);
  }
  return axes;
}

}  // namespace kdl::ir
