#include <cstdint>
#include <optional>
#include <vector>

#include "ir/busy_cores.h"
#include "ir/element_walk.h"
#include "ir/eval/eval.h"
#include "ir/tensor_view.h"
#include "ir/value_size.h"
#include "ir/views.h"
#include "passes/analysis/pipe_ends.h"
#include "passes/analysis/points.h"
#include "passes/groups/group_parts.h"
#include "passes/rewriting/element_access.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"
#include "targets/cpu/passes.h"

// privatize-updates: makes each core collect its updates of an integer tensor in private memory while it
// processes its blocks. Afterwards, each core updates the tensor once. The order of integer updates does not
// affect the result, so reductions over groups of blocks become such updates, too, unless they are split into
// tiles.
//
//   spmd (…) { … update %v into %t[%e] {how = add, scope = launch} … }
//   -> %own = launch_tensor "t" : tensor<i32,[core_num * pays, 2, sizes of t]>
//      spmd (%core in 0 .. core_num * pays) { fill %own[%core, 0, …] with the identity }
//      spmd (…) {
//        … if (pays) { update %v into %own[core_id, 0, %e] {how = add, scope = core} }
//          else { update %v into %t[%e] {how = add, scope = launch} } …
//      }
//      spmd (%core in 0 .. core_num * pays) {
//        update %own[%core, 0, …] into %t[…] {how = add, scope = launch} where it is not the identity
//      }
//
// In a domain of core_num blocks, each core gets the block with its own number. `pays` is 1 if there are
// several updates for each element that is filled and merged, otherwise 0.

namespace kdl::cpu {

namespace {

using ir::BoundsMode;
using ir::MakeAttr;
using ir::ScopeKind;
using ir::UpdateKind;

/// Returns the bits of a value with which an update has no effect. Returns nothing if there is no such value.
std::optional<uint64_t> NeutralBits(UpdateKind how, Scalar scalar) {
  bool has = IsInteger(scalar) && how != UpdateKind::Set;
  return has ? std::optional(ir::UpdateIdentity(how, scalar)) : std::nullopt;
}

/// Returns the updates of the tensor's memory in the spmd. Returns nothing if anything else accesses that
/// memory, or if the updates have different operators.
std::vector<ir::UpdateOp> OnlyUpdatesOf(const Op* spmd, const Value* tensor) {
  std::vector<ir::UpdateOp> updates;
  bool only = true;
  ir::Walk(spmd->region(), [&](Op* op) {
    for (const Value* operand : op->operands()) {
      if (operand->type()->kind != ir::TypeKind::Tensor) continue;
      if (ir::MemoryOf(operand) != ir::MemoryOf(tensor)) continue;
      auto update = ir::DynAs<ir::UpdateOp>(op);
      only = only && update && operand == tensor &&
             (updates.empty() || updates[0]->attr<AttrKey::How>() == op->attr<AttrKey::How>());
      if (update) updates.push_back(*update);
    }
  });
  if (!only) updates.clear();
  return updates;
}

bool HasScope(ir::UpdateOp update, ScopeKind scope) {
  return update->attr<AttrKey::Scope>() == scope;
}

class Privatizer {
 public:
  Privatizer(ir::Module& module, ir::Function& kernel, Op* spmd)
      : kernel_(kernel), types_(module.types()), builder_(module), spmd_(spmd) {}

  void PrivatizeAll() {
    std::vector<Value*> tensors;
    ir::Walk(spmd_->region(), [&](Op* op) {
      if (op->kind() != OpKind::Update) return;
      Value* tensor = ir::UpdateOp(op).tensor();
      if (!Contains(tensors, tensor)) tensors.push_back(tensor);
    });
    for (Value* tensor : tensors) {
      std::vector<ir::UpdateOp> updates = OnlyUpdatesOf(spmd_, tensor);
      if (!updates.empty()) Privatize(tensor, updates);
    }
    bool grouped = spmd_->attr<AttrKey::Distribute>() == ir::DistributionKind::Grouped;
    // If the spmd has a named domain, its distribution must not change: all spmds over a domain are
    // distributed in the same way, and another one may have groups.
    bool alone = !spmd_->HasAttr(AttrKey::Domain);
    if (grouped && alone && !HasGroups())
      spmd_->SetAttr(MakeAttr<AttrKey::Distribute>(ir::DistributionKind::Static));
  }

 private:
  bool HasGroups() const {
    return AnyBelow(spmd_->region(), [](Op* op) {
      return op->kind() == OpKind::Update && HasScope(ir::UpdateOp(op), ScopeKind::Group);
    });
  }

