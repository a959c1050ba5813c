#include "irgen/programs/reduced_outputs.h"

#include <algorithm>
#include <vector>

#include "ir/element_walk.h"
#include "ir/eval/eval.h"
#include "ir/views.h"
#include "irgen/walk/sizes.h"

namespace kdl::irgen {

namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

bool IsGroupUpdate(const Op* op) {
  return op->kind() == OpKind::Update && op->attr<AttrKey::Scope>() == ir::ScopeKind::Group;
}

const Op* FirstGroupUpdate(const Value* tensor) {
  for (const ir::Use& use : tensor->uses()) {
    if (IsGroupUpdate(use.user)) return use.user;
  }
  return nullptr;
}

uint64_t MemoryIdentity(ir::UpdateKind how, Scalar scalar) {
  Scalar acc = IsNarrowFloat(scalar) ? Scalar::F32 : scalar;
  return ir::EvaluateCast(acc, scalar, ir::UpdateIdentity(how, acc));
}

void Fill(FunctionGen& gen, Value* tensor, const Op* update) {
  ir::Builder& builder = gen.builder;
  ir::Region* here = builder.region();
  builder.set_loc(update->loc());
  Op* before = builder.before();
  ir::ElementWalk walk = ir::MakeElementSpmd(builder, gen.function, tensor->type());
  Scalar scalar = tensor->type()->scalar;
  Value* identity = builder.Bits(scalar, MemoryIdentity(update->attr<AttrKey::How>(), scalar));
  builder.Create(
      OpKind::Store, {{identity}, {tensor}, walk.index, {}}, {},
      {ir::MakeAttr<AttrKey::Access>(walk.access),
       ir::MakeAttr<AttrKey::BoundsMode>(ir::BoundsMode::Proven), ir::MakeAttr<AttrKey::Fills>(1)});
  builder.Create(OpKind::Yield, {{}}, {});
  builder.SetInsertionPoint(here, before);
}

/// Fills each tensor that the launch allocates and that `reduce` statements update, directly after its
/// creation. Nothing can read the tensor before that.
void FillOwnTensors(FunctionGen& gen) {
  std::vector<Op*> made;
  ir::Walk(gen.function.body, [&](Op* op) {
    if (op->kind() == OpKind::LaunchTensor) made.push_back(op);
  });
  for (Op* op : made) {
    const Op* update = FirstGroupUpdate(op->result());
    if (!update) continue;
    gen.builder.SetInsertionPoint(op->parent_region(), op->next());
    Fill(gen, op->result(), update);
    gen.builder.Create(OpKind::Sync, {}, {});
  }
}

}  // namespace

/// Fills the tensors that `reduce` statements update with the identity of the reduction: `out` parameters and
/// tensors that the launch allocates. The cores do this before anything else. If the kernel also accesses an
/// `out` tensor in another way, all cores wait until it is filled. Otherwise the barrier before the partial
/// results are combined is enough.
void FillReducedOutputs(FunctionGen& gen) {
  FillOwnTensors(gen);
  bool waits = false;
  InsertAtRequirements(gen);
  for (const ir::Param& param : gen.function.params) {
    Value* tensor = param.value;
    const Op* update = param.direction == ir::Direction::Out ? FirstGroupUpdate(tensor) : nullptr;
    if (!update) continue;
    auto otherwise = [](const ir::Use& use) { return !IsGroupUpdate(use.user); };
    waits = waits || std::ranges::any_of(tensor->uses(), otherwise);
    Fill(gen, tensor, update);
  }
  if (waits) gen.builder.Create(OpKind::Sync, {}, {});
}

}  // namespace kdl::irgen
