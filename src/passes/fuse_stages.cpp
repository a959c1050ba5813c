#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>

#include "ir/builder.h"
#include "ir/groups.h"
#include "ir/op_info.h"
#include "ir/ring.h"
#include "ir/views.h"
#include "passes/analysis/pipe_ends.h"
#include "passes/diagnostics.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"
#include "support/check.h"

// fuse-stages: if all stages of a kernel run matching loops, replaces them by one loop that does the work of
// all stages. The tile that one stage pushes directly becomes the tile that the other stage pops. No pipe
// remains.
//
//   stage { spmd (%i …) { … push %t to %q over i } }      ->   spmd (%i …) { … %t … ; uses of %u become uses of %t }
//   stage { spmd (%j …) { %u = pop %q over j ; … } }
//
// The ops of the stages are interleaved as if the stages ran on one core: each stage continues until it pops
// from an empty pipe. Loops that use pipes are merged if they have the same bounds and blocks, and do not
// change how full their pipes are. Otherwise, the kernel is left unchanged.

namespace kdl::passes {

namespace {

using ir::Region;
using ir::Type;

bool UsesPipes(const Op* op) {
  auto is_pipe = [](const Value* value) { return value->type()->kind == ir::TypeKind::Pipe; };
  return AnyIn(op,
               [&](const Op* inner) { return std::ranges::any_of(inner->operands(), is_pipe); });
}

bool IsCounted(const Op* op) {
  if (op->HasAttr(AttrKey::Breaks)) return false;
  return op->kind() == OpKind::Spmd || op->kind() == OpKind::For || op->kind() == OpKind::Loop;
}

/// BoundCount returns the number of operands that are bounds of the loop. BinderCount returns the number of
/// region parameters that are not carried values.
size_t BoundCount(const Op* loop) {
  if (loop->kind() == OpKind::Spmd) return loop->operands().size();
  return loop->kind() == OpKind::For ? size_t{ir::ForOp::at_inits} : size_t{ir::LoopOp::at_inits};
}
size_t BinderCount(const Op* loop) {
  return loop->kind() == OpKind::Spmd ? loop->region()->params().size() : 1;
}

/// Collects the pipes that ops inside `loop` push to and pop from.
void CollectPipes(const Op* loop, std::set<const Value*>& pushed, std::set<const Value*>& popped) {
  ir::Walk(loop->region(), [&](Op* op) {
    if (auto push = ir::DynAs<ir::PushOp>(op)) pushed.insert(push->pipe());
    if (auto pop = ir::DynAs<ir::PopOp>(op)) popped.insert(pop->pipe());
  });
}

/// Builds the fused kernel, and maps the stages' ops, values and axes to it.
class Fusion {
 public:
  Fusion(ir::Module& module, ir::Function& kernel) : module_(module), kernel_(kernel), b_(module) {}

  /// Appends the fused stages to `into`. Returns false if the stages cannot be fused. In that case, `stuck()`
  /// returns where they stop, and `into` must be discarded.
  bool Fuse(const std::vector<Op*>& stages, Region* into) {
    std::vector<const Region*> bodies;
    for (const Op* stage : stages) bodies.push_back(stage->region());
    b_.SetInsertionPoint(into);
    return Merge(bodies) && std::all_of(queues_.begin(), queues_.end(),
                                        [](const auto& queue) { return queue.second.empty(); });
  }

  /// Returns, for each stage that did not reach its end, the op at which it is stuck.
  const std::vector<const Op*>& stuck() const { return stuck_; }

 private:
  /// A stage's position in its region.
  struct Cursor {
    Op* op;
    bool at_end() const { return op->info().has(ir::kTerminator); }
  };
  /// A tile that has been pushed and not yet popped. For each of its dimensions, `positions` contains the
  /// axis of the fused kernel.
  struct Parcel {
    Value* tile;
    ir::AxisList positions;
    bool operator==(const Parcel&) const = default;
  };
  using Queues = std::map<const Value*, std::deque<Parcel>>;

