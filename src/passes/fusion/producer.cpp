#include "passes/fusion/producer.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/op_info.h"
#include "ir/packs.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"

namespace kdl::passes {

namespace {

constexpr const char* kLaunchBefore = "launch this kernel before the `fuse`";
constexpr const char* kPlainStore =
    "write each output once, for all elements of the blocks: `y[i, j] = …;`";

bool Refuse(Obstacle& obstacle, const ir::Loc& loc, std::string reason, std::string help) {
  obstacle = {Obstacle::Kind::Kernel, 0, "", loc, std::move(reason), std::move(help)};
  return false;
}

bool HasNoEffects(const ir::Function& kernel, Obstacle& obstacle) {
  const Op* first = nullptr;
  ir::Walk(kernel.body, [&](const Op* op) {
    if (!first && !DescribeEffect(op).empty()) first = op;
  });
  return !first || Refuse(obstacle, first->loc(), DescribeEffect(first), kLaunchBefore);
}

bool IsOnlySpmd(const ir::Function& kernel, const std::vector<Op*>& loops, Obstacle& obstacle) {
  if (loops.empty()) return Refuse(obstacle, kernel.loc, "it has no `spmd for`", kLaunchBefore);
  if (loops.size() > 1)
    return Refuse(obstacle, loops[1]->loc(), "it has several loops with `spmd for`",
                  "write a kernel for each `spmd for`, and launch both in the `fuse`");
  if (loops[0]->parent_region() != kernel.body)
    return Refuse(obstacle, loops[0]->loc(), "its `spmd for` is inside another statement",
                  kLaunchBefore);
  return !HasStep(loops[0]) ||
         Refuse(obstacle, loops[0]->loc(), kHasStep, "bind each index, as in `spmd for r in 0..R`");
}

class ProducerFinder {
 public:
  ProducerFinder(const ir::Function& kernel, Obstacle& obstacle)
      : kernel_(kernel), obstacle_(obstacle) {}

  std::optional<Producer> Find() {
    bool found = FindSpmd() && IsIndependentOfBlocks() && FindStores();
    return found ? std::optional(producer_) : std::nullopt;
  }

 private:
  bool Refuse(const ir::Loc& loc, std::string reason, std::string help) {
    return passes::Refuse(obstacle_, loc, std::move(reason), std::move(help));
  }

  bool FindSpmd() {
    producer_.kernel = &kernel_;
    producer_.spmd = FindOnlySpmd(kernel_, obstacle_);
    return producer_.spmd;
  }

  bool IsBinder(AxisId axis) const {
    return std::ranges::any_of(producer_.spmd->region()->params(), [&](const Value* param) {
      return param->type()->kind == ir::TypeKind::Block && param->type()->axes[0] == axis;
    });
  }

  /// Returns whether each element depends only on its index, not on the block in which it is.
  bool IsIndependentOfBlocks() {
    const Op* bad =
        FirstThatDependsOnBlock(kernel_, [this](AxisId axis) { return IsBinder(axis); });
    if (!bad) return true;
    return Refuse(bad->loc(),
                  "this depends on the block of the `spmd for`, but the elements are computed for "
                  "other blocks",
                  "compute each element only from its own index, as with `iota(i)`");
  }

  bool FindStores() {
    for (size_t p = 0; p < kernel_.params.size(); ++p) {
      const ir::Param& param = kernel_.params[p];
      if (param.direction == ir::Direction::In) continue;
      if (param.direction == ir::Direction::InOut)
        return Refuse(kernel_.loc,
                      fmt::format("it reads and writes '{}'", param.value->name().text()),
                      "read one tensor and write another, declared with `out`");
      if (!AddStore(p)) return false;
    }
    if (producer_.tensors.empty()) return Refuse(kernel_.loc, "it writes no tensor", kLaunchBefore);
    return true;
  }

  bool AddStore(size_t p) {
    const Value* tensor = kernel_.params[p].value;
    const Op* store = nullptr;
    for (const ir::Use& use : tensor->uses()) {
      const Op* user = use.user;
      bool is_store = user->kind() == OpKind::Store && TensorOf(user) == tensor;
      std::string_view what = is_store ? "it writes '{}' in several statements"
                                       : "it writes and reads '{}', or a view of it";
      if (store || !is_store)
        return Refuse(user->loc(), fmt::format(fmt::runtime(what), tensor->name().text()),
                      kPlainStore);
      store = user;
    }
    ir::StoreOp view(const_cast<Op*>(store));
    if (store->parent_region() != producer_.spmd->region() || view.mask())
      return Refuse(store->loc(), "it writes under a condition or in a loop", kPlainStore);
    std::vector<size_t> binders = BindersOf(view);
    if (binders.empty())
      return Refuse(store->loc(), "it does not write exactly the elements of its block",
                    kPlainStore);
    producer_.tensors.push_back({p, store, std::move(binders)});
    return true;
  }

