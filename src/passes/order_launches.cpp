#include <algorithm>
#include <optional>
#include <span>
#include <unordered_map>

#include "ir/builder.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "passes/passes.h"
#include "support/check.h"

// order-launches: a launch waits for those before it that write what it touches, or touch what it writes; launches that
// share nothing stay free to overlap. A local tensor ends after its last use:
//   %h = alloc h ; %e0 = launch @f (%x, %h) after() ; %e1 = launch @g (%h, %y) after(%e0) ; free %h after(%e1)
// Of one queue, the last one is enough: it stands for what the queue was given before, and fails with it.
// An event does not leave its region, nor live from one turn of a loop to the next. What happened there is in order
// behind it by itself on the same queue; on another one, a mark stands for all that its queue was given before:
//   loop { %m = mark on @d queue 0 ; %e2 = launch @f on @d queue 1 (%x, %h) after(%m) ; launch @g on @d queue 0 … }
// The host waits where it reads or writes an element, so nothing has to wait for it.
// Tensors that a swap exchanges are ordered as one, wherever it stands: which of them is in which memory is known only
// when the program runs.
// A part or view of a tensor is ordered as the tensor, and ends by itself.
// A transfer reads its tensor, and who touches what came out may touch the tensor itself, which did not move where it
// lived there already.

namespace kdl::passes {

namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

struct Queue {
  Name device;
  int64_t number = 0;
  bool operator==(const Queue&) const = default;
};

Queue QueueOf(const Op* op) { return {op->attr<AttrKey::Device>(), op->attr<AttrKey::Queue>()}; }

struct Access {
  Queue queue;
  Value* event = nullptr;  ///< null: of another turn or region
  bool writes = false;
  int time = 0;  ///< in the order in which the queues are given it
};

/// What of each tensor may still be going on: its last writer, and who has read it since.
using States = std::unordered_map<const Value*, std::vector<Access>>;

struct Touch {
  const Value* tensor;
  bool writes;
};

/// Of each queue the last access that conflicts; the earliest of them first.
void AddConflicts(const std::vector<Access>& state, bool writes, std::vector<Access>& conflicts) {
  for (const Access& access : state) {
    if (!access.writes && !writes) continue;
    auto known = std::find_if(conflicts.begin(), conflicts.end(),
                              [&](const Access& c) { return c.queue == access.queue; });
    if (known == conflicts.end()) {
      conflicts.push_back(access);
    } else if (known->time < access.time) {
      *known = access;
    }
  }
  std::sort(conflicts.begin(), conflicts.end(),
            [](const Access& a, const Access& b) { return a.time < b.time; });
}

bool IsQueued(const Op* op) {
  return op->kind() == OpKind::Launch || op->kind() == OpKind::Transfer ||
         op->kind() == OpKind::Copy || op->kind() == OpKind::Fill;
}

/// The event of what a queue is given.
Value* EventOf(const Op* op) { return op->results().back(); }

bool IsHostAccess(const Op* op) {
  return op->kind() == OpKind::HostLoad || op->kind() == OpKind::HostStore ||
         op->kind() == OpKind::Draw || op->kind() == OpKind::Expect;
}

size_t AfterSegment(const Op* op) {
  switch (op->kind()) {
    case OpKind::Launch:
      return ir::LaunchOp::at_after;
    case OpKind::Transfer:
      return ir::TransferOp::at_after;
    case OpKind::Copy:
      return ir::CopyOp::at_after;
    case OpKind::Fill:
      return ir::FillOp::at_after;
    case OpKind::HostLoad:
      return ir::HostLoadOp::at_after;
    case OpKind::HostStore:
      return ir::HostStoreOp::at_after;
    case OpKind::Draw:
      return ir::DrawOp::at_after;
    case OpKind::Expect:
      return ir::ExpectOp::at_after;
    default:
      KDL_UNREACHABLE("'{}' is not ordered", op->info().spelling);
  }
}

std::span<Value* const> AfterOf(const Op* op) { return op->Segment(AfterSegment(op)); }

void SetAfter(Op* op, std::span<Value* const> events) { op->SetSegment(AfterSegment(op), events); }

bool Encloses(const Op* outer, const Op* inner) {
  for (const Op* op = inner; op; op = op->block()->parent()) {
    if (op == outer) return true;
  }
  return false;
}

/// True where one of the others waits for the event itself.
bool IsCovered(const Value* event, const std::vector<Access>& accesses) {
  return std::any_of(accesses.begin(), accesses.end(), [&](const Access& other) {
    if (!event || !other.event) return false;
    std::span<Value* const> after = AfterOf(other.event->def());
    return std::find(after.begin(), after.end(), event) != after.end();
  });
}

class Ordering {
 public:
  Ordering(ir::Module& module, const ir::Function& program) : module_(module) {
    ir::Walk(program.body, [&](const Op* op) {
      if (op->kind() == OpKind::Swap) Share(op->operand(0), op->operand(1));
    });
  }

