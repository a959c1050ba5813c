#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "ir/op_info.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "targets/simt/iteration_parts.h"
#include "targets/simt/passes.h"
#include "targets/simt/rings/ring_loop.h"

// insert-barriers: inserts a barrier before each op that accesses memory which other threads may have
// accessed since the last barrier, if one of the accesses is a write. In a loop, accesses of the previous
// iteration are also considered. A barrier that only the first iteration needs is placed before the loop.
//
// Iterations with the same number run on the same thread, even if they belong to different workgroup loops. A
// loop with one iteration runs on the first thread. Therefore, two loops need no barrier between them if each
// element is accessed in iterations with the same number. Slots of a ring buffer (rings/ring_loop.h) are
// treated as separate memory. They are numbered relative to the slot of the current iteration, so the slot of
// the previous iteration has the last number. If the accesses of each iteration of a loop stay in a part of a
// dimension that belongs to the iteration (iteration_parts.h), different iterations need no barrier between them.
//
//   loop {threads} { buffer_store … to %m }     ->   loop {threads} { buffer_store … to %m }
//   loop {threads} { buffer_load %m … }              barrier
//                                                    loop {threads} { buffer_load %m … }

namespace kdl::simt {

namespace {

using ir::Effect;

/// A string that identifies which thread of a workgroup loop accesses which element: if two accesses have the
/// same string, each element is accessed by the same thread in both. If the loop has one iteration, the string
/// names the first thread. Otherwise, it lists the number of lanes and the indices as functions of the
/// iteration's number `p`, as in `1: (p/8),(p%8),`. The string is empty if the indices do not determine `p`.
using Way = std::string;

/// A part of a memory that belongs to an iteration of `loop`, numbered relative to the current iteration. If `slots` is 0, it
/// is the part of dimension `dim` that only this iteration accesses; number 0 is that of the current iteration, and number -1
/// stands for those of all earlier ones. Otherwise, it is a slot of a ring buffer.
struct Part {
  const Op* loop;
  size_t dim;
  int64_t number;
  int64_t slots;

  auto operator<=>(const Part&) const = default;
  bool IsApart(const Part& other) const {
    return loop == other.loop && dim == other.dim && slots == other.slots && number != other.number;
  }
};

/// Memory that is accessed, and the parts of it that contain what is accessed.
struct Spot {
  const Value* memory;
  std::vector<Part> parts = {};

  auto operator<=>(const Spot&) const = default;
  bool IsApart(const Spot& other) const {
    return memory != other.memory || std::ranges::any_of(parts, [&](const Part& part) {
             return std::ranges::any_of(
                 other.parts, [&](const Part& of_other) { return part.IsApart(of_other); });
           });
  }
};

using Ways = std::map<Spot, std::set<Way>>;

/// The accesses since the last barrier.
struct Touched {
  Ways read;
  Ways changed;

