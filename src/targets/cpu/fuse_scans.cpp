#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/builder.h"
#include "ir/op_info.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "passes/analysis/axis_order.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/analysis/kernel_shape.h"
#include "targets/cpu/passes.h"

// fuse-scans: turns a scan into a part of an elementwise loop, together with the elementwise loop that makes
// its operands and the one that uses its results. Then neither operands nor results need a tile, and the
// accumulators stay in registers.
//
//   %t = elementwise (%p in %c, %q in %r) { %x = load %x[%q, %p] ; yield %x }
//   %s = scan carry(%a = 0) (%b in %t) {axes = (c)} { … yield %n }
//   elementwise (%p in %c, %q in %r) { %e = element %s at (…) ; store %e to %y[%q, %p] }
//   ->
//   elementwise (%p in %c, %q in %r) {
//     %x = load %x[%q, %p]
//     %e = scan_in_loop carry(%a = 0) (%b in %x) {axes = (c)} { … yield %n }
//     store %e to %y[%q, %p] }
//
// The loops are fused only if they visit the same points, nothing between them writes, and no point reads what
// another point writes. A scan that may trap, and loops that may trap, stay separate, so that the first trap
// remains the first. So does a scan whose results a contraction reads, because that needs a layout in groups.

namespace kdl::cpu {

namespace {

bool WritesElements(const Op* op) {
  return op->kind() == OpKind::Store || op->kind() == OpKind::Update;
}

/// Whether `op` neither writes nor waits, so that loads may move past it.
bool IsQuiet(const Op* op) {
  return !AnyIn(op, [](const Op* inner) {
    const ir::OpInfo& info = inner->info();
    return info.has(ir::kActs) || info.has(ir::kSuspends) || info.has(ir::kSyncs);
  });
}

/// The loops to fuse with a scan; null if there are none.
struct Neighbors {
  Op* before = nullptr;  ///< the loop that makes operands of the scan
  Op* after = nullptr;   ///< the loop that uses its results
};

class ScanFuser {
 public:
  ScanFuser(ir::Module& module, const ir::Function& kernel) : module_(module), order_(kernel) {}

  void Fuse(Op* scan) {
    if (!MayBeInLoop(scan)) return;
    Neighbors neighbors{LoopBefore(scan), LoopAfter(scan)};
    if (neighbors.after && neighbors.before && !MayBeJoined(neighbors)) neighbors.after = nullptr;
    if (neighbors.before && !MayMoveTo(neighbors.before, scan, Place(scan, neighbors)))
      neighbors.before = nullptr;
    Join(scan, neighbors);
  }

 private:
  static Op* Place(Op* scan, const Neighbors& neighbors) {
    return neighbors.after ? neighbors.after : scan;
  }

  bool MayBeInLoop(const Op* scan) const {
    if (AnyBelow(scan->region(), MayTrap)) return false;
    return std::ranges::all_of(scan->results(), [](const Value* result) {
      return std::ranges::none_of(result->uses(), [](const ir::Use& use) {
        return use.user->kind() == OpKind::Contraction;
      });
    });
  }

  /// Whether the op is an elementwise loop over the scan's points that may be fused with it.
  bool IsLoopOver(const Op* loop, const Op* scan) const {
    if (!loop || loop->kind() != OpKind::Elementwise ||
        loop->parent_region() != scan->parent_region() ||
        WalkedAxes(loop) != order_.Sorted(scan->operand(0)->type()->axes))
      return false;
    return !AnyBelow(loop->region(), [&](const Op* op) {
      bool differs = op->kind() == OpKind::ScanInLoop &&
                     (op->attr<AttrKey::Axes>() != scan->attr<AttrKey::Axes>() ||
                      op->attr<AttrKey::Direction>() != scan->attr<AttrKey::Direction>());
      return differs || MayTrap(op) || op->kind() == OpKind::ReduceInLoop ||
             op->kind() == OpKind::Update || op->kind() == OpKind::Prefetch;
    });
  }

  Op* LoopBefore(const Op* scan) const {
    for (const Value* value : scan->Segment(ir::ScanOp::at_values)) {
      if (IsLoopOver(value->def(), scan)) return value->def();
    }
    return nullptr;
  }

