#include "passes/ranks/panel_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "ir/builder.h"
#include "ir/value_size.h"
#include "ir/views.h"
#include "passes/fusion/block_sizes.h"
#include "passes/fusion/producer.h"
#include "passes/groups/group_parts.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"

namespace kdl::passes {

namespace {

bool IsLoop(const Op* op) {
  return op->kind() == OpKind::For || op->kind() == OpKind::Loop || op->kind() == OpKind::While;
}

bool BindsBlocks(const Value* value) { return value->type()->kind == ir::TypeKind::Block; }

/// Returns the first loop in the blocks of a kernel, or null. Before it, nothing takes long.
Op* FirstLoop(const Op* spmd) {
  for (Op* op : *spmd->region()) {
    if (AnyIn(op, IsLoop)) return IsLoop(op) ? op : nullptr;
  }
  return nullptr;
}

/// Returns whether the loop can be interrupted: it runs to its end, one index or block after another.
bool HasAllIterations(const Op* loop) {
  if (loop->kind() == OpKind::While || loop->HasAttr(AttrKey::Breaks)) return false;
  return loop->kind() == OpKind::For || ConstantOf(loop->operand(2)) == 1;
}

/// Returns the numbers of which a launch may begin at a multiple without changing a result, or nothing if there are none.
std::optional<int64_t> MultipleOf(const ir::Function& kernel, const Op* loop) {
  const Value* block = loop->region()->param(0);
  if (!BindsBlocks(block)) return 1;
  bool has_number = AnyIn(loop, [&](const Op* op) {
    return op->kind() == OpKind::BlockIndex && op->operand(0) == block;
  });
  if (has_number) return std::nullopt;
  Size extent = kernel.axis(block->type()->axes[0]).extent;
  if (IsConstant(extent)) return extent->value;
  return FirstThatDependsOnSize(kernel) ? std::nullopt : std::optional<int64_t>(1);
}

/// The loop of a kernel that can be run in several launches.
struct PanelLoop {
  size_t like = 0;  ///< the parameter whose elements the blocks compute
  std::vector<size_t>
      binders;  ///< for each of its dimensions, the number of the binder that is its index
  Size size = nullptr;
  int64_t multiple = 1;
};

/// Returns whether a tensor with an element for each element of the blocks can keep the values that the loop carries.
bool CanKeep(const Op* spmd, const Op* loop) {
  return !loop->results().empty() && std::ranges::all_of(loop->results(), [&](const Value* value) {
    return IsTile(value->type()) && value->type()->scalar != Scalar::Bool &&
           std::ranges::all_of(value->type()->axes, [&](AxisId axis) {
             return std::ranges::any_of(spmd->region()->params(), [&](const Value* binder) {
               return BindsBlocks(binder) && binder->type()->axes[0] == axis;
             });
           });
  });
}

std::optional<PanelLoop> FindPanelLoop(ir::Module& module, const ir::Function& kernel) {
  Obstacle obstacle;
  std::optional<Producer> producer = ProducerOf(kernel, obstacle);
  if (!producer) return std::nullopt;
  const Op* loop = FirstLoop(producer->spmd);
  bool can_stop =
      loop && HasAllIterations(loop) && CanLimit(loop, 0) && CanKeep(producer->spmd, loop);
  if (!can_stop) return std::nullopt;
  const ProducedTensor& first = producer->tensors[0];
  auto mode = first.store->attr<AttrKey::BoundsMode>();
  if (mode != ir::BoundsMode::Proven && mode != ir::BoundsMode::Clip) return std::nullopt;
  Size size = ir::SizeOfValue(kernel, module.types().sizes(), loop->operand(1));
  std::optional<int64_t> multiple = MultipleOf(kernel, loop);
  if (!size || !multiple) return std::nullopt;
  return PanelLoop{first.param, first.binders, size, *multiple};
}

class PanelKernelMaker {
 public:
  PanelKernelMaker(ir::Module& module, PanelKernel& made, const PanelLoop& panel)
      : module_(module),
        made_(made),
        panel_(panel),
        kernel_(*made.part.kernel),
        spmd_(OpsOfKind(kernel_, OpKind::Spmd)[0]),
        loop_(FirstLoop(spmd_)),
        b_(module, loop_) {}

