#include "ir/builder.h"
#include "ir/op_info.h"
#include "ir/views.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"
#include "support/check.h"

// lower-pipes: a push stores its tile to a slot (one entry) of the ring buffer, and a pop loads the tile from
// the slot. Kernels access a slot as a tensor between acquire and commit, and between wait and release.
//
//   push %t to %q over i     ->   %s = acquire %q ; store %t to %s[%i - start of %i] ;
//                                 commit %s to %q sizes(size of %i)
//   %u = pop %q over j       ->   %s, %n = wait %q ; match %n, size of %j ; %u = load %s[%j - start of %j] ;
//                                 … ; release %s to %q, after the last use of %u in the block
//
// A core uses at most one slot of a pipe at a time. If another pop comes before the last use of the tile, the
// slot is released before that pop, and the tile is kept outside of the ring buffer.

namespace kdl::passes {

namespace {

using ir::MakeAttr;

/// The index of a slot's elements, in terms of the blocks in scope at `op`. The first element of the slot
/// corresponds to the starts of the blocks.
struct SlotIndex {
  std::vector<Value*> operands;
  ir::Access access;
  std::vector<Value*> sizes;
};

SlotIndex IndexOfSlot(ir::Builder& builder, const Op* op) {
  SlotIndex index;
  SizeTable& sizes = builder.types().sizes();
  for (ir::AxisId axis : op->attr<AttrKey::Axes>()) {
    Value* block = ir::FindBlock(op, axis);
    KDL_CHECK(block, "'{}' over an axis that has no block in scope", op->info().spelling);
    auto first = static_cast<uint32_t>(index.operands.size());
    index.operands.push_back(block);
    index.operands.push_back(builder.BlockStart(block));
    index.access.dims.push_back(
        {{{sizes.Constant(1), first}, {sizes.Constant(-1), first + 1}}, sizes.Constant(0)});
    index.sizes.push_back(builder.BlockSize(block));
  }
  return index;
}

std::vector<ir::Attr> QuotedBy(const Op* op) {
  const ir::Attr* text = op->FindAttr(AttrKey::Text);
  return text ? std::vector{*text} : std::vector<ir::Attr>();
}

ir::Type SlotType(ir::Builder& builder, const Value* pipe) {
  return builder.types().Tensor(pipe->type()->scalar, pipe->type()->dims);
}

std::vector<ir::Attr> ProvenAccess(const SlotIndex& index) {
  return {MakeAttr<AttrKey::Access>(index.access),
          MakeAttr<AttrKey::BoundsMode>(ir::BoundsMode::Proven)};
}

void OpenPush(ir::Module& module, ir::PushOp push) {
  ir::Builder builder(module, push.op);
  SlotIndex index = IndexOfSlot(builder, push.op);
  Value* slot = MakeOne(builder, OpKind::Acquire, {{push.pipe()}}, SlotType(builder, push.pipe()),
                        QuotedBy(push.op));
  slot->set_name(push.pipe()->name());
  builder.Create(OpKind::Store, {{push.value()}, {slot}, index.operands, {}}, {},
                 ProvenAccess(index));
  builder.Create(OpKind::Commit, {{slot}, {push.pipe()}, index.sizes}, {});
  ir::Erase(push.op);
}

/// Returns the op after the last op in the value's region that uses the value. If the terminator uses the
/// value, returns the terminator.
Op* AfterLastUse(const Value* value) {
  const ir::Region* region = value->def()->parent_region();
  Op* last = value->def();
  for (const ir::Use& use : value->uses()) {
    Op* user = AncestorIn(region, use.user);
    if (ComesAfter(user, last)) last = user;
  }
  return last->info().has(ir::kTerminator) ? last : last->next();
}

bool Pops(const Op* op, const Value* pipe) {
  return AnyIn(op, [&](const Op* inner) {
    bool pops = inner->kind() == OpKind::Pop || inner->kind() == OpKind::Wait;
    return pops && inner->operand(0) == pipe;
  });
}

/// Returns the op before which the slot of a tile is to be released.
Op* ReleasePlace(const Value* tile, const Value* pipe) {
  Op* after = AfterLastUse(tile);
  for (Op* op = tile->def()->next(); op != after; op = op->next()) {
    if (Pops(op, pipe)) return op;
  }
  return after;
}

void OpenPop(ir::Module& module, ir::PopOp pop) {
  ir::Builder builder(module, pop.op);
  SlotIndex index = IndexOfSlot(builder, pop.op);
  std::vector<ir::Type> types = {SlotType(builder, pop.pipe())};
  types.resize(1 + index.sizes.size(), builder.I64Type());
  Op* wait = builder.Create(OpKind::Wait, {{pop.pipe()}}, types, QuotedBy(pop.op));
  Value* slot = wait->result();
  slot->set_name(pop.pipe()->name());
  for (size_t i = 0; i < index.sizes.size(); ++i) {
    builder.Create(OpKind::Match, {{wait->result(i + 1)}, {index.sizes[i]}}, {}, QuotedBy(pop.op));
  }
  Value* tile = MakeOne(builder, OpKind::Load, {{slot}, index.operands, {}, {}},
                        pop.result()->type(), ProvenAccess(index));
  tile->set_name(pop.result()->name());
  pop.result()->ReplaceAllUsesWith(tile);
  builder.SetInsertionPoint(ReleasePlace(tile, pop.pipe()));
  builder.Create(OpKind::Release, {{slot}, {pop.pipe()}}, {});
  ir::Erase(pop.op);
}

}  // namespace

void RunLowerPipes(PassContext& context, ir::Function& kernel) {
  for (Op* op : OpsOfKind(kernel, OpKind::Push)) OpenPush(context.module, ir::PushOp(op));
  for (Op* op : OpsOfKind(kernel, OpKind::Pop)) OpenPop(context.module, ir::PopOp(op));
}

}  // namespace kdl::passes