  static void Add(Ways& to, const Ways& from) {
    for (const auto& [memory, ways] : from) to[memory].insert(ways.begin(), ways.end());
  }
  void Add(const Touched& other) {
    Add(read, other.read);
    Add(changed, other.changed);
  }
  /// Renumbers parts relative to the next iteration of the loop. If the loop has ended, they are forgotten, and
  /// each access may have been to any of them.
  void Leave(const Op* loop, bool has_ended) {
    for (Ways* ways : {&read, &changed}) {
      Ways counted;
      for (const auto& [spot, how] : *ways) {
        Spot moved = spot;
        if (has_ended)
          std::erase_if(moved.parts, [&](const Part& part) { return part.loop == loop; });
        for (Part& part : moved.parts) {
          if (part.loop != loop) continue;
          part.number = part.slots == 0 ? -1 : (part.number + part.slots - 1) % part.slots;
        }
        counted[moved].insert(how.begin(), how.end());
      }
      *ways = std::move(counted);
    }
  }
  /// Removes accesses to tensors. Called between two blocks of a core: a block must not depend on what another
  /// block does to tensors, so no barrier is needed between their accesses.
  void ForgetTensors() {
    auto is_tensor = [](const auto& entry) {
      return entry.first.memory->type()->kind == ir::TypeKind::Tensor;
    };
    std::erase_if(read, is_tensor);
    std::erase_if(changed, is_tensor);
  }
  bool operator==(const Touched&) const = default;
};

/// Returns whether different threads may access the same element, one thread in `a` and the other in `b`.
bool Meet(const Ways& a, const Ways& b) {
  auto meet = [](const Ways::value_type& one, const Ways::value_type& other) {
    bool same =
        one.second == other.second && one.second.size() == 1 && !one.second.begin()->empty();
    return !one.first.IsApart(other.first) && !same;
  };
  return std::ranges::any_of(a, [&](const auto& one) {
    return std::ranges::any_of(b, [&](const auto& other) { return meet(one, other); });
  });
}

bool Collide(const Touched& before, const Touched& now) {
  return Meet(before.changed, now.read) || Meet(before.changed, now.changed) ||
         Meet(before.read, now.changed);
}

/// Returns the memory that an operand refers to if threads share this memory, otherwise null.
const Value* SharedMemory(const Value* operand) {
  if (operand->type()->kind == ir::TypeKind::Tensor) return ir::MemoryOf(operand);
  bool is_workgroup = operand->type()->kind == ir::TypeKind::Buffer &&
                      operand->type()->space == ir::Space::Workgroup;
  // Accesses to buffers with this attribute need no barriers, because mbarriers synchronize them.
  return is_workgroup && !operand->def()->HasAttr(ir::AttrKey::MbarrierOrdered) ? operand : nullptr;
}

bool IsOfKind(const Op* op, OpKind kind) { return op && op->kind() == kind; }

/// If the value is the number of a loop's current iteration, counted from 0, returns the loop. Otherwise
/// returns null.
const Op* CountedLoop(const Value* number) {
  const Op* div = number->def();
  const Op* sub = IsOfKind(div, OpKind::Div) ? div->operand(0)->def() : nullptr;
  if (!IsOfKind(sub, OpKind::Sub) || sub->operand(0)->def()) return nullptr;
  const Op* loop = sub->operand(0)->parent_region()->parent();
  bool counts = IsOfKind(loop, OpKind::Loop) && sub->operand(0) == loop->region()->param(0) &&
                sub->operand(1) == loop->operand(ir::LoopOp::at_lo) &&
                div->operand(1) == loop->operand(ir::LoopOp::at_step);
  return counts ? loop : nullptr;
}

/// Returns the slot of a ring buffer that the op accesses, or nothing if it is unknown.
std::optional<Part> AccessedSlot(const Op* op, const Value* memory) {
  const Value* index =
      memory->type()->kind == ir::TypeKind::Buffer ? SlotIndexOf(op, memory) : nullptr;
  const Op* rem = index ? index->def() : nullptr;
  int64_t slots = index ? memory->type()->dims[0]->value : 0;
  if (!IsOfKind(rem, OpKind::Rem) || ConstantOf(rem->operand(1)) != slots) return std::nullopt;
  const Value* number = rem->operand(0);
  int64_t slot = 0;
  if (IsOfKind(number->def(), OpKind::Add) && ConstantOf(number->def()->operand(1))) {
    slot = *ConstantOf(number->def()->operand(1));
    number = number->def()->operand(0);
  }
  const Op* loop = CountedLoop(number);
  return loop && slot >= 0 ? std::optional(Part{loop, 0, slot % slots, slots}) : std::nullopt;
}

Spot AccessedSpot(const Op* op, const Value* memory) {
  Spot spot{memory};
  if (std::optional<Part> slot = AccessedSlot(op, memory)) spot.parts.push_back(*slot);
  for (const auto& [loop, dim] : IterationPartsOf(op, memory))
    spot.parts.push_back({loop, dim, 0, 0});
  return spot;
}

/// Returns a string such as `((p/4)%8)`, which states how the value is computed from the iteration's number
/// `p`. Only divisions and remainders by constants are supported; for other values, the string is empty.
std::string DigitText(const Value* value, const Value* iteration) {
  if (!value) return "";
  if (value == iteration) return "p";
  const Op* def = value->def();
  if (!def || (def->kind() != OpKind::Div && def->kind() != OpKind::Rem)) return "";
  std::optional<int64_t> by = ConstantOf(def->operand(1));
  std::string of = DigitText(def->operand(0), iteration);
  if (!by || of.empty()) return "";
  return fmt::format("({}{}{})", of, def->kind() == OpKind::Div ? '/' : '%', *by);
}

/// Returns whether the digits, which are strings from `DigitText`, determine the number `p`. They do if no two
/// numbers have the same digits.
bool TellNumber(std::set<std::string> digits) {
  for (std::string rest = "p"; !digits.empty();) {
    if (digits.size() == 1 && *digits.begin() == rest) return true;
    std::string cut = "(" + rest + "%";
    auto digit = digits.lower_bound(cut);
    if (digit == digits.end() || !digit->starts_with(cut)) return false;
    std::string by = digit->substr(cut.size());
    digits.erase(digit);
    rest = "(" + rest + "/" + by;
  }
  return false;
}

/// If `index`, the start of a vector, is known to be a multiple of the number of lanes, returns the number of
/// the vector. Otherwise returns null.
const Value* NumberOfVector(const Value* index, int64_t lanes) {
  if (lanes == 1) return index;
  const Op* def = index->def();
  bool is_multiple = IsOfKind(def, OpKind::Mul) && ConstantOf(def->operand(1)) == lanes;
  return is_multiple ? def->operand(0) : nullptr;
}

/// Returns the string that describes the op's accesses in the workgroup loop `loop`, which may be null. It is
/// empty if it is unknown which thread accesses which element.
Way AccessWay(const Op* op, const Op* loop) {
  bool from_0 = loop && ConstantOf(loop->operand(0)) == 0 && ConstantOf(loop->operand(2)) == 1;
  if (from_0 && ConstantOf(loop->operand(1)) == 1) return "of the first thread";
  if (!from_0 || (op->kind() != OpKind::BufferLoad && op->kind() != OpKind::BufferStore)) return "";
  auto index = op->Segment(op->kind() == OpKind::BufferLoad ? size_t{ir::BufferLoadOp::at_index}
                                                            : size_t{ir::BufferStoreOp::at_index});
  const Value* element = op->kind() == OpKind::BufferLoad ? op->result() : op->operand(0);
  int64_t lanes = ir::Lanes(element->type());
  Way way = fmt::format("{}: ", lanes);
  std::set<std::string> digits;
  for (const Value* value : index) {
    bool is_row = value == index.back();
    std::string digit =
        DigitText(is_row ? NumberOfVector(value, lanes) : value, loop->region()->param(0));
    if (digit.empty() || !digits.insert(digit).second) return "";
    way += digit + ",";
  }
  return TellNumber(std::move(digits)) ? way : "";
}

/// Returns the accesses of the op itself, without those in its regions.
Touched TouchedBy(const Op* op, const Op* loop) {
  Touched touched;
  for (size_t s = 0; s < op->info().operands.size(); ++s) {
    Effect effect = op->info().operands[s].effect;
    if (effect == Effect::Shows) continue;
    for (const Value* operand : op->Segment(s)) {
      const Value* memory = SharedMemory(operand);
      if (!memory) continue;
      Ways& ways = effect == Effect::Read ? touched.read : touched.changed;
      ways[AccessedSpot(op, memory)].insert(AccessWay(op, loop));
    }
  }
  return touched;
}

class BarrierPlacer {
 public:
  explicit BarrierPlacer(ir::Module& module) : b_(module) {}

