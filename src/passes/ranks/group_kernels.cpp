#include "passes/ranks/group_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>

#include "ir/busy_cores.h"
#include "ir/element_walk.h"
#include "ir/eval/eval.h"
#include "ir/packs.h"
#include "ir/value_size.h"
#include "ir/views.h"
#include "passes/fusion/block_sizes.h"
#include "passes/fusion/producer.h"
#include "passes/groups/group_blocks.h"
#include "passes/groups/group_parts.h"
#include "passes/groups/group_walk.h"
#include "passes/groups/kept_variables.h"
#include "passes/ranks/combine_kernels.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"

namespace kdl::passes {

namespace {

constexpr const char* kOwnKernel = "put the `reduce` into a kernel of its own";

bool IsFill(const Op* op) { return op->kind() == OpKind::Store && op->HasAttr(AttrKey::Fills); }

/// Returns whether the spmd only fills a tensor into which blocks reduce later.
bool IsFillLoop(const Op* spmd) { return AnyIn(spmd, IsFill); }

/// Finds the loop of a kernel whose blocks reduce, and what else the kernel does.
class GroupLoopFinder {
 public:
  GroupLoopFinder(const ir::Function& kernel, Obstacle& obstacle)
      : kernel_(kernel), obstacle_(obstacle) {}

  Op* Find() {
    bool found = FindLoop() && HasNoOtherEffects() && OnlyReducesOutputs() && HasKnownBlocks();
    return found ? loop_ : nullptr;
  }

 private:
  bool Refuse(const ir::Loc& loc, std::string reason, std::string help = "") {
    obstacle_ = {Obstacle::Kind::Kernel, 0, "", loc, std::move(reason), std::move(help)};
    return false;
  }

  bool FindLoop() {
    for (Op* loop : OpsOfKind(kernel_, OpKind::Spmd)) {
      if (IsFillLoop(loop)) continue;
      if (loop_) return Refuse(loop->loc(), "it has several loops with `spmd for`");
      loop_ = loop;
    }
    return loop_->parent_region() == kernel_.body ||
           Refuse(loop_->loc(), "its `spmd for` is inside another statement");
  }

  bool HasNoOtherEffects() {
    const Op* other = nullptr;
    ir::Walk(kernel_.body, [&](const Op* op) {
      bool acts = op->kind() == OpKind::Store ? !IsFill(op) : !DescribeEffect(op).empty();
      if (!other && acts && !IsGroupUpdate(op)) other = op;
    });
    if (!other) return true;
    if (other->kind() != OpKind::Store) return Refuse(other->loc(), DescribeEffect(other));
    return Refuse(other->loc(), "it has `reduce`, but also writes elements without it", kOwnKernel);
  }

  bool OnlyReducesOutputs() {
    for (const ir::Param& param : kernel_.params) {
      if (param.direction == ir::Direction::In) continue;
      for (const ir::Use& use : param.value->uses()) {
        if (!IsGroupUpdate(use.user) && !IsFill(use.user))
          return Refuse(use.user->loc(),
                        fmt::format("it reads and reduces '{}', or has a view of it",
                                    param.value->name().text()),
                        kOwnKernel);
      }
    }
    return true;
  }

  /// The blocks form groups, so their number must not depend on what the compiler chooses for each device.
  bool HasKnownBlocks() {
    for (const Value* binder : loop_->region()->params()) {
      bool is_block = binder->type()->kind == ir::TypeKind::Block;
      if (is_block && !IsConstant(kernel_.axis(binder->type()->axes[0]).extent))
        return Refuse(
            loop_->loc(),
            fmt::format("the size of the blocks of '{}' is `auto`", binder->name().text()),
            fmt::format("give the blocks of '{}' a size, such as `by 64`", binder->name().text()));
    }
    if (const Op* dependent = FirstThatDependsOnSize(kernel_))
      return Refuse(dependent->loc(), "this depends on the size of a block that is `auto`");
    return true;
  }

  const ir::Function& kernel_;
  Obstacle& obstacle_;
  Op* loop_ = nullptr;
};

class GroupKernelMaker {
 public:
  GroupKernelMaker(ir::Module& module, const ir::Function& kernel, const Op* loop)
      : module_(module), kernel_(kernel), loop_(loop), sizes_(module.types().sizes()) {}

