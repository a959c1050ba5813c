#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "ir/builder.h"
#include "ir/op_info.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "passes/analysis/tensor_touches.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"
#include "support/check.h"

// order-launches: makes a launch wait for earlier launches that write what it reads or writes, or that read
// what it writes. Launches that share no tensor may overlap. A local tensor is freed after its last use:
//   %h = alloc h ; %e0 = launch @f on @a (%x, %h) after() ;
//   %e1 = launch @g on @b (%h, %y) after(%e0) ; free %h after(%e1)
// If several conflicting ops are in one queue, it is enough to wait for the event of the last one. This event
// includes all ops that were put into the queue before, and fails if any of them fails. No event is needed
// for ops in the same queue, ops that another event includes, or ops for which the host has waited. Events
// are not used outside of their region or in a later iteration of a loop. After the region, ops in the same
// queue are in order anyway. For another queue, a mark includes everything that was put into it before:
//   loop { %m = mark on @d queue 0 ; %e2 = launch @f on @d queue 1 (%x, %h) after(%m) ; launch @g on @d queue 0 … }
// The host waits where it reads or writes an element, so no op needs to wait for the host. Tensors that a
// swap exchanges are ordered as one tensor in the whole program, because it is known only at run time which
// of them is in which memory. A part or view of a tensor is ordered like the tensor itself, but freed
// separately. A parameter that is written overlaps no other parameter, because the program rejects
// overlapping arguments. A transfer reads its tensor. Ops that use its result may access the tensor itself,
// because a transfer does not move a tensor that is already on the device.

namespace kdl::passes {

namespace {

struct Queue {
  Name device;
  int64_t number = 0;
  bool operator==(const Queue&) const = default;
  bool operator<(const Queue& other) const {
    return device == other.device ? number < other.number : device < other.device;
  }
};

Queue QueueOf(const Op* op) { return {op->attr<AttrKey::Device>(), op->attr<AttrKey::Queue>()}; }

struct Access {
  Queue queue;
  Value* event = nullptr;  ///< null if the access is in another iteration or region
  bool writes = false;
  int time = 0;  ///< position in the order in which ops are put into queues
};

/// For each queue, the time of the last op that is certain to be complete.
using Clock = std::map<Queue, int>;

void JoinInto(Clock& clock, const Clock& other) {
  for (const auto& [queue, time] : other) {
    int& known = clock[queue];
    known = std::max(known, time);
  }
}

bool Knows(const Clock& clock, const Access& access) {
  auto known = clock.find(access.queue);
  return known != clock.end() && known->second >= access.time;
}

/// The known state at a point of the program.
struct Reached {
  /// For each tensor, the accesses that may still be running: its last writer, and the readers since then.
  std::unordered_map<const Value*, std::vector<Access>> tensors;
  /// For each queue, the ops that are complete when its last op is complete.
  std::map<Queue, Clock> queues;
  Clock host;  ///< the ops that are complete when the host continues
};

/// How an op accesses a tensor's memory.
struct TensorEffect {
  const Value* tensor;
  bool writes;
};

/// Adds the last conflicting access of each queue to `conflicts`, and sorts `conflicts` by time.
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

class Ordering {
 public:
  Ordering(ir::Module& module, const ir::Function& program) : module_(module), classes_(program) {}

  void Block(const ir::Region* region, Reached& state) {
    for (Op* op : *region) {
      if (IsQueued(op)) Order(op, state);
      if (IsHostAccess(op)) OrderHost(op, state);
      if (op->regions().empty()) continue;
      Reached before = state;
      bool repeats = op->kind() == OpKind::Loop || op->kind() == OpKind::While;
      if (repeats) AddInside(op, before);
      for (const ir::Region* nested : op->regions()) {
        Reached inside = before;
        Block(nested, inside);
      }
      AddInside(op, state);
    }
    for (Op* op : *region) {
      if (HasLife(op) && !IsFreed(op)) End(op, region, state.tensors[op->result(0)]);
    }
  }

