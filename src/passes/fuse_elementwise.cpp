#include <algorithm>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "ir/builder.h"
#include "ir/op_info.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "passes/analysis/axis_order.h"
#include "passes/analysis/index_conditions.h"
#include "passes/analysis/points.h"
#include "passes/analysis/reloads.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"
#include "support/check.h"

// fuse-elementwise: fuses elementwise ops of one region that have the same axes into one elementwise loop.
// Values used only inside the loop never become tiles.
//   %t = load %x[%i] ; %u = add %t, %s ; store %u to %y[%i]
//   -> elementwise (%p: i64 of %i) { %e = load %x[%p] ; %f = add %e, %s ; store %f to %y[%p] ; yield }
// Inside a loop, the ops are executed point by point. The results are the same as op by op if no point reads
// what another point writes, and if at most one op may trap, so that the first trap stays the same. An update
// gets a loop of its own, which runs element by element, so that the ops that compute its operands remain
// vectorized. Only ops that are as fast for single elements join it. A 64-lane reduction of results of a group is placed after the group's loop, and later ops may
// still join the group. The pass expand-tiles will fuse the reduction into the loop. Each loop repeats its
// loads from tensors that the kernel cannot change (analysis/reloads.h), and recomputes conditions on indices
// (analysis/index_conditions.h).

namespace kdl::passes {

namespace {

bool IsUpdate(const Op* op) { return op->kind() == OpKind::Update; }

bool IsMemory(const Op* op) { return op->kind() == OpKind::Load || op->kind() == OpKind::Store; }

bool SameAccess(const Op* a, const Op* b) {
  return std::ranges::equal(IndexOf(a), IndexOf(b)) &&
         a->attr<AttrKey::Access>() == b->attr<AttrKey::Access>();
}

/// If the dimension's index is a constant multiple of the axis's block plus an offset, returns its term,
/// otherwise null.
const ir::AccessTerm* TermOfAxis(const ir::AccessDim& dim, std::span<Value* const> index,
                                 ir::AxisId axis) {
  if (dim.terms.size() != 1) return nullptr;
  ir::Type type = index[dim.terms[0].operand]->type();
  bool is_block = type->kind == ir::TypeKind::Block && type->axes[0] == axis;
  return is_block && IsConstant(dim.terms[0].coefficient) ? &dim.terms[0] : nullptr;
}

/// Returns whether the accesses touch different elements at points that differ along the axis. This is true
/// if, in some dimension, both indices are the same multiple of the axis's block.
bool ApartAlong(const Op* a, const Op* b, ir::AxisId axis) {
  const ir::Access of_a = a->attr<AttrKey::Access>();
  const ir::Access of_b = b->attr<AttrKey::Access>();
  for (size_t d = 0; d < of_a.dims.size(); ++d) {
    const ir::AccessTerm* in_a = TermOfAxis(of_a.dims[d], IndexOf(a), axis);
    const ir::AccessTerm* in_b = TermOfAxis(of_b.dims[d], IndexOf(b), axis);
    if (in_a && in_b && of_a.dims[d].offset == of_b.dims[d].offset &&
        in_a->coefficient == in_b->coefficient && in_a->coefficient->value != 0 &&
        IndexOf(a)[in_a->operand] == IndexOf(b)[in_b->operand])
      return true;
  }
  return false;
}

/// Ops of one region that will become one loop, which runs them point by point.
struct Group {
  AxisList axes;
  std::vector<Op*> members;
  std::vector<Op*> followers;  ///< reductions of members' results, placed after the loop
  size_t overtaken = 0;        ///< number of followers that precede the last member in the source
  std::unordered_set<const Op*> set;  ///< members and followers

  bool Accepts(const Op* op) const {
    if (PointAxes(op) != axes || NeedsFollower(op)) return false;
    if (IsUpdate(members.back()) || (IsUpdate(op) && !AreCheap())) return false;
    if (MayTrap(op) && std::any_of(members.begin(), members.end(), MayTrap)) return false;
    return !IsMemory(op) || std::all_of(members.begin(), members.end(),
                                        [&](const Op* other) { return Agree(other, op); });
  }

  /// Whether computing the members for single elements takes no longer than storing vectors of them and loading their elements.
  bool AreCheap() const {
    constexpr size_t kMost = 8;
    return members.size() <= kMost && std::ranges::all_of(members, [](const Op* op) {
             if (op->kind() == OpKind::Load) return !op->HasAttr(AttrKey::Copied);
             bool is_simple =
                 op->info().is_computed() && op->kind() != OpKind::Div && op->kind() != OpKind::Rem;
             return is_simple && op->regions().empty() && !IsFloat(op->result()->type()->scalar);
           });
  }

