#include "driver/open_outputs.h"

#include <cstddef>

#include "ir/tensor_view.h"
#include "ir/unit.h"
#include "ir/views.h"

namespace kdl::driver {

namespace {

using Values = std::set<const ir::Value*>;

/// Sums and products of floats round in the order of the updates; of several values that are set one stays.
bool DependsOnOrder(const ir::Op& update, const ir::Value& tensor) {
  if (update.attr<ir::AttrKey::Scope>() != ir::ScopeKind::Launch) return false;
  ir::UpdateKind how = update.attr<ir::AttrKey::How>();
  bool rounds = how == ir::UpdateKind::Add || how == ir::UpdateKind::Mul;
  return how == ir::UpdateKind::Set || (rounds && IsFloat(tensor.type()->scalar));
}

Values OpenParameters(const ir::Function& kernel) {
  Values open;
  ir::Walk(kernel.body, [&](const ir::Op* op) {
    if (op->kind() != ir::OpKind::Update) return;
    const ir::Value* tensor = op->operand(ir::UpdateOp::at_tensor);
    if (DependsOnOrder(*op, *tensor)) open.insert(ir::MemoryOf(tensor));
  });
  return open;
}

/// What the launch adds to the open tensors.
void AddLaunch(const ir::Module& module, const ir::Op& launch, const std::set<Name>& open_kernels,
               Values& open) {
  Name callee = launch.attr<ir::AttrKey::Callee>();
  const ir::Function* kernel = module.FindFunction(callee);
  if (!kernel) return;
  Values by_itself = OpenParameters(*kernel);
  auto arguments = launch.Segment(ir::LaunchOp::at_arguments);
  bool reads_open = open_kernels.contains(callee);
  for (const ir::Value* argument : arguments)
    reads_open = reads_open || open.contains(ir::MemoryOf(argument));
  for (size_t i = 0; i < kernel->params.size(); ++i) {
    const ir::Param& param = kernel->params[i];
    bool is_written = param.direction != ir::Direction::In;
    if (is_written && (reads_open || by_itself.contains(param.value)))
      open.insert(ir::MemoryOf(arguments[i]));
  }
}

/// Of two tensors that are, or may become, one.
void Share(const ir::Value* a, const ir::Value* b, Values& open) {
  if (open.contains(a)) open.insert(b);
  if (open.contains(b)) open.insert(a);
}

}  // namespace

Values OpenTensors(const ir::Module& module, const ir::Function& program,
                   const std::set<Name>& open_kernels) {
  Values open;
  size_t before = 0;
  do {  // until a loop hands back nothing new
    before = open.size();
    ir::Walk(program.body, [&](const ir::Op* op) {
      if (op->kind() == ir::OpKind::Launch) AddLaunch(module, *op, open_kernels, open);
      if (op->kind() == ir::OpKind::Transfer)  // where it lives there already it is the same tensor
        Share(ir::MemoryOf(op->operand(0)), op->result(0), open);
      if (op->kind() == ir::OpKind::Swap) Share(op->operand(0), op->operand(1), open);
      bool copies = op->kind() == ir::OpKind::Copy || op->kind() == ir::OpKind::CopyBack;
      if (copies && open.contains(ir::MemoryOf(op->operand(0))))
        open.insert(ir::MemoryOf(op->operand(1)));
    });
  } while (open.size() != before);
  return open;
}

void AddKernelsOfOwnOrder(const ir::Module& tiled, std::set<Name>& kernels) {
  for (const ir::Function* function : tiled.functions()) {
    ir::Walk(function->body, [&](const ir::Op* op) {
      if (op->kind() != ir::OpKind::Contraction) return;
      const ir::Unit* unit = ir::UnitOf(*op, tiled.context());
      if (unit && unit->modelled) kernels.insert(function->name);
    });
  }
}

}  // namespace kdl::driver
