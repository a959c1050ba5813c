#include "driver/run/open_outputs.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "ir/lookup.h"
#include "ir/matrix_instruction.h"
#include "ir/op_info.h"
#include "ir/tensor_view.h"
#include "ir/views.h"

namespace kdl::driver {

namespace {

using Values = std::set<const ir::Value*>;

bool IsAtomic(const ir::Op& op) {
  return op.kind() == ir::OpKind::Update && op.attr<ir::AttrKey::Scope>() == ir::ScopeKind::Launch;
}

/// Whether two ops may run without a `sync` between them, given the branches and loops around them.
bool MayBeUnordered(const ir::Op* a, const ir::Op* b, const ir::Function& kernel) {
  for (const ir::Op* loop = a->parent_region()->parent(); loop;
       loop = loop->parent_region()->parent()) {
    bool is_loop = loop->kind() != ir::OpKind::If && loop->kind() != ir::OpKind::Stage;
    if (is_loop && IsInside(b, loop)) return true;
  }
  bool inside = false;
  bool waits = false;
  ir::Walk(kernel.body, [&](const ir::Op* op) {
    if (op == a || op == b) inside = !inside;
    if (!inside || op->kind() != ir::OpKind::Sync) return;
    const ir::Op* around = op->parent_region()->parent();
    waits = waits || !around || IsInside(a, around) || IsInside(b, around);
  });
  return !waits;
}

/// Returns the `atomic` updates of memory that is updated with several different operators. The
/// result of such updates depends on their order.
std::set<const ir::Op*> MixedUpdates(const ir::Function& kernel) {
  std::map<const ir::Value*, std::vector<const ir::Op*>> updates;
  ir::Walk(kernel.body, [&](const ir::Op* op) {
    if (IsAtomic(*op)) updates[ir::MemoryOf(op->operand(ir::UpdateOp::at_tensor))].push_back(op);
  });
  std::set<const ir::Op*> mixed;
  for (const auto& [memory, ops] : updates) {
    for (const ir::Op* a : ops) {
      for (const ir::Op* b : ops) {
        bool differ = a->attr<ir::AttrKey::How>() != b->attr<ir::AttrKey::How>();
        if (differ && MayBeUnordered(a, b, kernel)) mixed.insert(a);
      }
    }
  }
  return mixed;
}

/// Whether the result depends on the order of updates. It does for sums and products of floats,
/// because they are rounded, and for assignments, because only the last assigned value remains.
bool DependsOnOrder(const ir::Op& update) {
  if (!IsAtomic(update)) return false;
  ir::UpdateKind how = update.attr<ir::AttrKey::How>();
  bool rounds = how == ir::UpdateKind::Add || how == ir::UpdateKind::Mul;
  ir::Type tensor = update.operand(ir::UpdateOp::at_tensor)->type();
  return how == ir::UpdateKind::Set || (rounds && IsFloat(tensor->scalar));
}

bool HoldsElements(const ir::Value* value) {
  ir::TypeKind kind = value->type()->kind;
  return kind == ir::TypeKind::Tensor || kind == ir::TypeKind::Pipe;
}

/// Propagates undetermined bits through a kernel or program: to values computed from them, to
/// memory where they are stored, and to everything that depends on a branch or loop that they
/// control.
class OpenBits {
 public:
  OpenBits(const ir::Module& module, const std::set<Name>& open_kernels)
      : module_(module), open_kernels_(open_kernels) {}

  /// Returns all values that are undetermined if the parameters in `open` are.
  Values In(const ir::Function& function, Values open) {
    open_ = std::move(open);
    mixed_ = MixedUpdates(function);
    size_t before = 0;
    do {  // until no further value becomes undetermined
      before = open_.size();
      Visit(function.body, false);
    } while (open_.size() != before);
    return std::move(open_);
  }

 private:
  void Visit(const ir::Region* region, bool decided) {
    for (const ir::Op* op : *region) {
      bool inner = decided || Decides(*op);
      for (const ir::Region* nested : op->regions()) Visit(nested, inner);
      VisitOp(*op, inner);
    }
  }

  /// Whether undetermined bits decide which of the op's regions run, or how often.
  bool Decides(const ir::Op& op) const {
    if (op.regions().empty()) return false;
    if (std::ranges::any_of(op.operands(), [&](const auto* one) { return IsOpen(one); }))
      return true;
    const ir::Region* body = op.region();
    return op.kind() == ir::OpKind::While && open_.contains(body->param(0));
  }