  ir::AxisList PositionsOf(const Op* op) const { return axes_.Replaced(op->attr<AttrKey::Axes>()); }

  /// Returns the op that makes the same block if such an op is already in scope, otherwise null. An axis
  /// never has two such ops.
  Op* MadeBlock(const Op* block) const {
    Type type = TypeFor(block->result()->type());
    for (const Region* region = b_.region(); region;
         region = region->parent() ? region->parent()->parent_region() : nullptr) {
      for (Op* op : *region) {
        if (op->kind() == OpKind::MakeBlock && op->result()->type() == type) return op;
      }
    }
    return nullptr;
  }

  /// If several stages make the same block, makes it only once. Returns false if they make it with different
  /// operands.
  bool ShareBlock(const Op* block) {
    Op* made = MadeBlock(block);
    if (!made) {
      CloneOp(block);
      return true;
    }
    for (size_t i = 0; i < block->operands().size(); ++i) {
      if (!SameValue(block->operand(i), made->operand(i))) return false;
    }
    values_[block->result()] = made->result();
    return true;
  }

  /// Clones an op and changes its axes to those of the fused kernel.
  void CloneOp(const Op* op) { axes_.Retype(module_.types(), ir::Clone(op, b_, values_)); }

  /// Returns whether two values are equal: they are the same value, or are computed by the same pure ops from
  /// equal values.
  bool SameValue(Value* a, Value* b) const {
    a = Mapped(values_, a);
    b = Mapped(values_, b);
    if (a == b) return true;
    const Op* x = a->def();
    const Op* y = b->def();
    if (!x || !y || x->kind() != y->kind() || !x->info().has(ir::kPure) || x->attrs() != y->attrs())
      return false;
    return a->type() == b->type() &&
           std::equal(x->operands().begin(), x->operands().end(), y->operands().begin(),
                      y->operands().end(), [&](Value* p, Value* q) { return SameValue(p, q); });
  }

  /// Returns whether two loops visit the same blocks in the same order, because they have the same kind,
  /// bounds and extents.
  bool SameWalk(const Op* a, const Op* b) const {
    if (!IsCounted(a) || a->kind() != b->kind() || BoundCount(a) != BoundCount(b)) return false;
    for (size_t i = 0; i < BoundCount(a); ++i) {
      if (!SameValue(a->operand(i), b->operand(i))) return false;
    }
    for (size_t i = 0; i < BinderCount(a); ++i) {
      if (!SameBlocks(a->region()->param(i)->type(), b->region()->param(i)->type())) return false;
    }
    return a->kind() != OpKind::Spmd || ir::AreDistributedAlike(a, b);
  }

  bool SameBlocks(Type a, Type b) const {
    if (a->kind != b->kind) return false;
    if (a->kind != ir::TypeKind::Block) return true;
    const ir::Axis& x = kernel_.axis(a->axes[0]);
    const ir::Axis& y = kernel_.axis(b->axes[0]);
    bool same_parent = x.parent.valid() == y.parent.valid() &&
                       (!x.parent.valid() || axes_.Replaced(x.parent) == axes_.Replaced(y.parent));
    return x.extent == y.extent && same_parent;
  }

  void Unify(const Value* block, const Value* with) {
    if (block->type()->kind == ir::TypeKind::Block && block->type() != with->type())
      axes_.Set(block->type()->axes[0], with->type()->axes[0]);
  }

  /// Makes an empty loop to replace `loops`. It carries the values that any of these loops carries.
  Op* MakeMerged(const std::vector<Op*>& loops) {
    const Op* first = loops[0];
    auto segments = SegmentsOf(first, [&](Value* value) { return Mapped(values_, value); });
    std::vector<Type> types;
    for (const Op* loop : loops) {
      for (size_t i = 0; i < loop->results().size(); ++i) {
        Value* init = loop->operand(BoundCount(loop) + i);
        if (loop != first) segments.back().push_back(Mapped(values_, init));
        types.push_back(TypeFor(loop->result(i)->type()));
      }
    }
    Op* merged = b_.Create(first->kind(), segments, types, first->attrs());
    merged->set_loc(first->loc());
    return merged;
  }

