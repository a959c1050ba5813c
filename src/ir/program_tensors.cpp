#include "ir/program_tensors.h"

#include <algorithm>

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

}  // namespace kdl::ir