  void Block(const ir::Block* block, States& states) {
    for (Op* op : *block) {
      if (IsQueued(op)) Order(op, states);
      if (IsHostAccess(op)) OrderHost(op, states);
      if (op->regions().empty()) continue;
      States before = states;
      bool repeats = op->kind() == OpKind::Loop || op->kind() == OpKind::While;
      if (repeats) AddInside(op, before);
      for (const ir::Block* region : op->regions()) {
        States inside = before;
        Block(region, inside);
      }
      AddInside(op, states);
    }
    for (Op* op : *block) {
      if (HasLife(op) && !IsFreed(op)) End(op, block, states[op->result()]);
    }
  }

 private:
  /// Two tensors that are swapped somewhere may each be in the other's memory.
  void Share(const Value* a, const Value* b) {
    std::vector<const Value*> all = MemoriesOf(a);
    for (const Value* other : MemoriesOf(b)) {
      if (std::find(all.begin(), all.end(), other) == all.end()) all.push_back(other);
    }
    for (const Value* tensor : all) shared_[tensor] = all;
  }

  /// The tensor and those that may be in its memory.
  std::vector<const Value*> MemoriesOf(const Value* tensor) const {
    auto known = shared_.find(tensor);
    return known == shared_.end() ? std::vector{tensor} : known->second;
  }

  /// What an op reads and writes, with the tensors that may be the same memory.
  std::vector<Touch> TouchesOf(const Op* op) const {
    std::vector<Touch> touches;
    auto add = [&](const Value* tensor, bool writes) {
      while (true) {
        tensor = ir::MemoryOf(tensor);
        for (const Value* shared : MemoriesOf(tensor)) touches.push_back({shared, writes});
        const Op* def = tensor->def();
        if (!def || def->kind() != OpKind::Transfer) return;
        tensor = def->operand(0);
      }
    };
    if (op->kind() == OpKind::Transfer) {
      add(op->operand(0), false);
      touches.push_back({op->result(0), true});
      return touches;
    }
    if (op->kind() == OpKind::Copy) {
      add(op->operand(0), false);
      add(op->operand(1), true);
      return touches;
    }
    if (op->kind() == OpKind::Expect) {
      for (const Value* argument : op->Segment(ir::ExpectOp::at_arguments)) {
        if (argument->type()->kind == ir::TypeKind::Tensor) add(argument, false);
      }
      return touches;
    }
    if (op->kind() == OpKind::Draw || op->kind() == OpKind::Fill) {
      add(op->operand(0), true);
      return touches;
    }
    if (IsHostAccess(op)) {
      bool writes = op->kind() == OpKind::HostStore;
      add(op->operand(writes ? 1 : 0), writes);
      return touches;
    }
    ir::LaunchOp launch(const_cast<Op*>(op));
    const ir::Function* kernel = module_.FindFunction(op->attr<AttrKey::Callee>());
    KDL_CHECK(kernel, "launch of '{}', which is not in the module",
              op->attr<AttrKey::Callee>().text());
    for (size_t i = 0; i < launch.arguments().size(); ++i) {
      const Value* argument = launch.arguments()[i];
      if (argument->type()->kind != ir::TypeKind::Tensor) continue;
      add(argument, kernel->params[i].direction != ir::Direction::In);
    }
    return touches;
  }

  /// Makes `op` wait for what touches the same; `queue`: its own, behind which it comes anyway.
  void WaitForConflicts(Op* op, const std::vector<Touch>& touches, States& states,
                        std::optional<Queue> queue) {
    std::vector<Access> conflicts;
    for (const Touch& touch : touches) AddConflicts(states[touch.tensor], touch.writes, conflicts);
    std::vector<Value*> after;
    for (const Access& access : conflicts) {
      if (access.event) {
        if (!IsCovered(access.event, conflicts)) after.push_back(access.event);
      } else if (access.queue != queue) {
        after.push_back(MarkBefore(op, access.queue));
      }
    }
    SetAfter(op, after);
  }

  void OrderHost(Op* op, States& states) {
    std::vector<Touch> touches = TouchesOf(op);
    WaitForConflicts(op, touches, states, std::nullopt);
    for (const Touch& touch : touches) {
      if (touch.writes) states[touch.tensor].clear();
    }
  }