  /// Returns whether the two ops may be in one group. Two accesses to the same tensor, one of them a write,
  /// must touch the same element at each point, or must not have any element in common, like the rows `y[0,
  /// i]` and `y[1, i]`. `out` tensors do not overlap other tensors.
  bool Agree(const Op* first, const Op* second) const {
    if (!IsMemory(first) || (first->kind() == OpKind::Load && second->kind() == OpKind::Load))
      return true;
    if (ir::MemoryOf(TensorOf(first)) != ir::MemoryOf(TensorOf(second))) return true;
    if (TensorOf(first) != TensorOf(second)) return false;
    return SameAccess(first, second) || std::ranges::all_of(axes, [&](ir::AxisId axis) {
             return ApartAlong(first, second, axis);
           });
  }

  bool Feeds(const Op* op) const {
    std::vector<Value*> used = OutsideOperands(op);
    return std::any_of(used.begin(), used.end(),
                       [&](const Value* v) { return v->def() && set.contains(v->def()); });
  }

  bool NeedsFollower(const Op* op) const {
    std::vector<Value*> used = OutsideOperands(op);
    return std::any_of(used.begin(), used.end(),
                       [&](const Value* operand) { return Contains(followers, operand->def()); });
  }

  void Add(Op* op) {
    if (members.empty()) axes = PointAxes(op);
    members.push_back(op);
    set.insert(op);
    overtaken = followers.size();
  }

  void Follow(Op* fold) {
    followers.push_back(fold);
    set.insert(fold);
  }
};

/// Returns the axes of the loop, outermost first. If an op may trap, they keep the order of the ops' axes, so
/// that the first trap stays the same. Updates also require this order, because several of them may change
/// the same element.
AxisList LoopOrder(const Group& group, const AxisOrder& order) {
  bool in_order = std::any_of(group.members.begin(), group.members.end(),
                              [](const Op* op) { return IsUpdate(op) || MayTrap(op); });
  return in_order ? group.axes : order.Sorted(group.axes);
}

/// Rewrites one group into an elementwise loop and places the loop before the group's last member.
class ElementwiseLoopMaker {
 public:
  ElementwiseLoopMaker(ir::Module& module, const Group& group, const AxisOrder& order,
                       const Reloads& reloads, const IndexConditions& conditions, bool keeps_named)
      : module_(module),
        keeps_named_(keeps_named),
        group_(group),
        reloads_(reloads),
        conditions_(conditions),
        order_(LoopOrder(group, order)),
        inner_(module) {}

  void MakeElementwise() {
    Op* last = group_.members.back();
    std::vector<Value*> leaving = Leaving();
    std::vector<Value*> blocks;
    for (ir::AxisId axis : order_) blocks.push_back(ir::FindBlock(last, axis));
    ir::Builder builder(module_, last);
    Op* elementwise = builder.Create(OpKind::Elementwise, {blocks}, TypesOf(leaving));
    ir::Region* body = elementwise->region();
    inner_.SetInsertionPoint(body);
    for (size_t i = 0; i < order_.size(); ++i) {
      points_[order_[i]] =
          inner_.AddParam(body, module_.types().ScalarOf(Scalar::I64), blocks[i]->name());
    }
    for (Op* member : group_.members) Copy(member);
    std::vector<Value*> yielded;
    for (Value* value : leaving) yielded.push_back(map_.at(value));
    inner_.Create(OpKind::Yield, {yielded}, {});
    for (size_t i = 0; i < leaving.size(); ++i) {
      elementwise->result(i)->set_name(leaving[i]->name());
      leaving[i]->ReplaceAllUsesWith(elementwise->result(i));
    }
    for (size_t i = 0; i < group_.overtaken; ++i) MoveBefore(group_.followers[i], last);
    for (auto it = group_.members.rbegin(); it != group_.members.rend(); ++it) ir::Erase(*it);
  }

 private:
  static void MoveBefore(Op* op, Op* place) {
    ir::Region* region = op->parent_region();
    region->Remove(op);
    region->InsertBefore(op, place);
  }

  bool IsInside(const Op* op) const {
    return Contains(group_.members, AncestorIn(group_.members[0]->parent_region(), op));
  }

  /// Returns the results that ops outside of the loop use, or that are kept because the source names them.
  std::vector<Value*> Leaving() const {
    std::vector<Value*> leaving;
    for (const Op* op : group_.members) {
      for (Value* result : op->results()) {
        bool outside = std::any_of(result->uses().begin(), result->uses().end(),
                                   [&](const ir::Use& use) { return !IsInside(use.user); });
        bool is_kept = keeps_named_ && !result->name().empty() && !result->type()->axes.empty();
        if (outside || is_kept) leaving.push_back(result);
      }
    }
    return leaving;
  }