  std::optional<GroupKernels> Make(Obstacle& obstacle) {
    made_.blocks = CombinedBlocks();
    if (!made_.blocks) {
      obstacle = {
          Obstacle::Kind::Kernel,
          0,
          "",
          loop_->loc(),
          HasStep(loop_) ? kHasStep : "the bounds of its `spmd for` are not 0 and sums of sizes",
          ""};
      return std::nullopt;
    }
    FindBinders();
    made_.groups = ir::CloneFunction(kernel_, module_, DerivedName(module_, kernel_, "groups"));
    made_.groups->exported = false;
    ir::DropStrideMarks(*made_.groups);
    EraseFillLoops(*made_.groups);
    LimitCopy();
    MakeGroups();
    for (ReducedTensor& reduced : made_.reduced)
      MakeCombineKernels(module_, kernel_,
                         how_[static_cast<size_t>(&reduced - made_.reduced.data())], reduced);
    return std::move(made_);
  }

 private:
  /// Returns the number of blocks that are combined, or null if the number of blocks is not a size.
  Size CombinedBlocks() const {
    if (!ir::BlocksOfDomain(kernel_, sizes_, loop_)) return nullptr;
    Size blocks = sizes_.Constant(1);
    for (size_t b : ir::GroupVariablesOf(loop_).combined)
      blocks = sizes_.Binary(SizeKind::Mul, blocks,
                             ir::BlocksOfBinders(kernel_, sizes_, loop_, b, b + 1));
    return blocks;
  }

  void FindBinders() {
    std::vector<size_t> combined = ir::GroupVariablesOf(loop_).combined;
    for (size_t b = 0; b < loop_->region()->params().size(); ++b) {
      ir::Type binder = loop_->region()->param(b)->type();
      bool is_block = binder->kind == ir::TypeKind::Block;
      made_.binders.push_back({ir::SizeOfValue(kernel_, sizes_, loop_->operand(2 * b + 1)),
                               is_block ? kernel_.axis(binder->axes[0]).extent->value : 1,
                               Contains(combined, b)});
    }
  }

  void LimitCopy() {
    std::vector<size_t> binders(made_.binders.size());
    std::iota(binders.begin(), binders.end(), size_t{0});
    made_.limited = MakePartKernel(module_, *made_.groups, binders);
    std::erase(module_.functions(), made_.limited.kernel);
  }

  void MakeGroups() {
    ir::Function& kernel = *made_.groups;
    Op* loop = OpsOfKind(kernel, OpKind::Spmd)[0];
    ir::Builder b(module_, loop);
    GroupBlocks blocks(b, kernel, loop, GroupShape::WholeSegments, 0);
    std::vector<GroupParts> parts;
    std::vector<size_t> reduced;
    for (const std::vector<ir::UpdateOp>& updates : GroupUpdatesOf(loop)) {
      parts.emplace_back(kernel, loop, updates);
      Value* tensor = parts.back().tensor();
      Value* memory =
          b.AddParam(kernel.body,
                     PartsType(module_, tensor->type(), parts.back().acc(), blocks.most_segments()),
                     PartsName(module_, tensor));
      kernel.params.push_back({memory, ir::Direction::InOut});
      parts.back().UseMemory(memory, blocks);
      auto param = std::ranges::find(kernel.params, tensor, &ir::Param::value);
      reduced.push_back(static_cast<size_t>(param - kernel.params.begin()));
      made_.reduced.push_back({reduced.back(), parts.back().acc()});
      how_.push_back(parts.back().how());
    }
    Value* first = AddNumber(module_, kernel, "first");
    Value* end = AddNumber(module_, kernel, "end");
    RunGroups(b, kernel, loop, blocks, parts, {first, end});
    ir::Erase(loop);
    std::ranges::sort(reduced, std::greater());
    for (size_t param : reduced) {
      kernel.params.erase(kernel.params.begin() + static_cast<std::ptrdiff_t>(param));
      kernel.body->EraseParam(kernel.dims.size() + param);
    }
  }

  ir::Module& module_;
  const ir::Function& kernel_;
  const Op* loop_;
  SizeTable& sizes_;
  GroupKernels made_;
  std::vector<ir::UpdateKind> how_;  ///< for each reduced tensor
};

}  // namespace

bool Reduces(const ir::Function& kernel) {
  bool reduces = false;
  ir::Walk(kernel.body, [&](const Op* op) { reduces = reduces || IsGroupUpdate(op); });
  return reduces;
}

const Op* FindGroupLoop(const ir::Function& kernel, Obstacle& obstacle) {
  return GroupLoopFinder(kernel, obstacle).Find();
}

void EraseFillLoops(ir::Function& kernel) {
  for (Op* loop : OpsOfKind(kernel, OpKind::Spmd))
    if (IsFillLoop(loop)) ir::Erase(loop);
}

std::optional<GroupKernels> MakeGroupKernels(ir::Module& module, const ir::Function& kernel,
                                             Obstacle& obstacle) {
  const Op* loop = FindGroupLoop(kernel, obstacle);
  if (!loop) return std::nullopt;
  return GroupKernelMaker(module, kernel, loop).Make(obstacle);
}

}  // namespace kdl::passes