  void Privatize(Value* tensor, const std::vector<ir::UpdateOp>& updates) {
    auto how = updates[0]->attr<AttrKey::How>();
    std::optional<uint64_t> neutral = NeutralBits(how, tensor->type()->scalar);
    if (!neutral) return;
    builder_.StandAt(spmd_);
    if (HasScope(updates[0], ScopeKind::Group)) {
      if (spmd_->HasAttr(AttrKey::Kept)) return;  // groups need little memory
      if (IsOpenBefore(kernel_, spmd_, tensor)) builder_.Create(OpKind::Sync, {}, {});
      for (ir::UpdateOp update : updates)
        update->SetAttr(MakeAttr<AttrKey::Scope>(ScopeKind::Launch));
    }
    Size points = LeastUpdates(updates[0]);
    if (!points) return;
    Own own = MakeOwn(tensor, how, *neutral, points);
    ForRows(own, [&](const Place&, const Place& in_own, const ir::AxisList&) {
      Value* value = builder_.Bits(tensor->type()->scalar, own.neutral);
      StoreAt(builder_, value, own.memory, in_own);
    });
    builder_.SetInsertionPoint(spmd_->parent_region(), spmd_->next());
    ForRows(own, [&](const Place& place, const Place& in_own, const ir::AxisList& axes) {
      Empty(own, place, in_own, axes);
    });
    for (ir::UpdateOp update : updates) Redirect(update, own);
  }

  /// The private memory of the cores for one tensor.
  struct Own {
    Value* tensor;
    UpdateKind how;
    uint64_t neutral;
    Value* memory = nullptr;
    Value* rows = nullptr;  ///< core_num, or 0 if private memory does not save time
  };

  /// Returns a lower bound on the number of updates that one op makes in the spmd: one update for each point
  /// of the spmd's blocks. Returns null if sizes do not determine the number.
  Size LeastUpdates(ir::UpdateOp update) {
    SizeTable& sizes = types_.sizes();
    ir::AxisList axes = PointAxes(update.op);
    Size points = sizes.Constant(1);
    for (size_t b = 0; b < spmd_->region()->params().size(); ++b) {
      ir::Type binder = spmd_->region()->param(b)->type();
      Size number = ir::BlocksOfBinders(kernel_, sizes, spmd_, b, b + 1);
      if (!number) return nullptr;
      bool each = binder->kind == ir::TypeKind::Block && Contains(axes, binder->axes[0]);
      if (each) number = ir::SizeOfValue(kernel_, sizes, spmd_->operand(2 * b + 1));
      points = sizes.Binary(SizeKind::Mul, points, number);
    }
    return points;
  }

  /// Allocates a row of private memory for each core. Each row is followed by unused memory, so that no two
  /// cores share a cache line. The unused memory is as large as the row, but at least as large as a cache
  /// line.
  Own MakeOwn(Value* tensor, UpdateKind how, uint64_t neutral, Size points) {
    // Filling and merging an element costs about as much as three updates of memory that other cores may also
    // update. So private memory saves time if there are at least four updates for each element.
    constexpr int64_t kUpdatesAnElement = 4;
    constexpr int64_t kLine = 64;
    SizeTable& sizes = types_.sizes();
    auto binary = [&](SizeKind kind, Size a, Size b) { return sizes.Binary(kind, a, b); };
    Size one = sizes.Constant(1);
    Size cores = sizes.Symbol(builder_.module().context().names.Intern(ir::kCoreNum));
    Size elements = one;
    for (Size dim : tensor->type()->dims) elements = binary(SizeKind::Mul, elements, dim);
    Size wanted = binary(SizeKind::Mul, binary(SizeKind::Mul, elements, cores),
                         sizes.Constant(kUpdatesAnElement));
    Size times = binary(SizeKind::FloorDiv, points, binary(SizeKind::Add, wanted, one));
    Size rows = binary(SizeKind::Mul, cores, binary(SizeKind::Min, times, one));
    Size lines =
        binary(SizeKind::FloorDiv, sizes.Constant(kLine), binary(SizeKind::Add, elements, one));
    Size gap = binary(SizeKind::Mul, lines, sizes.Constant(2));
    std::vector<Size> dims = {rows, binary(SizeKind::Add, gap, sizes.Constant(2))};
    dims.insert(dims.end(), tensor->type()->dims.begin(), tensor->type()->dims.end());
    Own own{tensor, how, neutral};
    own.memory =
        builder_.Make(OpKind::LaunchTensor, {}, types_.Tensor(tensor->type()->scalar, dims),
                      {MakeAttr<AttrKey::Name>(tensor->name())});
    // There are never more rows than updates. The minimum states this explicitly, so that the number of cores
    // with a row has a known limit.
    Value* as_many = builder_.SizeValue(rows);
    own.rows = builder_.Min(as_many, builder_.SizeValue(points));
    return own;
  }