  void Make() {
    Value* size = loop_->operand(1);
    made_.iterations = LimitBinder(module_, kernel_, loop_, 0);
    for (const Value* value : loop_->results()) AddKept(*value);
    b_.StandAt(loop_);
    Value* is_first = b_.Eq(loop_->operand(0), b_.I64(0));
    Value* is_last = b_.Eq(loop_->operand(1), size);
    Continue(is_first);
    FinishOrKeep(is_last);
  }

 private:
  void AddKept(const Value& value) {
    std::string_view name = value.name().text();
    Name kept = module_.context().names.Intern(fmt::format("{}_kept", name.empty() ? "sum" : name));
    const Value* like = kernel_.params[panel_.like].value;
    ir::Type type = module_.types().Tensor(value.type()->scalar, like->type()->dims);
    tensors_.push_back(b_.AddParam(kernel_.body, type, kept));
    kernel_.params.push_back({tensors_.back(), ir::Direction::InOut});
    made_.kept.push_back({kept, value.type()->scalar});
  }

  /// Returns the elements of a kept tensor that belong to a value of a block. A value that does not have an axis of the block
  /// is kept at the first index along it.
  Place PlaceOf(const Value* value) {
    SizeTable& sizes = module_.types().sizes();
    Place place;
    for (size_t binder : panel_.binders) {
      Value* index = spmd_->region()->param(binder);
      bool is_along = BindsBlocks(index) && Contains(value->type()->axes, index->type()->axes[0]);
      if (BindsBlocks(index) && !is_along) index = b_.BlockStart(index);
      auto operand = static_cast<uint32_t>(place.index.size());
      place.access.dims.push_back({{{sizes.Constant(1), operand}}, sizes.Constant(0)});
      place.index.push_back(index);
    }
    return place;
  }

  /// The loop begins with the values that the launch before this one has kept.
  void Continue(Value* is_first) {
    std::span<Value* const> given = loop_->Segment(loop_->segments() - 1);
    Values inits(given.begin(), given.end());
    Values before = MakeIf(
        b_, is_first, TypesOf(inits), [&] { return inits; },
        [&] {
          Values kept;
          for (size_t i = 0; i < inits.size(); ++i) {
            const Value* value = loop_->result(i);
            kept.push_back(LoadAt(b_, tensors_[i], PlaceOf(value), value->type()->axes));
          }
          return kept;
        });
    loop_->SetSegment(loop_->segments() - 1, before);
  }

  /// The last launch does what follows the loop, and the others keep the values.
  void FinishOrKeep(Value* is_last) {
    std::vector<Op*> after;
    for (Op* op = loop_->next(); op != spmd_->region()->terminator(); op = op->next())
      after.push_back(op);
    b_.StandAt(spmd_->region()->terminator());
    b_.set_loc(loop_->loc());
    Op* branch = MakeBranch(b_, is_last);
    for (Op* op : after) MoveInto(branch->region(0), op);
    b_.SetInsertionPoint(branch->region(1)->terminator());
    for (size_t i = 0; i < tensors_.size(); ++i)
      StoreAt(b_, loop_->result(i), tensors_[i], PlaceOf(loop_->result(i)));
  }

  ir::Module& module_;
  PanelKernel& made_;
  const PanelLoop& panel_;
  ir::Function& kernel_;
  Op* spmd_;
  Op* loop_;
  ir::Builder b_;
  Values tensors_;  ///< for each value that the loop carries
};

}  // namespace

std::optional<PanelKernel> MakePanelKernel(ir::Module& module, const ir::Function& kernel,
                                           const std::vector<size_t>& binders) {
  std::optional<PanelLoop> panel = FindPanelLoop(module, kernel);
  if (!panel) return std::nullopt;
  PanelKernel made{MakePartKernel(module, kernel, binders, "panel"),
                   {},
                   panel->size,
                   panel->multiple,
                   panel->like,
                   {}};
  PanelKernelMaker(module, made, *panel).Make();
  return made;
}

}  // namespace kdl::passes