  /// Whether the loop reads only the elements of tiles that belong to its current point.
  static bool ReadsOwnElements(const Op* loop) {
    AxisList walked = WalkedAxes(loop);
    return !AnyBelow(loop->region(), [&](const Op* op) {
      if (op->kind() != OpKind::Element) return false;
      auto point = op->Segment(ir::ElementOp::at_point);
      for (size_t i = 0; i < point.size(); ++i) {
        bool is_own = point[i]->parent_region() == loop->region() &&
                      walked[point[i]->index()] == op->operand(0)->type()->axes[i];
        if (!is_own) return true;
      }
      return false;
    });
  }

  /// Returns the first op that uses the scan's results, if it may be fused with the scan.
  Op* LoopAfter(const Op* scan) const {
    for (Op* op = scan->next(); op; op = op->next()) {
      if (UsesResultsOf(op, scan))
        return IsLoopOver(op, scan) && ReadsOwnElements(op) ? op : nullptr;
      if (!IsQuiet(op)) return nullptr;
    }
    return nullptr;
  }

  static bool UsesResultsOf(const Op* op, const Op* maker) {
    return AnyIn(op, [&](const Op* inner) {
      return std::ranges::any_of(inner->operands(),
                                 [&](const Value* operand) { return operand->def() == maker; });
    });
  }

  /// Whether the loop before a scan may run at `place`, immediately before the rest of the fused loop.
  static bool MayMoveTo(const Op* loop, const Op* scan, const Op* place) {
    bool writes = AnyBelow(loop->region(), WritesElements);
    for (const Op* op = loop->next(); op != place; op = op->next()) {
      bool is_in_way = op != scan && (UsesResultsOf(op, loop) || !IsQuiet(op) ||
                                      (writes && !op->info().has(ir::kPure)));
      if (is_in_way) return false;
    }
    return true;
  }

  /// Whether no point of one loop accesses what another point of the other loop writes.
  static bool MayBeJoined(const Neighbors& neighbors) {
    for (const Op* first : *neighbors.before->region()) {
      for (const Op* second : *neighbors.after->region()) {
        bool accesses = first->HasAttr(AttrKey::Access) && second->HasAttr(AttrKey::Access);
        if (!accesses || !(WritesElements(first) || WritesElements(second))) continue;
        bool apart = ir::MemoryOf(TensorOf(first)) != ir::MemoryOf(TensorOf(second));
        if (!apart && !AccessSameElement(first, second)) return false;
      }
    }
    return true;
  }

  /// Whether both accesses, in loops over the same axes, access the same element at each point.
  static bool AccessSameElement(const Op* first, const Op* second) {
    auto same = [&](const Value* a, const Value* b) {
      bool points = a->parent_region() == first->parent_region() && !a->def() &&
                    b->parent_region() == second->parent_region() && !b->def();
      return points ? a->index() == b->index() : a == b;
    };
    return TensorOf(first) == TensorOf(second) &&
           first->attr<AttrKey::Access>() == second->attr<AttrKey::Access>() &&
           std::ranges::equal(IndexOf(first), IndexOf(second), same);
  }

  /// Makes the fused loop and replaces the results of the scan and of the loops.
  void Join(Op* scan, const Neighbors& neighbors) {
    Op* place = Place(scan, neighbors);
    b_.emplace(module_, place);
    std::vector<Value*> blocks;
    for (ir::AxisId axis : order_.Sorted(scan->operand(0)->type()->axes))
      blocks.push_back(ir::FindBlock(place, axis));
    std::vector<const Op*> parts = {neighbors.before, scan, neighbors.after};
    std::erase(parts, nullptr);
    std::vector<Value*> leaving;
    for (const Op* part : parts) {
      for (Value* result : part->results()) {
        if (IsUsedOutside(result, parts)) leaving.push_back(result);
      }
    }
    loop_ = b_->Create(OpKind::Elementwise, {blocks}, TypesOf(leaving));
    for (const Value* block : blocks) b_->AddParam(loop_->region(), b_->I64Type(), block->name());
    points_.clear();
    b_->SetInsertionPoint(loop_->region());
    for (const Op* part : parts) part == scan ? TakeScan(scan) : TakeLoop(part);
    std::vector<Value*> yielded;
    for (Value* result : leaving) yielded.push_back(points_.at(result));
    b_->Create(OpKind::Yield, {yielded}, {});
    for (size_t i = 0; i < leaving.size(); ++i) {
      loop_->result(i)->set_name(leaving[i]->name());
      leaving[i]->ReplaceAllUsesWith(loop_->result(i));
    }
    for (auto part = parts.rbegin(); part != parts.rend(); ++part)
      ir::Erase(const_cast<Op*>(*part));
  }