  /// Maps the loop variables and carried values of `loops` to those of the merged loop.
  void BindParams(const std::vector<Op*>& loops, Op* merged) {
    const Op* first = loops[0];
    for (size_t i = 0; i < BinderCount(first); ++i) {
      Value* param = first->region()->param(i);
      Value* made = b_.AddParam(merged->region(), TypeFor(param->type()), param->name());
      for (const Op* loop : loops) {
        Unify(loop->region()->param(i), made);
        values_[loop->region()->param(i)] = made;
      }
    }
    size_t next = 0;
    for (const Op* loop : loops) {
      for (Value* result : loop->results()) {
        const Value* param = loop->region()->param(BinderCount(loop) + result->index());
        values_[param] = b_.AddParam(merged->region(), TypeFor(param->type()), param->name());
        merged->result(next)->set_name(result->name());
        values_[result] = merged->result(next++);
      }
    }
  }

  /// Merges loops that all satisfy SameWalk into one loop. Returns false if their bodies cannot be merged.
  bool MergeLoops(const std::vector<Op*>& loops) {
    Op* merged = MakeMerged(loops);
    Region* outer = b_.region();
    b_.SetInsertionPoint(merged->region());
    BindParams(loops, merged);
    std::vector<const Region*> bodies;
    for (const Op* loop : loops) bodies.push_back(loop->region());
    auto before = queues_;
    if (!Merge(bodies)) return false;
    if (!SameQueues(before)) {
      stuck_.assign(loops.begin(), loops.end());
      return false;
    }
    std::vector<Value*> yielded;
    for (const Region* body : bodies) {
      for (Value* value : body->terminator()->operands()) yielded.push_back(Mapped(values_, value));
    }
    b_.Create(OpKind::Yield, {yielded}, {});
    b_.SetInsertionPoint(outer);
    return true;
  }

  /// Returns whether each pipe contains the same tiles as in `before`.
  bool SameQueues(const Queues& before) const {
    auto tiles_in = [](const Queues& queues, const Value* pipe) {
      auto found = queues.find(pipe);
      return found == queues.end() ? std::deque<Parcel>() : found->second;
    };
    return std::all_of(queues_.begin(), queues_.end(), [&](const auto& queue) {
      return tiles_in(before, queue.first) == queue.second;
    });
  }

  /// Copies the next op of a stage if the stage need not wait for other stages.
  bool CopyNext(Cursor& cursor) {
    Op* op = cursor.op;
    if (auto push = ir::DynAs<ir::PushOp>(op)) {
      ir::AxisList positions = PositionsOf(op);
      Value* value = b_.Broadcast(Mapped(values_, push->value()), positions);
      queues_[push->pipe()].push_back({value, positions});
    } else if (auto pop = ir::DynAs<ir::PopOp>(op)) {
      std::deque<Parcel>& queue = queues_[pop->pipe()];
      if (queue.empty() || queue.front().positions != PositionsOf(op)) return false;
      values_[pop->result()] = queue.front().tile;
      queue.pop_front();
    } else if (UsesPipes(op)) {
      return false;
    } else if (op->kind() == OpKind::MakeBlock) {
      if (!ShareBlock(op)) return false;
    } else {
      CloneOp(op);
    }
    cursor.op = op->next();
    return true;
  }

  /// Finds stages that are at loops with equal bounds and blocks, such that each pipe in these loops is both
  /// pushed to and popped from. Returns an empty list if there are none.
  std::vector<size_t> LoopsInStep(const std::vector<Cursor>& cursors) const {
    for (const Cursor& candidate : cursors) {
      if (!IsCounted(candidate.op)) continue;
      std::vector<size_t> group;
      std::set<const Value*> pushed;
      std::set<const Value*> popped;
      for (size_t i = 0; i < cursors.size(); ++i) {
        if (!SameWalk(candidate.op, cursors[i].op)) continue;
        group.push_back(i);
        CollectPipes(cursors[i].op, pushed, popped);
      }
      if (!pushed.empty() && pushed == popped) return group;
    }
    return {};
  }