 private:
  /// Returns how an op accesses its tensors and the tensors that may share memory with them.
  std::vector<TensorEffect> EffectsOf(const Op* op) const {
    std::vector<TensorEffect> effects;
    for (const Touch& touch : TouchesOf(module_, op)) {
      const Value* tensor = touch.tensor;
      while (tensor) {
        tensor = ir::MemoryOf(tensor);
        for (const Value* shared : classes_.MembersOf(tensor))
          effects.push_back({shared, touch.writes});
        const Op* def = tensor->def();
        tensor = def && def->kind() == OpKind::Transfer ? def->operand(0) : nullptr;
      }
    }
    if (op->kind() == OpKind::Transfer) effects.push_back({op->result(0), true});
    return effects;
  }

  /// An event to wait for.
  struct Wait {
    Value* event;
    Access access;
  };

  /// Makes `op` wait for conflicting accesses that may not be complete yet. `known` describes the ops that
  /// are known to be complete, and is updated to the ops that are complete when `op` starts. `queue` is the
  /// queue of `op`; earlier ops in that queue need no event.
  void WaitForConflicts(Op* op, const std::vector<TensorEffect>& effects, Reached& state,
                        std::optional<Queue> queue, Clock& known) {
    std::vector<Access> conflicts;
    for (const TensorEffect& effect : effects)
      AddConflicts(state.tensors[effect.tensor], effect.writes, conflicts);
    // Events of later ops come first, because they include earlier ops. Accesses that need a mark come last,
    // because marks are created only if no other event is enough.
    std::ranges::sort(conflicts, {}, [](const Access& access) {
      return std::tuple(access.event == nullptr, access.event ? -access.time : 0, access.queue);
    });
    std::vector<Wait> waits;
    auto wait_for_rest = [&](Clock over) {
      for (const Access& access : conflicts) {
        if (access.queue == queue || Knows(over, access)) continue;
        Value* event = access.event ? access.event : MarkBefore(op, access.queue, state);
        waits.push_back({event, access});
        JoinInto(over, clocks_.at(event));
      }
    };
    wait_for_rest(known);
    DropImplied(waits);
    for (const Wait& wait : waits) JoinInto(known, clocks_.at(wait.event));
    // A dropped event may have included other accesses that have also been dropped, so look for these again.
    size_t kept = waits.size();
    wait_for_rest(known);
    for (size_t i = kept; i < waits.size(); ++i) JoinInto(known, clocks_.at(waits[i].event));
    std::ranges::sort(waits, {}, [](const Wait& wait) { return wait.access.time; });
    std::vector<Value*> after;
    for (const Wait& wait : waits) after.push_back(wait.event);
    SetAfter(op, after);
  }

