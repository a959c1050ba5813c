#include <algorithm>
#include <optional>

#include "ir/builder.h"
#include "ir/tensor_view.h"
#include "ir/value_size.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/passes.h"

// blend-stores: stores whole vectors where a condition selects every few elements, as in red-black sweeps. The other
// elements keep their value:
//
//   store %v to %u[%i, %j] where %m   ->   %old = load %u[%i, %j] ; store select(%m, %v, %old) to %u[%i, %j]
//
// A masked store of AVX2 takes about 3 ns on a Zen 3 (tests/bench/NOTES.md), and levels without masked stores run lane by lane. All
// elements must exist, and no other core may write those that are not selected. This also excludes dynamic loops that run
// more than once: in the next run, another core may write the other elements of a block that is not finished.

namespace kdl::cpu {

namespace {

/// Whether the same core runs a block each time that the spmd runs, or the spmd runs only once.
bool KeepsCores(const ir::Function& kernel, const Op* spmd) {
  bool is_dynamic = spmd->attr<AttrKey::Distribute>() == ir::DistributionKind::Dynamic;
  return !is_dynamic || spmd->parent_region() == kernel.body;
}

/// Returns whether the condition compares a remainder by 2 to 4 along the axis with a number.
bool Alternates(const Value* condition, AxisId axis) {
  constexpr int64_t kMostPoints = 4;
  const Op* op = condition->def();
  if (!op) return false;
  if (op->kind() == OpKind::And)
    return std::ranges::all_of(op->operands(), [&](const Value* v) { return Alternates(v, axis); });
  if (op->kind() != OpKind::Eq && op->kind() != OpKind::Ne) return false;
  return std::ranges::any_of(op->operands(), [&](const Value* side) {
    const Op* remainder = side->def();
    if (!remainder || remainder->kind() != OpKind::Rem) return false;
    int64_t divisor = passes::ConstantOf(remainder->operand(1)).value_or(0);
    return divisor >= 2 && divisor <= kMostPoints && Contains(side->type()->axes, axis);
  });
}

class StoreBlender {
 public:
  StoreBlender(ir::Module& module, ir::Function& kernel, const Op* spmd)
      : module_(module), kernel_(kernel), spmd_(spmd) {}

  bool Fits(ir::StoreOp store) const {
    bool is_plain = store.mask() && !store->HasAttr(AttrKey::Copied) &&
                    !store->HasAttr(AttrKey::Fills) && !store->HasAttr(AttrKey::Leading);
    return is_plain && IsOnlyWrite(store) && StoresOwnPoints(store) &&
           Alternates(store.mask(), store.index().back()->type()->axes[0]);
  }

  void Blend(ir::StoreOp store) const {
    ir::Builder b(module_, store.op);
    b.set_loc(store->loc());
    const AxisList& axes = store.mask()->type()->axes;
    ir::Type type = b.types().Tile(store.tensor()->type()->scalar, axes);
    std::vector<Value*> index(store.index().begin(), store.index().end());
    std::vector<ir::Attr> attrs{ir::MakeAttr<AttrKey::Access>(store->attr<AttrKey::Access>()),
                                ir::MakeAttr<AttrKey::BoundsMode>(ir::BoundsMode::Proven)};
    Value* old = passes::MakeOne(b, OpKind::Load, {{store.tensor()}, index, {}, {}}, type, attrs);
    Value* value = b.Broadcast(store.value(), axes);
    Value* blended[] = {b.Select(store.mask(), value, old)};
    store->SetSegment(ir::StoreOp::at_value, blended);
    store->SetSegment(ir::StoreOp::at_mask, {});
  }

 private:
  static bool IsOnlyWrite(ir::StoreOp store) {
    if (store.tensor()->def()) return false;  // a view, or memory that is not a parameter
    return std::ranges::all_of(ir::UsersOfMemory(store.tensor()), [&](const Op* user) {
      return user == store.op || user->kind() == OpKind::Load;
    });
  }

  /// Whether each point of the spmd, selected or not, stores an element of its own, which exists.
  bool StoresOwnPoints(ir::StoreOp store) const {
    const std::vector<Value*>& binders = spmd_->region()->params();
    const ir::Access access = store->attr<AttrKey::Access>();
    bool has_all = access.dims.size() == binders.size() && store.index().size() == binders.size() &&
                   store.mask()->type()->axes.size() == binders.size();
    if (!has_all) return false;
    std::vector<const Value*> found;
    for (size_t d = 0; d < access.dims.size(); ++d) {
      const ir::AccessDim& dim = access.dims[d];
      bool is_point = dim.terms.size() == 1 && IsConstant(dim.terms[0].coefficient, 1) &&
                      IsConstant(dim.offset);
      if (!is_point) return false;
      const Value* index = store.index()[dim.terms[0].operand];
      auto binder = std::ranges::find(binders, index);
      if (binder == binders.end() || Contains(found, index) ||
          index->type()->kind != ir::TypeKind::Block)
        return false;
      auto number = static_cast<size_t>(binder - binders.begin());
      if (!IsInside(number, dim.offset->value, store.tensor()->type()->dims[d])) return false;
      found.push_back(index);
    }
    return true;
  }

  /// Whether the indices of the binder, plus `offset`, are in a dimension of this size.
  bool IsInside(size_t binder, int64_t offset, Size size) const {
    SizeTable& sizes = module_.types().sizes();
    Size lo = ir::SizeOfValue(kernel_, sizes, spmd_->operand(2 * binder));
    Size hi = ir::SizeOfValue(kernel_, sizes, spmd_->operand(2 * binder + 1));
    if (!lo || !hi || !IsConstant(lo) || lo->value + offset < 0) return false;
    if (IsConstant(hi) && IsConstant(size)) return hi->value + offset <= size->value;
    if (hi == size) return offset <= 0;
    return hi->kind == SizeKind::Sub && hi->lhs == size && IsConstant(hi->rhs) &&
           offset <= hi->rhs->value;
  }

  ir::Module& module_;
  ir::Function& kernel_;
  const Op* spmd_;
};

}  // namespace

void RunBlendStores(PassContext& context, ir::Function& kernel) {
  if (ProcessorFactsOf(context).least_masked_bytes == 1) return;  // masked stores are fast
  for (const Op* spmd : OpsOfKind(kernel, OpKind::Spmd)) {
    if (spmd->HasAttr(AttrKey::Domain) || !KeepsCores(kernel, spmd)) continue;
    StoreBlender blender(context.module, kernel, spmd);
    std::vector<Op*> stores;
    for (Op* op : *spmd->region()) {
      if (op->kind() == OpKind::Store && blender.Fits(ir::StoreOp(op))) stores.push_back(op);
    }
    for (Op* store : stores) blender.Blend(ir::StoreOp(store));
  }
}

}  // namespace kdl::cpu