  Value* Point(ir::AxisId axis) { return points_.at(axis); }

  /// Returns the operand's value at the current point.
  Value* At(Value* operand) {
    if (auto found = map_.find(operand); found != map_.end()) return found->second;
    ir::Type type = operand->type();
    if (type->kind == ir::TypeKind::Block) return Point(type->axes[0]);
    if (!ir::IsTile(type) || type->axes.empty()) return operand;
    if (IsIndices(operand)) return Point(type->axes[0]);
    if (Op* load = reloads_.RepeatedLoad(operand)) return Reloaded(load);
    if (Op* condition = conditions_.OpOf(operand)) return Remade(condition);
    std::vector<Value*> point;
    for (ir::AxisId axis : type->axes) point.push_back(Point(axis));
    Op* element = inner_.Create(OpKind::Element, {{operand}, point},
                                {module_.types().ScalarOf(type->scalar)});
    return map_[operand] = element->result();
  }

  /// Returns the element of a tile that a sliding window has at the current point.
  Value* Neighbor(const Op* window) {
    Value* tile = window->operand(0);
    const AxisList over = window->attr<AttrKey::Axes>();
    std::vector<Value*> point;
    for (ir::AxisId axis : tile->type()->axes) {
      auto at = std::ranges::find(over, axis);
      point.push_back(at == over.end() ? Point(axis)
                                       : Index(window, static_cast<size_t>(at - over.begin())));
    }
    return inner_
        .Create(OpKind::Element, {{tile}, point}, {module_.types().ScalarOf(tile->type()->scalar)})
        ->result();
  }

  /// Returns the index of a sliding window along one of its axes. The offset is added last, so that it can
  /// become part of an address.
  Value* Index(const Op* window, size_t dim) {
    ir::Access access = window->attr<AttrKey::Access>();
    auto blocks = window->Segment(ir::SlidingWindowOp::at_index);
    Value* sum = nullptr;
    for (const ir::AccessTerm& term : access.dims[dim].terms) {
      Value* index = Point(blocks[term.operand]->type()->axes[0]);
      if (!IsConstant(term.coefficient, 1))
        index = inner_.Mul(inner_.SizeValue(term.coefficient), index);
      sum = sum ? inner_.Add(sum, index) : index;
    }
    Size offset = access.dims[dim].offset;
    if (sum && IsConstant(offset, 0)) return sum;
    Value* constant = inner_.SizeValue(offset);
    return sum ? inner_.Add(sum, constant) : constant;
  }

  Value* Remade(Op* op) {
    ir::Loc here = inner_.loc();
    Copy(op);
    inner_.set_loc(here);
    return map_.at(op->result());
  }

  Value* Reloaded(Op* load) {
    const Op* kept = reloads_.KeptTwin(load);
    return kept && map_.contains(kept->result()) ? map_.at(kept->result()) : Remade(load);
  }

  void Copy(Op* member) {
    inner_.set_loc(member->loc());
    if (member->kind() == OpKind::Iota || member->kind() == OpKind::Broadcast) {
      map_[member->result()] = At(member->operand(0));
      return;
    }
    if (member->kind() == OpKind::SlidingWindow) {
      map_[member->result()] = Neighbor(member);
      return;
    }
    // Values that are used in the op's regions are read once, before the op.
    if (!member->regions().empty()) {
      for (Value* used : OutsideOperands(member)) At(used);
    }
    auto segments = SegmentsOf(member, [this](Value* operand) { return At(operand); });
    std::vector<ir::Type> types;
    for (Value* result : member->results())
      types.push_back(module_.types().ScalarOf(result->type()->scalar));
    Op* copy = inner_.Create(member->kind(), segments, types, member->attrs());
    StandFor(member, copy, map_);
    for (size_t r = 0; r < member->regions().size(); ++r)
      CopyRegion(member->region(r), copy->region(r));
  }

  void CopyRegion(const ir::Region* from, ir::Region* to) {
    ir::Region* around = inner_.region();
    inner_.SetInsertionPoint(to);
    for (const Value* param : from->params()) {
      ir::Type scalar = module_.types().ScalarOf(param->type()->scalar);
      map_[param] = inner_.AddParam(to, scalar, param->name());
    }
    for (Op* op : *from) Copy(op);
    inner_.SetInsertionPoint(around);
  }

