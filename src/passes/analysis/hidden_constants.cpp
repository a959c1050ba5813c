#include "passes/analysis/hidden_constants.h"

#include <algorithm>
#include <numeric>

#include "ir/matrix_instruction.h"
#include "ir/module.h"
#include "ir/op_info.h"
#include "ir/views.h"
#include "passes/analysis/visible_sizes.h"

namespace kdl::passes {

namespace {

bool IsBlockOf(const Value* value, ir::AxisId axis) {
  return value->type()->kind == ir::TypeKind::Block && value->type()->axes[0] == axis;
}

/// Returns whether a contraction only continues the sum that its loop carries, so that no result depends on
/// where an iteration ends.
bool GoesOn(const Op* op, ir::AxisId axis) {
  if (op->kind() != OpKind::Contraction ||
      op->attr<AttrKey::Order>() != ir::OrderKind::Sequential ||
      op->attr<AttrKey::Axes>()[0] != axis)
    return false;
  const Op* loop = op->parent_region()->parent();
  if (!loop || loop->kind() != OpKind::For || !IsBlockOf(loop->region()->param(0), axis))
    return false;
  const Value* into = ir::ContractionOp(const_cast<Op*>(op)).into();
  const auto& params = loop->region()->params();
  auto carried = std::find(params.begin() + 1, params.end(), into);
  if (carried == params.end() || into->uses().size() != 1) return false;
  const auto& uses = op->result()->uses();
  auto number = static_cast<size_t>(carried - params.begin()) - 1;
  return uses.size() == 1 && uses[0].user == loop->region()->terminator() &&
         uses[0].operand == number;
}

class Watcher {
 public:
  Watcher(const ir::Function& kernel, const ir::Context& context, Name constant)
      : kernel_(kernel), context_(context), constant_(constant) {}

  /// Returns a number that must divide every value of the constant, or 0 if results depend on the constant.
  int64_t HiddenMultiple() {
    for (const ir::Axis& axis : kernel_.axes) StudyAxis(axis);
    ir::Walk(kernel_.body, [this](const Op* op) { Study(op); });
    return hidden_ ? multiple_ : 0;
  }

 private:
  bool IsItsAxis(ir::AxisId id) const {
    Size extent = kernel_.axis(id).extent;
    return extent && extent->kind == SizeKind::Symbol && extent->symbol == constant_;
  }
  bool IsItsBlock(const Value* value) const {
    return value->type()->kind == ir::TypeKind::Block && IsItsAxis(value->type()->axes[0]);
  }

  /// Checks that the extent of the axis does not depend on the constant, unless the extent is the constant
  /// itself. In that case, the axis must not be split.
  void StudyAxis(const ir::Axis& axis) {
    bool its =
        axis.extent && axis.extent->kind == SizeKind::Symbol && axis.extent->symbol == constant_;
    if (!its && MentionsNumber(axis.extent, is_it_)) hidden_ = false;
    if (axis.parent.valid() && IsItsAxis(axis.parent)) hidden_ = false;
  }

  void Study(const Op* op) {
    for (const ir::Attr& attr : op->attrs()) StudyAttr(op, attr);
    if (UsesNumber(op, is_it_)) hidden_ = false;
    bool asks = op->kind() == OpKind::BlockStart || op->kind() == OpKind::BlockSize ||
                op->kind() == OpKind::BlockIndex;
    if (asks && IsItsBlock(op->operand(0))) hidden_ = false;
    if (op->kind() == OpKind::For && IsItsBlock(op->region()->param(0))) StudyLoop(op);
    // These ops have an effect in each block, or between blocks, so their effects show where blocks end.
    bool acts = op->kind() == OpKind::Update || op->kind() == OpKind::Print ||
                op->kind() == OpKind::Stage || op->kind() == OpKind::Push ||
                op->kind() == OpKind::Pop;
    if (acts) hidden_ = false;
  }

  void StudyAttr(const Op* op, const ir::Attr& attr) {
    const auto* axes = std::get_if<ir::AxisList>(&attr.value);
    if (!axes) return;
    for (ir::AxisId axis : *axes) {
      if (!IsItsAxis(axis)) continue;
      if (!GoesOn(op, axis)) hidden_ = false;
      if (const ir::MatrixInstruction* instruction = ir::InstructionOf(*op, context_))
        multiple_ = std::lcm(multiple_, int64_t{instruction->depth});
    }
  }

  /// Checks that a loop over blocks of this length carries only sums that continue from block to block, and
  /// that the loop has no `break` or access that shows where blocks end.
  void StudyLoop(const Op* loop) {
    if (loop->HasAttr(AttrKey::Breaks) || AccessThatShowsBlocks(loop)) hidden_ = false;
    ir::AxisId axis = loop->region()->param(0)->type()->axes[0];
    for (const Value* yielded : loop->region()->terminator()->operands()) {
      if (!yielded->def() || !GoesOn(yielded->def(), axis)) hidden_ = false;
    }
  }

  const ir::Function& kernel_;
  const ir::Context& context_;
  Name constant_;
  IsNumber is_it_ = [this](Name name) { return name == constant_; };
  bool hidden_ = true;
  int64_t multiple_ = 1;
};

}  // namespace

std::map<Name, int64_t> HiddenConstants(const ir::Function& kernel, const ir::Context& context) {
  std::map<Name, int64_t> hidden;
  for (const ir::Generic& generic : kernel.generics) {
    if (!generic.is_auto || !generic.values.empty()) continue;
    int64_t multiple = Watcher(kernel, context, generic.name).HiddenMultiple();
    if (multiple > 0) hidden[generic.name] = multiple;
  }
  return hidden;
}

}  // namespace kdl::passes