  /// Returns the location, in a core's row, that corresponds to `place` of the tensor.
  Place InOwn(const Place& place, Value* core) {
    SizeTable& sizes = types_.sizes();
    Place own = place;
    auto operand = static_cast<uint32_t>(place.index.size());
    own.access.dims.insert(own.access.dims.begin(),
                           {ir::AccessDim{{{sizes.Constant(1), operand}}, sizes.Constant(0)},
                            ir::AccessDim{{}, sizes.Constant(0)}});
    own.index.push_back(core);
    return own;
  }

  /// Emits an spmd with one block for each core. `body` emits the code for the elements of the core's row.
  template <typename Body>
  void ForRows(const Own& own, Body body) {
    ir::Region* here = builder_.region();
    Op* before = builder_.before();
    Op* walk = builder_.Create(OpKind::Spmd, {{builder_.I64(0), own.rows}}, {},
                               {MakeAttr<AttrKey::Distribute>(ir::DistributionKind::Static)});
    Value* core = builder_.AddParam(walk->region(), types_.ScalarOf(Scalar::I64),
                                    builder_.module().context().names.Intern("core"));
    builder_.SetInsertionPoint(walk->region());
    ir::ElementWalk elements = ir::MakeElementLoops(builder_, kernel_, own.tensor->type());
    Place place{elements.access, elements.index};
    body(place, InOwn(place, core), elements.axes);
    if (elements.op != nullptr) builder_.Create(OpKind::Yield, {{}}, {});
    builder_.SetInsertionPoint(walk->region());
    builder_.Create(OpKind::Yield, {{}}, {});
    builder_.SetInsertionPoint(here, before);
  }

  void Empty(const Own& own, const Place& place, const Place& in_own, const ir::AxisList& axes) {
    Scalar scalar = own.tensor->type()->scalar;
    Value* value = LoadAt(builder_, own.memory, in_own, axes);
    Value* counts = builder_.Ne(value, builder_.Bits(scalar, own.neutral));
    builder_.Create(
        OpKind::Update, {{value}, {own.tensor}, place.index, {counts}}, {},
        {MakeAttr<AttrKey::Access>(place.access), MakeAttr<AttrKey::BoundsMode>(BoundsMode::Proven),
         MakeAttr<AttrKey::How>(own.how), MakeAttr<AttrKey::Scope>(ScopeKind::Launch)});
  }

  void Redirect(ir::UpdateOp update, const Own& own) {
    builder_.StandAt(update.op);
    Value* pays = builder_.Lt(builder_.I64(0), own.rows);
    Op* branch = MakeBranch(builder_, pays);
    builder_.SetInsertionPoint(branch->region(0)->terminator());
    Value* core = builder_.CoreId();
    Place place = InOwn(
        {update->attr<AttrKey::Access>(), {update.index().begin(), update.index().end()}}, core);
    std::vector<ir::Attr> attrs = {
        MakeAttr<AttrKey::Access>(place.access), MakeAttr<AttrKey::Leading>(2),
        MakeAttr<AttrKey::BoundsMode>(update->attr<AttrKey::BoundsMode>()),
        MakeAttr<AttrKey::How>(own.how), MakeAttr<AttrKey::Scope>(ScopeKind::Core)};
    if (const ir::Attr* text = update->FindAttr(AttrKey::Text)) attrs.push_back(*text);
    builder_.Create(OpKind::Update,
                    {{update.value()}, {own.memory}, place.index, OneOrNone(update.mask())}, {},
                    std::move(attrs));
    MoveInto(branch->region(1), update.op);
  }

  ir::Function& kernel_;
  ir::TypeTable& types_;
  ir::Builder builder_;
  Op* spmd_;
};

}  // namespace

void RunPrivatizeUpdates(PassContext& context, ir::Function& kernel) {
  for (Op* op : OpsOfKind(kernel, OpKind::Spmd)) {
    if (!StageOf(op)) Privatizer(context.module, kernel, op).PrivatizeAll();
  }
}

}  // namespace kdl::cpu