  ir::Module& module_;
  bool keeps_named_;
  const Group& group_;
  const Reloads& reloads_;
  const IndexConditions& conditions_;
  AxisList order_;
  ir::Builder inner_;
  ir::ValueMap map_;
  std::unordered_map<ir::AxisId, Value*> points_;
};

/// Returns whether an op that is not a member of the group may precede all members, whose loop follows it. A
/// load of a scalar may if no member stores to its tensor, and if the first trap stays the same. So may the check of an index.
bool MayPrecede(const Group& group, const Op* op) {
  if (!op->regions().empty()) return false;
  if (op->info().has(ir::kPure)) return true;
  if (op->kind() == OpKind::Check) return std::ranges::none_of(group.members, MayTrap);
  if (op->kind() != OpKind::Load || op->HasAttr(AttrKey::Copied)) return false;
  return std::ranges::none_of(group.members, [&](const Op* member) {
    bool is_store = member->kind() == OpKind::Store || IsUpdate(member);
    bool is_trap_earlier = MayTrap(op) && (is_store || MayTrap(member));
    return is_trap_earlier ||
           (is_store && ir::MemoryOf(TensorOf(member)) == ir::MemoryOf(TensorOf(op)));
  });
}

bool FoldsInLanes(const Op* op) {
  return op->HasAttr(AttrKey::Order) && op->attr<AttrKey::Order>() == ir::OrderKind::Lanes64;
}

class Former {
 public:
  Former(ir::Module& module, const ir::Function& kernel, bool keeps_named)
      : module_(module),
        keeps_named_(keeps_named),
        order_(kernel),
        reloads_(module, kernel, order_, keeps_named),
        conditions_(kernel) {}

  void FormElementwise(ir::Region* body) {
    FormInRegion(body);
    EraseRemade(body);
  }

 private:
  void FormInRegion(const ir::Region* region) {
    Group group;
    auto close = [&] {
      if (!group.members.empty())
        ElementwiseLoopMaker(module_, group, order_, reloads_, conditions_, keeps_named_)
            .MakeElementwise();
      group = {};
    };
    for (Op* op : *region) {
      if (!op->results().empty() && reloads_.RepeatedLoad(op->result())) continue;
      if (conditions_.Has(op)) continue;
      bool is_pointwise = IsPointwise(op) || IsNeighborRead(op);
      for (const ir::Region* nested : op->regions()) {
        if (!is_pointwise) FormInRegion(nested);
      }
      if (is_pointwise) {
        bool is_apart = !group.members.empty() && (!group.Accepts(op) || IsNextLine(group, op) ||
                                                   RemakesOfFollower(group, op));
        if (is_apart) close();
        group.Add(op);
      } else if (FoldsInLanes(op) && !group.NeedsFollower(op) && group.Feeds(op)) {
        group.Follow(op);
      } else if (!MayPrecede(group, op) || group.Feeds(op)) {
        close();
      }
    }
    close();
  }

  /// Returns whether the op is on another line of the kernel than the group, so that debuggers must see the tiles of the
  /// group before it.
  bool IsNextLine(const Group& group, const Op* op) const {
    return keeps_named_ && LineInKernel(group.members.back()->loc()) != LineInKernel(op->loc());
  }

  /// Returns the line of the op or, if it is from an inlined fn, the line of the call.
  static uint32_t LineInKernel(ir::Loc loc) {
    while (loc.call) loc = loc.call->at;
    return loc.line;
  }

  /// Returns whether a load or condition that the loop repeats for `op` depends on a follower of the group.
  bool RemakesOfFollower(const Group& group, const Op* op) const {
    return std::ranges::any_of(OutsideOperands(op), [&](Value* used) {
      const Op* made = ir::IsTile(used->type()) ? reloads_.RepeatedLoad(used) : nullptr;
      if (!made) made = conditions_.OpOf(used);
      return made && (group.NeedsFollower(made) || RemakesOfFollower(group, made));
    });
  }

  /// Erases the original ops that the loops now repeat. Such ops may use one another, so users are erased
  /// first.
  void EraseRemade(const ir::Region* body) {
    std::vector<Op*> remade = OpsIn(body, [&](const Op* op) {
      bool is_load = !op->results().empty() && reloads_.RepeatedLoad(op->result());
      return is_load || conditions_.Has(op);
    });
    for (auto op = remade.rbegin(); op != remade.rend(); ++op) ir::Erase(*op);
  }

  ir::Module& module_;
  bool keeps_named_;
  AxisOrder order_;
  Reloads reloads_;
  IndexConditions conditions_;
};

}  // namespace

void RunFuseElementwise(PassContext& context, ir::Function& kernel) {
  Former(context.module, kernel, context.keeps_tiles).FormElementwise(kernel.body);
}

}  // namespace kdl::passes
