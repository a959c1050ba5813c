#include "ir/program_tensors.h"

#include <algorithm>
#include <span>
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

namespace {

/// Returns whether a slice contains the elements that a rank owns in a dimension: the pass distribute-launches makes such slices.
bool IsOwned(const Op* slice) {
  return std::ranges::all_of(std::span(slice->operands()).subspan(1), [](const Value* bound) {
    const Op* def = bound->def();
    return def && (def->kind() == OpKind::Owned || def->kind() == OpKind::OwnedBlock);
  });
}

/// Returns the `alloc` that allocates a tensor, or of which the tensor is a slice or the memory of a rank; null for others.
const Op* AllocOf(const Value* tensor) {
  const Op* def = MemoryOf(tensor)->def();
  if (def && def->kind() == OpKind::RankMemory) def = MemoryOf(def->operand(0))->def();
  return def && def->kind() == OpKind::Alloc ? def : nullptr;
}

/// Looks at all copies of a parameter, or of slices of it, and stores how the tensors at the other end are distributed.
/// Returns false if they differ, or if the parameter is used in another way.
bool FindDistribution(const Value* tensor, RankDistribution& dims) {
  for (const Use& use : tensor->uses()) {
    const Op* op = use.user;
    if (op->kind() == OpKind::Lives || op->kind() == OpKind::Free) continue;
    if (op->kind() == OpKind::Slice && IsOwned(op)) {
      if (!FindDistribution(op->result(), dims)) return false;
      continue;
    }
    if (op->kind() != OpKind::Copy && op->kind() != OpKind::CopyBack) return false;
    const Op* other = AllocOf(op->operand(op->kind() == OpKind::Copy ? 1 : 0));
    RankDistribution found = other ? DistributionOfAlloc(other) : RankDistribution();
    if (found.empty() || (!dims.empty() && found != dims)) return false;
    dims = std::move(found);
  }
  return true;
}

}  // namespace

RankDistribution DistributionOfParam(const Value* param) {
  RankDistribution dims;
  return FindDistribution(param, dims) ? dims : RankDistribution();
}

}  // namespace kdl::ir