  /// Processes a region. `open` contains the accesses since the last barrier at the start of the region.
  /// Returns those at its end. Inserts barriers only if `places` is true.
  Touched Block(const ir::Region* region, Touched open, bool places) {
    for (Op* op : *region) open = One(op, std::move(open), places);
    return open;
  }

 private:
  Touched One(Op* op, Touched open, bool places) {
    bool of_workgroup = op->HasAttr(ir::AttrKey::Threads);
    if (of_workgroup || op->regions().empty()) {
      Touched now = TouchedBy(op, nullptr);
      if (of_workgroup)
        ir::Walk(op->region(), [&](const Op* inner) { now.Add(TouchedBy(inner, op)); });
      return Next(op, std::move(open), now, places);
    }
    if (op->kind() == OpKind::If) return Branches(op, std::move(open), places);
    return Loop(op, std::move(open), places);
  }

  /// Handles a branch op. If the accesses in `open` require a barrier in each of the two branches, one
  /// barrier before the branch op replaces both.
  Touched Branches(Op* op, Touched open, bool places) {
    auto asks = [&](const ir::Region* region) {
      return Wanted(region, open) > Wanted(region, Touched());
    };
    if (open != Touched() && asks(op->region(0)) && asks(op->region(1))) {
      Place(op, places);
      open = {};
    }
    Touched after = Block(op->region(0), open, places);
    after.Add(Block(op->region(1), open, places));
    return after;
  }

