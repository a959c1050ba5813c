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

RankDistribution DistributionOfAlloc(const Op* alloc) {
  RankDistribution dims;
  if (!alloc->HasAttr(AttrKey::RankAxes)) return dims;
  for (int64_t axis : alloc->attr<AttrKey::RankAxes>()) dims.push_back({axis, 0});
  if (!alloc->HasAttr(AttrKey::RankBlocks)) return dims;
  auto blocks = alloc->attr<AttrKey::RankBlocks>();
  for (size_t d = 0; d < dims.size(); ++d) dims[d].block = blocks[d];
  return dims;
}

RankDistribution DistributionOfParam(const Value* param) {
  RankDistribution dims;
  for (const Use& use : param->uses()) {
    const Op* op = use.user;
    if (op->kind() == OpKind::Lives) continue;
    if (op->kind() != OpKind::Copy && op->kind() != OpKind::CopyBack) return {};
    const Op* other = op->operand(op->kind() == OpKind::Copy ? 1 : 0)->def();
    if (!other || other->kind() != OpKind::Alloc) return {};
    RankDistribution found = DistributionOfAlloc(other);
    if (found.empty() || (!dims.empty() && found != dims)) return {};
    dims = std::move(found);
  }
  return dims;
}

}  // namespace kdl::ir