  /// Returns which binder each index of the store is, or an empty list if the indices are not the binders.
  std::vector<size_t> BindersOf(ir::StoreOp store) const {
    const std::vector<Value*>& params = producer_.spmd->region()->params();
    std::vector<size_t> binders;
    for (size_t d = 0; d < store->attr<AttrKey::Access>().dims.size(); ++d) {
      std::optional<size_t> binder = BinderOfIndex(producer_.spmd, store.op, d);
      if (!binder) return {};
      binders.push_back(*binder);
    }
    std::vector<size_t> sorted = binders;
    std::ranges::sort(sorted);
    bool are_all = sorted.size() == params.size();
    for (size_t i = 0; are_all && i < sorted.size(); ++i) are_all = sorted[i] == i;
    return are_all ? binders : std::vector<size_t>();
  }

  const ir::Function& kernel_;
  Obstacle& obstacle_;
  Producer producer_;
};

/// Returns whether the kernel has an output such as `y: out f32[n <= N]`. Its `append` becomes loops with tensors of the launch.
bool CountsOutputs(const ir::Function& kernel) {
  return std::ranges::any_of(kernel.params, [&](const ir::Param& param) {
    return ir::FindCount(kernel, param) != nullptr;
  });
}

bool DependsOnBlock(const ir::Function& kernel, const Op* op,
                    const std::function<bool(AxisId)>& is_binder) {
  bool is_part = op->kind() == OpKind::BlockStart || op->kind() == OpKind::BlockSize ||
                 op->kind() == OpKind::BlockIndex;
  if (is_part) return is_binder(op->operand(0)->type()->axes[0]);
  if (op->HasAttr(AttrKey::Axes) &&
      std::ranges::any_of(ir::AxisList(op->attr<AttrKey::Axes>()), is_binder))
    return true;
  return std::ranges::any_of(op->regions(), [&](const ir::Region* region) {
    return std::ranges::any_of(region->params(), [&](const Value* param) {
      if (param->type()->kind != ir::TypeKind::Block) return false;
      AxisId parent = kernel.axis(param->type()->axes[0]).parent;
      return parent.valid() && is_binder(parent);
    });
  });
}

}  // namespace

const Op* FirstThatDependsOnBlock(const ir::Function& kernel,
                                  const std::function<bool(AxisId)>& is_binder) {
  const Op* first = nullptr;
  ir::Walk(kernel.body, [&](const Op* op) {
    if (!first && DependsOnBlock(kernel, op, is_binder)) first = op;
  });
  return first;
}

const Op* FindOnlySpmd(const ir::Function& kernel, Obstacle& obstacle) {
  std::vector<Op*> loops = OpsOfKind(kernel, OpKind::Spmd);
  return HasNoEffects(kernel, obstacle) && IsOnlySpmd(kernel, loops, obstacle) ? loops[0] : nullptr;
}

std::optional<size_t> BinderOfIndex(const Op* spmd, const Op* store, size_t dimension) {
  ir::StoreOp view(const_cast<Op*>(store));
  auto access = view->attr<AttrKey::Access>();
  const ir::AccessDim& dim = access.dims[dimension];
  bool is_plain =
      dim.terms.size() == 1 && IsConstant(dim.terms[0].coefficient, 1) && IsConstant(dim.offset, 0);
  if (!is_plain) return std::nullopt;
  const std::vector<Value*>& params = spmd->region()->params();
  auto found = std::ranges::find(params, view.index()[dim.terms[0].operand]);
  if (found == params.end()) return std::nullopt;
  return static_cast<size_t>(found - params.begin());
}

std::string DescribeEffect(const Op* op) {
  switch (op->kind()) {
    case OpKind::Sync:
      return "it waits for all cores with `sync`";
    case OpKind::CoreId:
    case OpKind::CoreNum:
      return fmt::format("it uses {}", op->info().spelling);
    case OpKind::Print:
      return "it prints";
    case OpKind::LaunchTensor:
      return CountsOutputs(*op->parent_region()->function())
                 ? "the size of one of its outputs follows from the data"
                 : "it declares a tensor that all cores share";
    case OpKind::Stage:
    case OpKind::Pipe:
      return "it has stages and pipes";
    case OpKind::Update:
      return op->attr<AttrKey::Scope>() == ir::ScopeKind::Launch
                 ? "it updates a tensor with `atomic`"
                 : "it combines the values of blocks with `reduce`";
    default:
      return "";
  }
}

std::optional<AxisId> Producer::AxisOf(size_t binder) const {
  const Value* param = spmd->region()->param(binder);
  if (param->type()->kind != ir::TypeKind::Block) return std::nullopt;
  return param->type()->axes[0];
}

bool HasStep(const Op* spmd) {
  // The index that the source binds is `first + number * step`, and has the name of the binder.
  auto is_stepped = [](const Value* binder) {
    return std::ranges::any_of(binder->uses(), [&](const ir::Use& use) {
      if (use.user->kind() != OpKind::Mul || use.user->result()->uses().empty()) return false;
      const Op* index = use.user->result()->uses()[0].user;
      return index->kind() == OpKind::Add && index->result()->name() == binder->name();
    });
  };
  return std::ranges::any_of(spmd->region()->params(), is_stepped);
}

std::optional<Producer> ProducerOf(const ir::Function& kernel, Obstacle& obstacle) {
  return ProducerFinder(kernel, obstacle).Find();
}

}  // namespace kdl::passes