  /// Returns how many barriers a region needs if the accesses in `open` come before it.
  int64_t Wanted(const ir::Region* region, const Touched& open) {
    const int64_t before = std::exchange(wanted_, 0);
    Block(region, open, false);
    return std::exchange(wanted_, before);
  }

  Touched Loop(Op* op, Touched open, bool places) {
    // Each enclosing loop analyzes this loop several times, so the results are cached.
    std::vector<Answer>& known = answers_[op];
    auto same = std::ranges::find(known, open, &Answer::open);
    if (!places && same != known.end()) {
      wanted_ += same->wanted;
      return same->after;
    }
    Answer answer{open, {}, -wanted_};
    answer.after = Walked(op, std::move(open), places);
    answer.wanted += wanted_;
    known.push_back(answer);
    return answer.after;
  }

  /// Handles a loop. If a barrier in the loop's body is required only by accesses before the loop, one
  /// barrier before the loop replaces it.
  Touched Walked(Op* op, Touched open, bool places) {
    auto [entry, inside] = Iterations(op, open);
    if (inside > 0 && open != Touched()) {
      auto [closed, left] = Iterations(op, {});
      if (left < inside) {
        Place(op, places);
        open = {};
        entry = std::move(closed);
      }
    }
    Touched after = Block(op->region(), std::move(entry), places);
    after.Leave(op, true);
    after.Add(open);
    return after;
  }

  /// Returns the accesses that may have happened since the last barrier when an iteration starts. Also
  /// returns the number of barriers in the body.
  std::pair<Touched, int64_t> Iterations(const Op* op, const Touched& open) {
    const int64_t before = wanted_;
    Touched entry = open;
    for (;;) {
      wanted_ = 0;
      Touched end = Block(op->region(), entry, false);
      if (op->HasAttr(ir::AttrKey::Blocks)) end.ForgetTensors();
      end.Leave(op, false);
      Touched again = entry;
      again.Add(end);
      if (again == entry) break;
      entry = std::move(again);
    }
    return {std::move(entry), std::exchange(wanted_, before)};
  }

  void Place(Op* op, bool places) {
    ++wanted_;
    if (!places) return;
    b_.StandAt(op);
    b_.Create(OpKind::Barrier, {}, {});
  }

  Touched Next(Op* op, Touched open, const Touched& now, bool places) {
    if (op->kind() == OpKind::Sync || op->kind() == OpKind::Barrier) return {};
    // An `async_copy_wait` needs no barrier, because a thread waits only for copies that it has begun itself.
    if (op->kind() != OpKind::AsyncCopyWait && Collide(open, now)) {
      Place(op, places);
      open = {};
    }
    open.Add(now);
    return open;
  }

  /// A cached result of analyzing a loop: the accesses before the loop and after it, and the number of barriers in
  /// it.
  struct Answer {
    Touched open;
    Touched after;
    int64_t wanted;
  };

  ir::Builder b_;
  int64_t wanted_ = 0;  ///< the number of barriers so far, whether or not they were inserted
  std::unordered_map<const Op*, std::vector<Answer>> answers_;
};

}  // namespace

void RunInsertBarriers(PassContext& context, ir::Function& kernel) {
  BarrierPlacer(context.module).Block(kernel.body, {}, true);
}

}  // namespace kdl::simt
