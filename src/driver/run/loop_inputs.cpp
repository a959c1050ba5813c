#include "driver/run/loop_inputs.h"

#include <vector>

#include "ir/tensor_view.h"
#include "ir/views.h"

namespace kdl::driver {

namespace {

using ir::OpKind;
using ir::Value;

/// Finds everything that is computed from a value.
class Reach {
 public:
  explicit Reach(const ir::Module& module) : module_(module) {}

  /// Whether the value influences how often a loop runs.
  bool ToLoop(const Value* from) {
    Add(from);
    while (!left_.empty()) {
      const Value* value = left_.back();
      left_.pop_back();
      for (const ir::Use& use : value->uses()) {
        if (Pass(*use.user, use.operand)) return true;
      }
    }
    return false;
  }

 private:
  void Add(const Value* value) {
    if (seen_.insert(value).second) left_.push_back(value);
  }

  /// Marks the results of the op as computed from the operand. Returns true if the operand may
  /// determine how often something runs.
  bool Pass(const ir::Op& op, size_t operand) {
    if (op.kind() == OpKind::Yield) {
      const ir::Op* parent = op.parent_region()->parent();
      // A value that the loop carries may end the loop.
      if (parent->kind() != OpKind::If) return true;
      Add(parent->result(operand));
      return false;
    }
    if (op.kind() != OpKind::If && !op.regions().empty()) return true;
    if (op.kind() == OpKind::Call && CalleeLoops(op, operand)) return true;
    if (op.kind() == OpKind::Launch) {
      size_t first = op.SegmentBegin(ir::LaunchOp::at_arguments);
      return operand < first || CalleeLoops(op, operand - first);
    }
    if (op.kind() == OpKind::BindSize) return true;
    for (const Value* result : op.results()) {
      if (result->type()->kind == ir::TypeKind::Block) return true;
      Add(result);
    }
    bool stores =
        op.results().empty() || op.kind() == OpKind::Copy || op.kind() == OpKind::CopyBack;
    if (stores) AddMemory(op);
    return false;
  }

  /// Adds the memory that the op stores to, since the value may be loaded again.
  void AddMemory(const ir::Op& op) {
    for (const Value* other : op.operands()) {
      if (other->type()->kind == ir::TypeKind::Tensor) Add(ir::MemoryOf(other));
      if (other->type()->kind == ir::TypeKind::Pipe) Add(other);
    }
  }

  bool CalleeLoops(const ir::Op& call, size_t argument) {
    const ir::Function* callee = module_.FindFunction(call.attr<ir::AttrKey::Callee>());
    return callee && argument < callee->params.size() &&
           Reach(module_).ToLoop(callee->params[argument].value);
  }

  const ir::Module& module_;
  std::set<const Value*> seen_;
  std::vector<const Value*> left_;
};

}  // namespace

std::set<size_t> LoopInputs(const ir::Module& module, const ir::Function& function) {
  std::set<size_t> numbers;
  for (size_t i = 0; i < function.params.size(); ++i) {
    const Value* value = function.params[i].value;
    if (IsInteger(value->type()->scalar) && Reach(module).ToLoop(value)) numbers.insert(i);
  }
  return numbers;
}

}  // namespace kdl::driver