  void DropImplied(std::vector<Wait>& waits) const {
    for (size_t i = waits.size(); i-- > 0;) {
      bool implied = std::ranges::any_of(waits, [&](const Wait& other) {
        return &other != &waits[i] && Knows(clocks_.at(other.event), waits[i].access);
      });
      if (!implied) continue;
      if (!waits[i].access.event) Erase(waits[i].event->def());
      waits.erase(waits.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  void OrderHost(Op* op, Reached& state) {
    std::vector<TensorEffect> effects = EffectsOf(op);
    WaitForConflicts(op, effects, state, std::nullopt, state.host);
    for (const TensorEffect& effect : effects) {
      if (effect.writes) state.tensors[effect.tensor].clear();
    }
  }

  void Order(Op* op, Reached& state) {
    Queue queue = QueueOf(op);
    std::vector<TensorEffect> effects = EffectsOf(op);
    Clock& clock = state.queues[queue];
    JoinInto(clock, state.host);
    WaitForConflicts(op, effects, state, queue, clock);
    clock[queue] = ++time_;
    clocks_[EventOf(op)] = clock;
    for (const TensorEffect& effect : effects)
      Record(state.tensors[effect.tensor], {queue, EventOf(op), effect.writes, time_});
  }

  Value* MarkBefore(Op* op, const Queue& queue, Reached& state) {
    ir::Builder builder(module_, op);
    Value* mark = builder.Make(
        OpKind::Mark, {}, builder.types().Event(),
        {ir::MakeAttr<AttrKey::Device>(queue.device), ir::MakeAttr<AttrKey::Queue>(queue.number)});
    Clock& clock = state.queues[queue];
    clock[queue] = ++time_;
    clocks_[mark] = clock;
    return mark;
  }

  static void Record(std::vector<Access>& state, const Access& access) {
    // A launch may have the same tensor as several operands. If it writes one of them, it counts as a writer.
    if (!state.empty() && state.front().writes && state.front().time == access.time) return;
    if (access.writes) state.clear();
    state.push_back(access);
  }

  /// Adds the accesses in the regions of an op to tensors that are defined outside of the op.
  void AddInside(const Op* outer, Reached& state) {
    ++time_;
    for (const ir::Region* region : outer->regions()) {
      ir::Walk(region, [&](const Op* op) {
        if (!IsQueued(op)) return;
        for (const TensorEffect& effect : EffectsOf(op)) {
          if (effect.tensor->def() && IsInside(effect.tensor->def(), outer)) continue;
          Access access{QueueOf(op), nullptr, effect.writes, time_};
          std::vector<Access>& accesses = state.tensors[effect.tensor];
          std::erase_if(accesses, [&](const Access& known) {
            return !known.event && known.queue == access.queue && known.writes == access.writes;
          });
          accesses.push_back(access);
        }
      });
    }
  }

  /// Returns whether the op creates a tensor that must be freed.
  static bool HasLife(const Op* op) { return op->info().has(ir::kFreed); }

  /// Returns whether the program already frees the tensor. It does if it was read from KIR text that had been
  /// printed after this pass.
  static bool IsFreed(const Op* alloc) {
    const auto& uses = alloc->result(0)->uses();
    return std::any_of(uses.begin(), uses.end(),
                       [](const ir::Use& use) { return use.user->kind() == OpKind::Free; });
  }

  /// Adds the ops that use a tensor, or a part or view of it.
  static void AddUsers(const Value* tensor, std::vector<const Op*>& users) {
    for (const ir::Use& use : tensor->uses()) {
      users.push_back(use.user);
      bool shows_it = use.user->kind() == OpKind::Slice || use.user->kind() == OpKind::View ||
                      use.user->kind() == OpKind::RankMemory;
      if (shows_it) AddUsers(use.user->result(), users);
    }
  }

  /// Frees a tensor after the last op of its region that uses it, directly or in an inner region. The runtime
  /// keeps the memory for ops that are still in queues, so it is not necessary to wait for events of inner
  /// regions.
  void End(Op* alloc, const ir::Region* region, const std::vector<Access>& accesses) {
    Op* last = alloc;
    std::vector<const Op*> users;
    AddUsers(alloc->result(0), users);
    std::unordered_map<const Op*, int> places;
    for (Op* op : *region) {
      int place = static_cast<int>(places.size());
      places[op] = place;
      bool uses = false;
      for (const Op* user : users) uses = uses || IsInside(user, op);
      if (uses) last = op;
    }
    // Later accesses belong to other tensors that a swap may have put into this memory; they keep it alive.
    std::vector<Access> uses;
    std::ranges::copy_if(accesses, std::back_inserter(uses), [&](const Access& access) {
      return access.event && places.at(access.event->def()) <= places.at(last);
    });
    std::vector<Access> last_uses;
    AddConflicts(uses, true, last_uses);
    std::vector<Wait> waits;
    for (const Access& access : last_uses) waits.push_back({access.event, access});
    DropImplied(waits);
    std::vector<Value*> after;
    for (const Wait& wait : waits) after.push_back(wait.event);
    ir::Builder builder(module_, last->parent_region(), last->next());
    builder.set_loc(alloc->loc());
    builder.Create(OpKind::Free, {{alloc->result(0)}, after}, {});
  }

  ir::Module& module_;
  SwapClasses classes_;
  /// For each event, the ops that are complete after it.
  std::unordered_map<const Value*, Clock> clocks_;
  int time_ = 0;
};

/// Removes the ordering that KIR text may already contain.
void DropOrder(const ir::Function& program) {
  ir::Walk(program.body, [](Op* op) {
    if (IsQueued(op) || IsHostAccess(op)) SetAfter(op, {});
  });
  ir::Walk(program.body, [](Op* op) {
    if (op->kind() == OpKind::Mark && op->result()->uses().empty()) Erase(op);
  });
}

}  // namespace

void RunOrderLaunches(PassContext& context, ir::Function& program) {
  DropOrder(program);
  Reached state;
  Ordering(context.module, program).Block(program.body, state);
}

}  // namespace kdl::passes
