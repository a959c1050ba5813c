#include "tools/explain/assumed_iterations.h"

#include <algorithm>
#include <set>

#include "ir/builder.h"
#include "ir/lookup.h"
#include "ir/op_info.h"
#include "ir/op_kind.h"
#include "ir/views.h"
#include "passes/rewriting/structured.h"

namespace kdl::tools {

namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

/// Follows a value to the ops that it decides.
class DependentOps {
 public:
  explicit DependentOps(const Value* value) { Follow(value); }

  /// The loops whose ends depend on the value.
  const std::set<const Op*>& loops() const { return loops_; }
  /// Whether anything else depends on it that the program does, apart from the numbers that it stores or passes to kernels.
  bool decides_more() const { return decides_more_; }

 private:
  void Follow(const Value* value) {
    if (!visited_.insert(value).second) return;
    for (const ir::Use& use : value->uses()) FollowUse(use);
  }

  void FollowUse(const ir::Use& use) {
    const Op* user = use.user;
    switch (user->kind()) {
      case OpKind::Yield:
        return FollowYield(user->parent_region()->parent(), use.operand);
      case OpKind::While:
        return FollowCarried(user, use.operand);
      case OpKind::Loop:
        if (use.operand == ir::LoopOp::at_hi) loops_.insert(user);
        if (use.operand >= user->SegmentBegin(ir::LoopOp::at_inits))
          return FollowCarried(user, use.operand - user->SegmentBegin(ir::LoopOp::at_inits));
        decides_more_ |= use.operand != ir::LoopOp::at_hi;
        return;
      case OpKind::Launch:
        return;
      case OpKind::HostStore:
        decides_more_ |= use.operand != ir::HostStoreOp::at_value;
        return;
      default:
        decides_more_ |= !user->info().has(ir::kPure) || ir::MayTrap(user);
        for (const Value* result : user->results()) Follow(result);
    }
  }

  void FollowYield(const Op* parent, size_t operand) {
    if (parent->kind() == OpKind::If) return Follow(parent->result(operand));
    FollowCarried(parent, operand);
  }

  /// The first carried value of a `while` is its condition.
  void FollowCarried(const Op* loop, size_t carried) {
    bool is_while = loop->kind() == OpKind::While;
    if (is_while && carried == 0) {
      loops_.insert(loop);
      return;
    }
    Follow(loop->region()->param(is_while ? carried : carried + 1));
    Follow(loop->result(carried));
  }

  std::set<const Value*> visited_;
  std::set<const Op*> loops_;
  bool decides_more_ = false;
};

/// Replaces a `while` by a loop, which carries the values after the condition.
void LimitWhile(ir::Module& module, Op* loop, int64_t iterations) {
  ir::Builder b(module, loop);
  b.set_loc(loop->loc());
  passes::Values inits(loop->operands().begin() + 1, loop->operands().end());
  passes::Values ends = passes::MakeLoop(
      b, {b.I64(0), b.I64(iterations)}, inits, [&](Value*, const passes::Values& carried) {
        ir::ValueMap map = {{loop->region()->param(0), b.Bits(Scalar::Bool, 1)}};
        for (size_t i = 0; i < carried.size(); ++i) map[loop->region()->param(i + 1)] = carried[i];
        ir::CloneBody(loop->region(), b, map);
        passes::Values next;
        for (size_t i = 0; i < carried.size(); ++i) {
          Value* yielded = loop->region()->terminator()->operand(i + 1);
          auto cloned = map.find(yielded);
          next.push_back(cloned == map.end() ? yielded : cloned->second);
        }
        return next;
      });
  loop->result(0)->ReplaceAllUsesWith(b.Bits(Scalar::Bool, 0));
  for (size_t i = 0; i < ends.size(); ++i) loop->result(i + 1)->ReplaceAllUsesWith(ends[i]);
  ir::Erase(loop);
}

void LimitLoop(ir::Module& module, Op* loop, int64_t iterations) {
  ir::Builder b(module, loop);
  Value* length = b.Mul(loop->operand(ir::LoopOp::at_step), b.I64(iterations));
  loop->SetOperand(ir::LoopOp::at_hi, b.Add(loop->operand(ir::LoopOp::at_lo), length));
}

}  // namespace

std::vector<ir::Loc> AssumeIterations(ir::Module& module, ir::Function& program,
                                      int64_t iterations) {
  std::set<const Op*> open;
  for (const Op* load : ir::OpsOfKind(program, OpKind::HostLoad))
    open.merge(std::set(DependentOps(load->result()).loops()));
  std::vector<ir::Loc> locations;
  // Inner loops come first, so outer ones are copied with loops that already have an end.
  for (Op* loop : ir::OpsIn(program.body, [&](const Op* op) { return open.contains(op); })) {
    locations.push_back(loop->loc());
    if (loop->kind() == OpKind::While)
      LimitWhile(module, loop, iterations);
    else
      LimitLoop(module, loop, iterations);
  }
  for (Op* load : ir::OpsOfKind(program, OpKind::HostLoad)) {
    DependentOps dependent(load->result());
    if (dependent.decides_more() || !dependent.loops().empty()) continue;
    ir::Builder b(module, load);
    load->result()->ReplaceAllUsesWith(b.Bits(load->result()->type()->scalar, 0));
    ir::Erase(load);
  }
  std::ranges::sort(locations, {}, &ir::Loc::line);
  return locations;
}

}  // namespace kdl::tools
