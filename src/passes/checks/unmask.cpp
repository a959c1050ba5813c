#include "passes/checks/unmask.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "ir/builder.h"
#include "ir/op_info.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "support/contains.h"

namespace kdl::passes {

namespace {

using ir::AxisList;

AxisList AxesOf(const std::vector<Value*>& values) {
  AxisList axes;
  for (const Value* value : values) axes = ir::UnionAxes(axes, value->type()->axes);
  return axes;
}

class AxisDropper {
 public:
  explicit AxisDropper(ir::Module& module) : module_(module), builder_(module) {}

  /// Gives the value these axes. Where an op needs the axes from before, the value is repeated along them.
  void Narrow(Value* value, const AxisList& axes) {
    ir::Type wide = value->type();
    if (axes == wide->axes) return;
    value->set_type(module_.types().Tile(wide->scalar, axes));
    const std::vector<ir::Use> uses = value->uses();
    for (const ir::Use& use : uses) {
      if (Follow(use.user) || IsIndexOf(use, wide->axes)) continue;
      builder_.StandAt(use.user);
      use.user->SetOperand(use.operand, builder_.Make(OpKind::Broadcast, {value}, wide));
    }
  }

 private:
  /// Returns whether the op is valid with the present axes of its operands, after narrowing its result if necessary.
  bool Follow(Op* op) {
    switch (op->kind()) {
      case OpKind::Broadcast:
        return true;
      case OpKind::Contraction:  // the accumulator, operand 2, has the axes of the result
        return op->operand(2)->type() == op->result()->type() &&
               HasAll(AxesOf({op->operand(0), op->operand(1)}), op->attr<AttrKey::Axes>());
      case OpKind::Reduce: {
        const AxisList& axes = op->operand(0)->type()->axes;
        AxisList over = op->attr<AttrKey::Axes>();
        if (!HasAll(axes, over)) return false;
        Narrow(op->result(), ir::WithoutAxes(axes, over));
        return true;
      }
      default:
        if (!op->info().has(ir::kElementwise) || op->results().size() != 1) return false;
        Narrow(op->result(), AxesOf(op->operands()));
        return true;
    }
  }

  /// Whether the operand is an index of an access, and the indices still have all of these axes.
  static bool IsIndexOf(const ir::Use& use, const AxisList& axes) {
    if (!use.user->HasAttr(AttrKey::Access)) return false;
    std::span<Value* const> index = IndexOf(use.user);
    std::ptrdiff_t at = &use.user->operands()[use.operand] - index.data();
    if (at < 0 || at >= std::ssize(index)) return false;
    return HasAll(AxesOf({index.begin(), index.end()}), axes);
  }

  static bool HasAll(const AxisList& axes, const AxisList& all) {
    return std::ranges::all_of(all, [&](ir::AxisId axis) { return Contains(axes, axis); });
  }

  ir::Module& module_;
  ir::Builder builder_;
};

}  // namespace

void Unmask(ir::Module& module, Op* load, const AxisList& axes) {
  load->SetSegment(ir::LoadOp::at_mask, {});
  AxisDropper(module).Narrow(load->result(), axes);
}

}  // namespace kdl::passes
