#include <algorithm>
#include <unordered_map>

#include "ir/builder.h"
#include "ir/views.h"
#include "passes/passes.h"
#include "support/check.h"

// order-launches: a launch waits for those before it that write what it touches, or touch what it writes; launches that
// share nothing stay free to overlap. A local tensor ends after its last use:
//   %h = alloc h ; %e0 = launch @f (%x, %h) after() ; %e1 = launch @g (%h, %y) after(%e0) ; free %h after(%e1)
// Launches of one queue run in order in any case, which is what orders those of different turns of a host loop.

namespace kdl::passes {

namespace {

using ir::Op;
using ir::Value;

/// Who wrote a tensor last, and who has read it since.
struct TensorState {
  Value* written = nullptr;
  std::vector<Value*> read;
};

void AddOnce(std::vector<Value*>& events, Value* event) {
  if (event && std::find(events.begin(), events.end(), event) == events.end())
    events.push_back(event);
}

class Ordering {
 public:
  explicit Ordering(ir::Module& module) : module_(module) {}

  void Block(const ir::Block* block) {
    std::unordered_map<const Value*, TensorState> states;
    for (Op* op : *block) {
      if (auto launch = ir::DynAs<ir::LaunchOp>(op)) Launch(*launch, states);
      for (const ir::Block* region : op->regions()) {
        Block(region);
        Forget(region, states);
      }
    }
    for (Op* op : *block) {
      if (op->kind() == ir::OpKind::Alloc && !IsFreed(op)) End(op, block, states[op->result()]);
    }
  }

 private:
  void Launch(const ir::LaunchOp& launch, std::unordered_map<const Value*, TensorState>& states) {
    const ir::Function* kernel = module_.FindFunction(launch->attr<ir::AttrKey::Callee>());
    KDL_CHECK(kernel, "launch of '{}', which is not in the module",
              launch->attr<ir::AttrKey::Callee>().text());
    Value* done = launch.result();
    std::vector<Value*> after;
    for (size_t i = 0; i < launch.arguments().size(); ++i) {
      Value* argument = launch.arguments()[i];
      if (argument->type()->kind != ir::TypeKind::Tensor) continue;
      TensorState& state = states[argument];
      AddOnce(after, state.written);
      if (kernel->params[i].direction == ir::Direction::In) {
        state.read.push_back(done);
      } else {
        for (Value* event : state.read) AddOnce(after, event);
        state = {done, {}};
      }
    }
    std::erase(after, done);
    launch->SetSegment(ir::LaunchOp::at_after, after);
  }

  /// Events of a region do not leave it; what it launched is behind it in its queue.
  static void Forget(const ir::Block* region,
                     std::unordered_map<const Value*, TensorState>& states) {
    ir::Walk(region, [&](Op* op) {
      for (const Value* operand : op->operands()) states.erase(operand);
    });
  }

  /// KIR text may have been through this pass.
  static bool IsFreed(const Op* alloc) {
    const auto& uses = alloc->result()->uses();
    return std::any_of(uses.begin(), uses.end(),
                       [](const ir::Use& use) { return use.user->kind() == ir::OpKind::Free; });
  }

  /// Frees a tensor behind the last op of its block that uses it, itself or inside.
  void End(Op* alloc, const ir::Block* block, const TensorState& state) {
    Op* last = alloc;
    for (Op* op : *block) {
      bool uses = false;
      for (const ir::Use& use : alloc->result()->uses()) uses = uses || Encloses(op, use.user);
      if (uses) last = op;
    }
    std::vector<Value*> after = state.read;
    AddOnce(after, state.written);
    ir::Builder builder(module_, last->block(), last->next());
    builder.set_loc(alloc->loc());
    builder.Create(ir::OpKind::Free, {{alloc->result()}, after}, {});
  }

  static bool Encloses(const Op* outer, const Op* inner) {
    for (const Op* op = inner; op; op = op->block()->parent()) {
      if (op == outer) return true;
    }
    return false;
  }

  ir::Module& module_;
};

}  // namespace

void RunOrderLaunches(PassContext& context) {
  for (ir::Function* function : context.module.functions()) {
    if (function->kind == ir::FunctionKind::Program) Ordering(context.module).Block(function->body);
  }
}

}  // namespace kdl::passes
