#include "plant_fault.h"

#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/tensor_view.h"
#include "ir/views.h"

namespace kdl::fuzz {

namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

/// Returns the ops for which `matches` is true, inner ops before outer ops.
template <class Matches>
std::vector<Op*> OpsWhere(ir::Module& module, const Matches& matches) {
  std::vector<Op*> found;
  for (const ir::Function* function : module.functions()) {
    if (function->kind != ir::FunctionKind::Kernel) continue;
    ir::Walk(function->body, [&](Op* op) {
      if (matches(*op)) found.push_back(op);
    });
  }
  return found;
}

bool IsBelow(const Op* op, OpKind kind) {
  for (const Op* around = op->parent_region()->parent(); around;
       around = around->parent_region()->parent()) {
    if (around->kind() == kind) return true;
  }
  return false;
}

bool HoldsWalk(const Op& op) {
  bool holds = false;
  for (const ir::Region* region : op.regions())
    ir::Walk(region, [&](const Op* inner) { holds = holds || inner->kind() == OpKind::Spmd; });
  return holds;
}

bool IsWalk(const Op& op) { return op.kind() == OpKind::Spmd; }
bool IsStore(const Op& op) { return op.kind() == OpKind::Store; }
bool IsMasked(const Op& op) { return IsStore(op) && !op.Segment(ir::StoreOp::at_mask).empty(); }
bool IsLoopAround(const Op& op) { return op.kind() == OpKind::Loop && HoldsWalk(op); }

ir::Builder Before(ir::Module& module, Op* op) {
  ir::Builder builder(module, op->parent_region());
  builder.SetInsertionPoint(op->parent_region(), op);
  return builder;
}

/// Applies `edit` to each matching op. Returns false if no op matches.
template <class Matches, class Edit>
bool Each(ir::Module& module, const Matches& matches, const Edit& edit) {
  std::vector<Op*> ops = OpsWhere(module, matches);
  for (Op* op : ops) edit(op);
  return !ops.empty();
}

bool SyncBehindWalks(ir::Module& module) {
  auto may_wait = [](const Op& op) { return IsWalk(op) && !IsBelow(&op, OpKind::Stage); };
  return Each(module, may_wait,
              [&](Op* op) { Before(module, op->next()).Create(OpKind::Sync, {}, {}); });
}

bool OneTurn(ir::Module& module) {
  return Each(module, IsLoopAround, [&](Op* op) {
    Value* end = Before(module, op).Binary(OpKind::Add, op->operand(0), op->operand(2));
    op->SetOperand(1, end);
  });
}

/// In a loop around `spmd for` loops, replaces uses of the loop variable in the loop's body with the
/// variable's first value.
bool BoundsOfFirstTurn(ir::Module& module) {
  return Each(module, IsLoopAround, [](Op* op) {
    Value* number = op->region()->param(0);
    for (Op* inner : *op->region()) {
      for (size_t i = 0; i < inner->operands().size(); ++i) {
        if (inner->operand(i) == number) inner->SetOperand(i, op->operand(0));
      }
    }
  });
}

/// Gives the same domain to all `spmd for` loops that have loop variables of the same kinds. Other loops
/// cannot share a domain.
bool OneDomain(ir::Module& module) {
  auto unnamed = [](const Op& op) { return IsWalk(op) && !op.HasAttr(AttrKey::Domain); };
  return Each(module, unnamed, [&](Op* op) {
    std::string name = "every";
    for (const Value* binder : op->region()->params())
      name += binder->type()->kind == ir::TypeKind::Block ? "_block" : "_index";
    op->SetAttr(ir::MakeAttr<AttrKey::Domain>(module.context().names.Intern(name)));
  });
}

bool NoMaskedStores(ir::Module& module) { return Each(module, IsMasked, ir::Erase); }

bool NoMasks(ir::Module& module) {
  return Each(module, IsMasked, [](Op* op) { op->SetSegment(ir::StoreOp::at_mask, {}); });
}

bool Branch(ir::Module& module, bool taken) {
  auto is_branch = [](const Op& op) { return op.kind() == OpKind::If; };
  return Each(module, is_branch, [&](Op* op) {
    op->SetOperand(0, Before(module, op).Bits(Scalar::Bool, taken ? 1 : 0));
  });
}
bool IfsHold(ir::Module& module) { return Branch(module, true); }
bool IfsFail(ir::Module& module) { return Branch(module, false); }

/// Calls `edit(dimension)` for each dimension of the index of each store.
template <class Edit>
bool EachIndex(ir::Module& module, const Edit& edit) {
  return Each(module, IsStore, [&](Op* op) {
    ir::Access access = op->attr<AttrKey::Access>();
    for (ir::AccessDim& dim : access.dims) edit(dim);
    op->SetAttr(ir::MakeAttr<AttrKey::Access>(access));
  });
}

bool NoOffsets(ir::Module& module) {
  Size zero = module.types().sizes().Constant(0);
  return EachIndex(module, [&](ir::AccessDim& dim) { dim.offset = zero; });
}

bool Spread(ir::Module& module) {
  Size two = module.types().sizes().Constant(2);
  return EachIndex(module, [&](ir::AccessDim& dim) {
    for (ir::AccessTerm& term : dim.terms) term.coefficient = two;
  });
}

bool NoReads(ir::Module& module) {
  auto reads = [](const Op& op) {
    return op.kind() == OpKind::Load && op.result()->type()->scalar == Scalar::F32;
  };
  return Each(module, reads, [&](Op* op) {
    ir::Builder builder = Before(module, op);
    Value* one = builder.Bits(Scalar::F32, 0x3f800000);
    op->result()->ReplaceAllUsesWith(builder.Broadcast(one, op->result()->type()->axes));
    ir::Erase(op);
  });
}

bool NoStoresOfCores(ir::Module& module) {
  auto by_core = [](const Op& op) { return IsStore(op) && !IsBelow(&op, OpKind::Spmd); };
  return Each(module, by_core, ir::Erase);
}

bool WalksFromZero(ir::Module& module) {
  return Each(module, IsWalk, [&](Op* op) {
    ir::Builder builder = Before(module, op);
    for (size_t i = 0; i < op->operands().size(); i += 2) op->SetOperand(i, builder.I64(0));
  });
}

bool NoViews(ir::Module& module) {
  auto through_view = [](const Op& op) {
    const Value* tensor = IsStore(op) ? op.operand(ir::StoreOp::at_tensor) : nullptr;
    return tensor && ir::MemoryOf(tensor) != tensor;
  };
  return Each(module, through_view, ir::Erase);
}

bool NoUpdates(ir::Module& module) {
  auto is_update = [](const Op& op) { return op.kind() == OpKind::Update; };
  return Each(module, is_update, ir::Erase);
}

constexpr Fault kFaults[] = {
    {"a walk ends with a barrier", SyncBehindWalks},
    {"loops around walks have one turn", OneTurn},
    {"bounds are those of the first turn", BoundsOfFirstTurn},
    {"all walks are of one domain", OneDomain},
    {"stores under `where` are overlooked", NoMaskedStores},
    {"`where` always holds", NoMasks},
    {"`if` always holds", IfsHold},
    {"`if` never holds", IfsFail},
    {"offsets do not count", NoOffsets},
    {"indices are spread", Spread},
    {"reads are overlooked", NoReads},
    {"stores of cores are overlooked", NoStoresOfCores},
    {"walks start at 0", WalksFromZero},
    {"stores through views are overlooked", NoViews},
    {"updates are overlooked", NoUpdates},
};

}  // namespace

std::span<const Fault> Faults() { return kFaults; }

}  // namespace kdl::fuzz
