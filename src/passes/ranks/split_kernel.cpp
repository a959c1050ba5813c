#include "passes/ranks/split_kernel.h"

#include <algorithm>
#include <vector>

#include "ir/attr.h"
#include "passes/fusion/producer.h"
#include "passes/groups/kept_variables.h"
#include "passes/ranks/group_kernels.h"
#include "passes/ranks/part_kernel.h"
#include "passes/rewriting/drop_unused.h"
#include "passes/rewriting/rewrite.h"

namespace kdl::passes {

namespace {

bool IsOwnStore(const Op* op) {
  return op->kind() == OpKind::Store && !op->HasAttr(AttrKey::Fills);
}

/// Returns whether all accesses to the tensor are stores.
bool IsOnlyStored(const Value* tensor) {
  return std::ranges::all_of(tensor->uses(), [&](const ir::Use& use) {
    return IsOwnStore(use.user) && TensorOf(use.user) == tensor;
  });
}

/// Returns whether blocks only reduce into the tensor, which may be filled before.
bool IsOnlyReduced(const Value* tensor) {
  return std::ranges::all_of(tensor->uses(), [](const ir::Use& use) {
    bool is_fill = use.user->kind() == OpKind::Store && !IsOwnStore(use.user);
    return IsGroupUpdate(use.user) || is_fill;
  });
}

/// Returns whether the kernel only stores to some tensors and reduces into others.
bool CanSplit(const ir::Function& kernel) {
  bool stores = false;
  bool does_more = false;
  ir::Walk(kernel.body, [&](const Op* op) {
    stores = stores || IsOwnStore(op);
    does_more = does_more || (!IsGroupUpdate(op) && !DescribeEffect(op).empty());
  });
  return Reduces(kernel) && stores && !does_more &&
         std::ranges::all_of(kernel.params, [](const ir::Param& param) {
           return param.direction == ir::Direction::In || IsOnlyStored(param.value) ||
                  IsOnlyReduced(param.value);
         });
}

template <class Condition>
void EraseIf(ir::Function& kernel, Condition condition) {
  std::vector<Op*> erased;
  ir::Walk(kernel.body, [&](Op* op) {
    if (condition(op)) erased.push_back(op);
  });
  for (Op* op : erased) ir::Erase(op);
  DropUnused(kernel.body);
  for (ir::Param& param : kernel.params)
    if (param.value->uses().empty()) param.direction = ir::Direction::In;
}

ir::Function* CopyOf(ir::Module& module, const ir::Function& kernel, std::string_view ending) {
  ir::Function* copy = ir::CloneFunction(kernel, module, DerivedName(module, kernel, ending));
  copy->exported = false;
  return copy;
}

/// The blocks no longer form groups.
void Ungroup(ir::Function& kernel) {
  for (Op* spmd : OpsOfKind(kernel, OpKind::Spmd)) {
    spmd->SetAttr(ir::MakeAttr<AttrKey::Distribute>(ir::DistributionKind::Static));
    spmd->RemoveAttr(AttrKey::Kept);
  }
}

}  // namespace

std::optional<SplitKernel> SplitStoresFromReductions(ir::Module& module,
                                                     const ir::Function& kernel) {
  if (!CanSplit(kernel)) return std::nullopt;
  SplitKernel split{CopyOf(module, kernel, "stores"), CopyOf(module, kernel, "reduces")};
  EraseFillLoops(*split.stores);
  EraseIf(*split.stores, [](const Op* op) { return IsGroupUpdate(op); });
  Ungroup(*split.stores);
  EraseIf(*split.reduces, IsOwnStore);
  return split;
}

}  // namespace kdl::passes