  static bool IsUsedOutside(const Value* result, const std::vector<const Op*>& parts) {
    return std::ranges::any_of(result->uses(), [&](const ir::Use& use) {
      return std::ranges::none_of(parts, [&](const Op* part) { return IsInside(use.user, part); });
    });
  }

  /// Moves the body of an elementwise loop to the end of the fused loop.
  void TakeLoop(const Op* part) {
    for (size_t i = 0; i < part->operands().size(); ++i)
      part->region()->param(i)->ReplaceAllUsesWith(loop_->region()->param(i));
    Op* yield = part->region()->terminator();
    for (size_t i = 0; i < part->results().size(); ++i)
      points_[part->result(i)] = yield->operand(i);
    ir::Erase(yield);
    MoveOps(const_cast<Op*>(part)->region(), loop_->region());
    for (Op* op : OpsIn(loop_->region(), [&](const Op* op) {
           return op->kind() == OpKind::Element && points_.contains(op->operand(0));
         })) {
      Replace(op->result(), points_.at(op->operand(0)));
      ir::Erase(op);
    }
  }

  void Replace(Value* old, Value* value) {
    for (auto& [tile, point] : points_) {
      if (point == old) point = value;
    }
    old->ReplaceAllUsesWith(value);
  }

  void TakeScan(Op* scan) {
    b_->set_loc(scan->loc());
    std::vector<Value*> values;
    std::vector<ir::Type> types;
    for (Value* value : scan->Segment(ir::ScanOp::at_values)) {
      values.push_back(PointOf(value));
      types.push_back(module_.types().ScalarOf(value->type()->scalar));
    }
    auto inits = scan->Segment(ir::ScanOp::at_inits);
    Op* in_loop = b_->Create(OpKind::ScanInLoop, {values, {inits.begin(), inits.end()}}, types,
                             scan->attrs());
    for (Value* param : scan->region()->params())
      param->ReplaceAllUsesWith(b_->AddParam(in_loop->region(), param->type(), param->name()));
    MoveOps(scan->region(), in_loop->region());
    for (size_t i = 0; i < types.size(); ++i) {
      in_loop->result(i)->set_name(scan->result(i)->name());
      points_[scan->result(i)] = in_loop->result(i);
    }
  }

  /// Returns the element of an operand of the scan at the fused loop's current point.
  Value* PointOf(Value* tile) {
    if (auto found = points_.find(tile); found != points_.end()) return found->second;
    AxisList walked = WalkedAxes(loop_);
    std::vector<Value*> point;
    for (ir::AxisId axis : tile->type()->axes) {
      auto number = std::ranges::find(walked, axis) - walked.begin();
      point.push_back(loop_->region()->param(static_cast<size_t>(number)));
    }
    return MakeOne(*b_, OpKind::Element, {{tile}, point},
                   module_.types().ScalarOf(tile->type()->scalar));
  }

  ir::Module& module_;
  AxisOrder order_;
  std::optional<ir::Builder> b_;
  Op* loop_ = nullptr;
  /// Maps results of the scan and of the loops to their elements at the fused loop's current point.
  std::unordered_map<const Value*, Value*> points_;
};

}  // namespace

void RunFuseScans(PassContext& context, ir::Function& kernel) {
  if (context.keeps_tiles) return;  // tiles would disappear
  ScanFuser fuser(context.module, kernel);
  for (Op* scan : passes::OpsOfKind(kernel, OpKind::Scan)) fuser.Fuse(scan);
}

}  // namespace kdl::cpu