  void Order(Op* op, States& states) {
    Queue queue = QueueOf(op);
    std::vector<Touch> touches = TouchesOf(op);
    WaitForConflicts(op, touches, states, queue);
    ++time_;
    for (const Touch& touch : touches)
      Record(states[touch.tensor], {queue, EventOf(op), touch.writes, time_});
  }

  Value* MarkBefore(Op* op, const Queue& queue) {
    ir::Builder builder(module_, op->block(), op);
    builder.set_loc(op->loc());
    return builder.Make(
        OpKind::Mark, {}, builder.types().Event(),
        {ir::MakeAttr<AttrKey::Device>(queue.device), ir::MakeAttr<AttrKey::Queue>(queue.number)});
  }

  static void Record(std::vector<Access>& state, const Access& access) {
    // A launch may name a tensor twice: what it writes and reads, it writes.
    if (!state.empty() && state.front().writes && state.front().time == access.time) return;
    if (access.writes) state.clear();
    state.push_back(access);
  }

  /// Adds what the regions of an op do to tensors from outside.
  void AddInside(const Op* outer, States& states) {
    ++time_;
    for (const ir::Block* region : outer->regions()) {
      ir::Walk(region, [&](const Op* op) {
        if (!IsQueued(op)) return;
        for (const Touch& touch : TouchesOf(op)) {
          if (touch.tensor->def() && Encloses(outer, touch.tensor->def())) continue;
          Access access{QueueOf(op), nullptr, touch.writes, time_};
          std::vector<Access>& state = states[touch.tensor];
          std::erase_if(state, [&](const Access& known) {
            return !known.event && known.queue == access.queue && known.writes == access.writes;
          });
          state.push_back(access);
        }
      });
    }
  }

  /// Makes a tensor that is freed.
  static bool HasLife(const Op* op) {
    return op->kind() == OpKind::Alloc || op->kind() == OpKind::Slice || op->kind() == OpKind::View;
  }

  /// KIR text may have been through this pass.
  static bool IsFreed(const Op* alloc) {
    const auto& uses = alloc->result()->uses();
    return std::any_of(uses.begin(), uses.end(),
                       [](const ir::Use& use) { return use.user->kind() == OpKind::Free; });
  }

  /// What uses a tensor, parts and views of it or these.
  static void AddUsers(const Value* tensor, std::vector<const Op*>& users) {
    for (const ir::Use& use : tensor->uses()) {
      users.push_back(use.user);
      bool shows_it = use.user->kind() == OpKind::Slice || use.user->kind() == OpKind::View;
      if (shows_it) AddUsers(use.user->result(), users);
    }
  }

  /// Frees a tensor behind the last op of its block that uses it, itself or inside. The runtime keeps memory for what
  /// was given to a queue, so events of regions need not be waited for.
  void End(Op* alloc, const ir::Block* block, const std::vector<Access>& state) {
    Op* last = alloc;
    std::vector<const Op*> users;
    AddUsers(alloc->result(), users);
    std::unordered_map<const Op*, int> places;
    for (Op* op : *block) {
      int place = static_cast<int>(places.size());
      places[op] = place;
      bool uses = false;
      for (const Op* user : users) uses = uses || Encloses(op, user);
      if (uses) last = op;
    }
    std::vector<Access> last_uses;
    AddConflicts(state, true, last_uses);
    std::vector<Value*> after;
    for (const Access& access : last_uses) {
      // What comes later uses a tensor that may be in its memory, and keeps that.
      bool before = access.event && places.at(access.event->def()) <= places.at(last);
      if (before) after.push_back(access.event);
    }
    ir::Builder builder(module_, last->block(), last->next());
    builder.set_loc(alloc->loc());
    builder.Create(OpKind::Free, {{alloc->result()}, after}, {});
  }

  ir::Module& module_;
  std::unordered_map<const Value*, std::vector<const Value*>> shared_;
  int time_ = 0;
};

/// KIR text may bring an order; it is made anew.
void DropOrder(const ir::Function& program) {
  ir::Walk(program.body, [](Op* op) {
    if (IsQueued(op) || IsHostAccess(op)) SetAfter(op, {});
  });
  ir::Walk(program.body, [](Op* op) {
    if (op->kind() == OpKind::Mark && op->result()->uses().empty()) Erase(op);
  });
}

}  // namespace

void RunOrderLaunches(PassContext& context) {
  for (ir::Function* function : context.module.functions()) {
    if (function->kind != ir::FunctionKind::Program) continue;
    DropOrder(*function);
    States states;
    Ordering(context.module, *function).Block(function->body, states);
  }
}

}  // namespace kdl::passes