  bool IsOpen(const ir::Value* value) const {
    return open_.contains(HoldsElements(value) ? ir::MemoryOf(value) : value);
  }
  void Add(const ir::Value* value) {
    open_.insert(HoldsElements(value) ? ir::MemoryOf(value) : value);
  }

  void VisitOp(const ir::Op& op, bool decided) {
    if (op.kind() == ir::OpKind::Launch) return VisitLaunch(op, decided);
    if (op.kind() == ir::OpKind::Yield) return VisitYield(op, decided);
    if (op.kind() == ir::OpKind::Swap) Share(op.operand(0), op.operand(1));
    // A transfer of a tensor that is already on the device returns the same tensor.
    if (op.kind() == ir::OpKind::Transfer) Share(op.operand(0), op.result());
    bool open = decided || DependsOnOrder(op) || mixed_.contains(&op);
    ForOperands(op, [&](const ir::Value* value, ir::Effect effect) {
      bool looks = effect != ir::Effect::Write && effect != ir::Effect::Shows;
      open = open || ((looks || value->type()->kind == ir::TypeKind::Pipe) && IsOpen(value));
    });
    if (!open) return;
    for (const ir::Value* result : op.results()) Add(result);
    ForOperands(op, [&](const ir::Value* value, ir::Effect effect) {
      bool writes = effect == ir::Effect::Write || effect == ir::Effect::Change ||
                    effect == ir::Effect::Accumulate || op.kind() == ir::OpKind::Call;
      if (writes && HoldsElements(value)) Add(value);
    });
  }

  template <class Visitor>
  static void ForOperands(const ir::Op& op, Visitor&& visit) {
    for (size_t spec = 0; spec < op.info().operands.size(); ++spec) {
      for (const ir::Value* value : op.Segment(spec)) visit(value, op.info().operands[spec].effect);
    }
  }

  /// Propagates the values at the end of a region to the results of the region's op and to the next
  /// iteration.
  void VisitYield(const ir::Op& yield, bool decided) {
    const ir::Op& parent = *yield.parent_region()->parent();
    const std::vector<ir::Value*>& params = yield.parent_region()->params();
    size_t count = parent.results().size();
    for (size_t i = 0; i < yield.operands().size() && i < count; ++i) {
      if (!decided && !IsOpen(yield.operand(i))) continue;
      Add(parent.result(i));
      if (params.size() >= count) Add(params[params.size() - count + i]);
    }
  }

  /// Propagates between two tensors that are, or may become, the same tensor.
  void Share(const ir::Value* a, const ir::Value* b) {
    if (IsOpen(a)) Add(b);
    if (IsOpen(b)) Add(a);
  }

  void VisitLaunch(const ir::Op& launch, bool decided) {
    Name callee = launch.attr<ir::AttrKey::Callee>();
    const ir::Function* kernel = module_.FindFunction(callee);
    if (!kernel) return;
    auto arguments = launch.Segment(ir::LaunchOp::at_arguments);
    bool all = decided || open_kernels_.contains(callee);
    for (const ir::Value* cores : launch.Segment(ir::LaunchOp::at_cores))
      all = all || IsOpen(cores);
    Values given;
    for (size_t i = 0; i < kernel->params.size(); ++i) {
      if (IsOpen(arguments[i])) given.insert(kernel->params[i].value);
    }
    Values left = OpenBits(module_, open_kernels_).In(*kernel, std::move(given));
    for (size_t i = 0; i < kernel->params.size(); ++i) {
      const ir::Param& param = kernel->params[i];
      bool is_written = param.direction != ir::Direction::In;
      if (is_written && (all || left.contains(param.value))) Add(arguments[i]);
    }
  }

  const ir::Module& module_;
  const std::set<Name>& open_kernels_;
  std::set<const ir::Op*> mixed_;
  Values open_;
};

}  // namespace

Values OpenTensors(const ir::Module& module, const ir::Function& program,
                   const std::set<Name>& open_kernels) {
  return OpenBits(module, open_kernels).In(program, {});
}

void AddKernelsOfOwnOrder(const ir::Module& tiled, std::set<Name>& kernels) {
  for (const ir::Function* function : tiled.functions()) {
    ir::Walk(function->body, [&](const ir::Op* op) {
      if (op->kind() != ir::OpKind::Contraction) return;
      const ir::MatrixInstruction* instruction = ir::InstructionOf(*op, tiled.context());
      if (instruction && instruction->modelled) kernels.insert(function->name);
    });
  }
}

}  // namespace kdl::driver