  Type TypeFor(Type type) const { return axes_.Replaced(module_.types(), type); }

  bool Merge(const std::vector<const Region*>& bodies) {
    std::vector<Cursor> cursors;
    for (const Region* body : bodies) cursors.push_back({body->first()});
    while (true) {
      bool moved = false;
      for (Cursor& cursor : cursors) {
        while (!cursor.at_end() && CopyNext(cursor)) moved = true;
      }
      if (std::all_of(cursors.begin(), cursors.end(), [](const Cursor& c) { return c.at_end(); }))
        return true;
      if (moved) continue;
      std::vector<Op*> loops;
      for (size_t i : LoopsInStep(cursors)) {
        loops.push_back(cursors[i].op);
        cursors[i].op = cursors[i].op->next();
      }
      if (loops.empty()) {
        for (const Cursor& cursor : cursors) {
          if (!cursor.at_end()) stuck_.push_back(cursor.op);
        }
        return false;
      }
      if (!MergeLoops(loops)) return false;
    }
  }

  ir::Module& module_;
  ir::Function& kernel_;
  ir::Builder b_;
  ir::ValueMap values_;
  OtherAxes axes_;
  Queues queues_;  ///< for each pipe, the tiles pushed and not yet popped
  std::vector<const Op*> stuck_;
};

void EraseAll(const Region* region) {
  while (region->last()) ir::Erase(region->last());
}

/// Removes the workspace parameter, which only pipes need.
void DropWorkspace(ir::Function& kernel) {
  std::erase_if(kernel.params, [&](const ir::Param& param) {
    if (param.value->type()->kind != ir::TypeKind::Workspace) return false;
    kernel.body->EraseParam(param.value->index());
    return true;
  });
}

/// Reports where each stage is stuck. `stuck` is empty if all stages end but leave tiles in a pipe.
void ReportNotInStep(PassContext& context, const ir::Function& kernel, const Op* first_stage,
                     std::vector<const Op*> stuck) {
  if (stuck.empty()) stuck.push_back(first_stage->region()->terminator());
  auto stage_of = [](const Op* op) { return StageOf(op)->attr<AttrKey::Name>().text(); };
  Diagnostic& report = context.diagnostics.Report(diag::NotInStep, context.SpanOf(stuck[0]->loc()),
                                                  kernel.base_name(), stage_of(stuck[0]));
  for (size_t i = 1; i < stuck.size(); ++i) {
    report.Note(
        context.SpanOf(stuck[i]->loc()),
        fmt::format("those of stage '{}' have counterparts only up to here", stage_of(stuck[i])));
  }
  report.Help("push and pop in loops over one domain and outside branches, or omit --pipes=fused");
}

}  // namespace

void RunFuseStages(PassContext& context, ir::Function& kernel) {
  std::vector<Op*> stages = OpsOfKind(kernel, OpKind::Stage);
  if (stages.empty() || context.pipes == PipeMode::Buffered) return;
  Region* fused = context.module.arena().Make<Region>();
  fused->set_function(&kernel);
  Fusion fusion(context.module, kernel);
  if (!fusion.Fuse(stages, fused)) {
    EraseAll(fused);
    if (context.pipes == PipeMode::Fused)
      ReportNotInStep(context, kernel, stages[0], fusion.stuck());
    return;
  }
  for (Op* op : *fused) MoveInto(kernel.body, op);
  for (Op* stage : stages) ir::Erase(stage);
  for (Op* pipe : ir::PipesOf(kernel)) ir::Erase(pipe);
  DropWorkspace(kernel);
}

}  // namespace kdl::passes
