#include "passes/analysis/pack_loops.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/lookup.h"
#include "ir/op_kind.h"
#include "ir/packs.h"
#include "passes/names.h"

namespace kdl::passes {

namespace {

/// Returns the pack whose number of elements is the value, or null.
Size PackOfValue(const ir::Function& kernel, const Value* value) {
  for (size_t d = 0; d < kernel.dims.size(); ++d) {
    if (kernel.dim_value(d) != value) continue;
    for (const ir::Param& param : kernel.params) {
      for (Size dim : param.value->type()->dims) {
        bool is_it = dim->kind == SizeKind::Symbol && dim->symbol == kernel.dims[d];
        if (is_it && ir::IsPack(kernel, dim)) return dim;
      }
    }
  }
  return nullptr;
}

void AddLoop(const ir::Function& kernel, const Op* op, PackLoops& loops) {
  auto add = [&](const Value* binder, const Value* lo, const Value* hi) {
    Size pack = ir::ConstantOf(lo) == 0 ? PackOfValue(kernel, hi) : nullptr;
    if (pack != nullptr) loops[binder] = pack;
  };
  if (op->kind() == OpKind::Spmd && !op->HasAttr(AttrKey::Domain)) {
    for (size_t b = 0; b < op->region()->params().size(); ++b)
      add(op->region()->param(b), op->operand(2 * b), op->operand(2 * b + 1));
  } else if (op->kind() == OpKind::For) {
    add(op->region()->param(0), op->operand(0), op->operand(1));
  } else if (op->kind() == OpKind::Loop && ir::ConstantOf(op->operand(2)) == 1) {
    add(op->region()->param(0), op->operand(0), op->operand(1));
  }
}

class Finder {
 public:
  explicit Finder(const ir::Function& kernel) : kernel_(kernel), loops_(FindPackLoops(kernel)) {}

  std::optional<PackFault> Find() {
    ir::Walk(kernel_.body, [&](const Op* op) {
      if (!fault_) Check(op);
    });
    return fault_;
  }

 private:
  void Report(const Op* op, std::string text) { fault_ = PackFault{op, std::move(text)}; }

  static std::string Text(Size pack) { return ToString(pack) + ".."; }

  /// Returns the pack whose loop variable has the axis, or null.
  Size PackOf(ir::AxisId axis) const {
    for (const auto& [binder, pack] : loops_) {
      bool has = binder->type()->kind == ir::TypeKind::Block && binder->type()->axes[0] == axis;
      if (has) return pack;
    }
    return nullptr;
  }

  void Check(const Op* op) {
    if (op->HasAttr(AttrKey::Axes)) CheckAxes(op);
    for (const ir::Region* region : op->regions()) {
      for (const Value* param : region->params()) CheckBinder(op, param);
    }
    CheckBlock(op);
    if (op->kind() == OpKind::MakeBlock) CheckSubrange(op);
    bool is_grouped =
        op->kind() == OpKind::Update && op->attr<AttrKey::Scope>() == ir::ScopeKind::Group;
    if (is_grouped) Report(op, "it uses `reduce`, whose order depends on all blocks");
    if (op->kind() == OpKind::Store || op->kind() == OpKind::Update) CheckWrite(op);
    if (op->kind() == OpKind::Pipe) Report(op, "it has pipes, whose tiles are blocks");
    CheckTensors(op);
  }

  void CheckBlock(const Op* op) {
    bool is_property = op->kind() == OpKind::BlockStart || op->kind() == OpKind::BlockSize ||
                       op->kind() == OpKind::BlockIndex;
    if (!is_property || !loops_.contains(op->operand(0))) return;
    Report(op, fmt::format("it uses the start, size or number of a block of the pack {}",
                           Text(loops_.at(op->operand(0)))));
  }

  /// Checks that what is written in a loop over a pack is written once for each of its elements, not once for each block.
  void CheckWrite(const Op* op) {
    for (const ir::Region* region = op->parent_region(); region->parent() != nullptr;
         region = region->parent()->parent_region()) {
      for (const Value* binder : region->params()) {
        auto loop = loops_.find(binder);
        if (loop == loops_.end() || binder->type()->kind != ir::TypeKind::Block) continue;
        auto has_axis = [&](const Value* value) {
          return Contains(value->type()->axes, binder->type()->axes[0]);
        };
        if (has_axis(op->operand(0)) || std::ranges::any_of(IndexOf(op), has_axis)) continue;
        return Report(op, fmt::format("it writes an element once for each block of the pack {}",
                                      Text(loop->second)));
      }
    }
  }

  void CheckAxes(const Op* op) {
    for (ir::AxisId axis : op->attr<AttrKey::Axes>()) {
      if (Size pack = PackOf(axis)) return Report(op, "it reduces over the pack " + Text(pack));
    }
  }

  void CheckBinder(const Op* op, const Value* binder) {
    auto loop = loops_.find(binder);
    if (loop == loops_.end()) return;
    bool is_carried = op->kind() == OpKind::For && !op->results().empty();
    if (is_carried || op->HasAttr(AttrKey::Breaks))
      Report(op,
             "it carries values from one block of the pack " + Text(loop->second) + " to the next");
  }

  void CheckSubrange(const Op* op) {
    ir::AxisId parent = kernel_.axis(op->result()->type()->axes[0]).parent;
    Size pack = parent.valid() ? PackOf(parent) : nullptr;
    if (pack != nullptr) Report(op, "it divides blocks of the pack " + Text(pack));
  }

  void CheckTensors(const Op* op) {
    for (const Value* operand : op->operands()) {
      if (operand->type()->kind != ir::TypeKind::Tensor) continue;
      for (size_t d = 0; d < operand->type()->dims.size() && !fault_; ++d)
        CheckIndex(op, operand, d);
    }
  }

  bool IsParam(const Value* tensor) const {
    return std::ranges::any_of(kernel_.params,
                               [&](const ir::Param& param) { return param.value == tensor; });
  }

  /// Checks that exactly the packs of parameters are indexed by the variables of loops over these packs.
  void CheckIndex(const Op* op, const Value* tensor, size_t d) {
    Size size = tensor->type()->dims[d];
    bool is_pack = IsParam(tensor) && ir::IsPack(kernel_, size);
    if (!op->HasAttr(AttrKey::Access)) {
      if (is_pack) Report(op, "it makes a view of a tensor with the pack " + Text(size));
      return;
    }
    const ir::AccessDim dim = op->attr<AttrKey::Access>().dims[d];
    Size of_loop = nullptr;
    for (const ir::AccessTerm& term : dim.terms) {
      auto loop = loops_.find(ir::IndexOf(op)[term.operand]);
      if (loop != loops_.end()) of_loop = loop->second;
    }
    if (of_loop == (is_pack ? size : nullptr)) return;
    Size pack = is_pack ? size : of_loop;
    Report(op, is_pack
                   ? fmt::format("it indexes the pack {0} by something other than the range of "
                                 "a loop over {0}",
                                 Text(pack))
                   : fmt::format("it indexes something other than the pack {0} by a range of {0}",
                                 Text(pack)));
  }

  const ir::Function& kernel_;
  PackLoops loops_;
  std::optional<PackFault> fault_;
};

}  // namespace

PackLoops FindPackLoops(const ir::Function& kernel) {
  PackLoops loops;
  ir::Walk(kernel.body, [&](const Op* op) { AddLoop(kernel, op, loops); });
  return loops;
}

std::optional<PackFault> FindOrderedUse(const ir::Function& kernel) {
  return Finder(kernel).Find();
}

}  // namespace kdl::passes
