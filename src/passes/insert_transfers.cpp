#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/program_tensors.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "passes/analysis/default_device.h"
#include "passes/analysis/tensor_touches.h"
#include "passes/diagnostics.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"

// insert-transfers: before each launch, moves the tensors that the launch uses to its device. While it walks
// over the program, it tracks which device owns each tensor and which devices have copies:
// - A launch on another device that only reads the tensor uses a copy, which is valid until the next write:
//     launch @f on @two (%x, %y)     ->  %x2, %e = transfer %x to @two {cause = "f reads it"}
//                                        launch @f on @two (%x2, %y)
// - The device of a launch that writes the tensor becomes its owner. Elements that may be read are moved
// there:
//     relocate %y to @two
// - If `on` fixes a tensor to a device, a launch on another device writes a copy, which is then copied back.
// Whole tensors are moved, even if a launch needs only a part. The launch then gets the same part of the
// moved tensor. A copy of a tensor that a loop does not change is made before the loop. A tensor that a loop
// changes is moved, before the loop, to the device of the last launch in the loop that writes it, so that
// each iteration ends with the tensor on the device where it began. If branches leave a tensor on different
// devices, one of the branches moves the tensor. The device of the caller's parameters is unknown: each
// parameter is moved to the device of its first launch, and parameters that are written are moved back at the
// end. Whether devices share memory is known only at run time; between devices that do, no data is moved.

namespace kdl::passes {

namespace {

/// The device and queue on which a launch or another op runs.
struct QueuePlace {
  Name device;
  int64_t queue = 0;
};

/// The known properties of a tensor at a point of the program.
struct Owner {
  Name device;        ///< the owner; empty if the tensor is on the device that the caller chose
  int64_t queue = 0;  ///< queue of the last op that wrote it
  bool is_fixed = true;
  bool has_elements = true;
  std::map<Name, Value*> copies = {};
};

using Owners = std::map<const Value*, Owner>;

/// How a launch uses one tensor.
struct Need {
  Value* root;
  bool reads = false;
  bool writes = false;
};

class Inserter {
 public:
  Inserter(PassContext& context, ir::Function& program)
      : context_(context), program_(program), classes_(program) {}

  void InsertTransfers() {
    FindDevices();
    Owners state;
    AddParams(state);
    Block(program_.body, state);
    for (const auto& [param, local] : locals_) {
      const Owner& owner = state.at(local);
      Op* end = program_.body->terminator();
      Emit(OpKind::CopyBack, {local, param}, {owner.device, owner.queue}, end,
           "the caller has it there", program_.loc);
    }
    for (const Value* tensor : moved_) RenewParts(tensor);
  }

 private:
  // -- Devices and parameters -------------------------------------------------------------------------

  void FindDevices() {
    ir::Walk(program_.body, [&](const Op* op) {
      if (op->kind() == OpKind::Relocate) asks_for_moves_ = true;
      bool counts = op->kind() == OpKind::Alloc || op->kind() == OpKind::Launch ||
                    op->kind() == OpKind::Lives || op->kind() == OpKind::Relocate;
      if (counts) devices_.insert(op->attr<AttrKey::Device>());
    });
  }

  /// Returns whether the program uses at most one device. If so, nothing is moved, and the parameters are on
  /// that device.
  bool HasOnePlace() const { return devices_.size() <= 1 && !asks_for_moves_; }

  void AddParams(Owners& state) {
    for (const ir::Param& param : program_.params) {
      if (param.value->type()->kind != ir::TypeKind::Tensor) continue;
      Owner owner;
      owner.has_elements = param.direction != ir::Direction::Out;
      for (const ir::Use& use : param.value->uses()) {
        if (use.user->kind() == OpKind::Lives) owner.device = use.user->attr<AttrKey::Device>();
      }
      if (HasOnePlace() && !devices_.empty()) owner.device = *devices_.begin();
      const Op* first = FirstLaunchOf(param.value);
      if (owner.device.empty() && first && IsWritten(param.value)) {
        AddLocal(param, first, state);
      } else {
        state[param.value] = std::move(owner);
      }
    }
  }

  const Op* FirstLaunchOf(const Value* root) const {
    const Op* first = nullptr;
    ForTouches([&](const Op* op, const Touch& touch) {
      bool is_it = op->kind() == OpKind::Launch && ir::MemoryOf(touch.tensor) == root;
      if (!first && is_it) first = op;
    });
    return first;
  }

  bool IsWritten(const Value* root) const {
    bool written = false;
    ForTouches([&](const Op* op, const Touch& touch) {
      bool writes = touch.writes && op->kind() != OpKind::Relocate;
      written = written || (writes && ir::MemoryOf(touch.tensor) == root);
    });
    return written;
  }

  template <class Visit>
  void ForTouches(Visit&& visit) const {
    ir::Walk(program_.body, [&](const Op* op) {
      for (const Touch& touch : TouchesOf(context_.module, op)) visit(op, touch);
    });
  }

  /// Makes the program work on a local copy of the parameter, on the device of the parameter's first launch
  /// (`first`).
  void AddLocal(const ir::Param& param, const Op* first, Owners& state) {
    Op* user = nullptr;
    for (Op* op : *program_.body) {
      bool uses = std::ranges::any_of(param.value->uses(),
                                      [&](const ir::Use& use) { return IsInside(use.user, op); });
      if (uses && !user) user = op;
    }
    QueuePlace place = QueuePlaceOf(first);
    bool is_fresh = param.direction == ir::Direction::Out;
    Op* transfer = Emit(OpKind::Transfer, {param.value}, place, user,
                        fmt::format("{} uses it", CauseText(first)), first->loc(), is_fresh);
    Value* local = transfer->result(0);
    param.value->ReplaceAllUsesWith(local);
    transfer->SetOperand(0, param.value);
    state[local] = {place.device, place.queue, false, !is_fresh, {}};
    locals_.emplace_back(param.value, local);
  }

  // -- Ops ----------------------------------------------------------------------------------------

  void Block(const ir::Region* region, Owners& state) {
    for (Op* op : *region) Visit(op, state);
  }

  void Visit(Op* op, Owners& state) {
    switch (op->kind()) {
      case OpKind::Alloc:
        state[op->result()] = {
            op->attr<AttrKey::Device>(), 0, !op->HasAttr(AttrKey::ByUse), false, {}};
        return;
      case OpKind::Transfer:  // occurs only in KIR text
        state.try_emplace(op->result(0), Owner{.device = op->attr<AttrKey::Device>()});
        return;
      case OpKind::Launch:
        return Launch(op, state);
      case OpKind::Relocate:
        return MoveAsSaid(op, state);
      case OpKind::Swap:
        return std::swap(state[op->operand(0)], state[op->operand(1)]);
      case OpKind::Copy:
      case OpKind::Fill:
        SetPlace(op, state);
        return NoteWrites(op, state);
      case OpKind::HostStore:
      case OpKind::Draw:
      case OpKind::Restore:
      case OpKind::CopyBack:
        return NoteWrites(op, state);
      case OpKind::Loop:
      case OpKind::While:
        return Loop(op, state);
      case OpKind::If:
        return If(op, state);
      default:
        return;
    }
  }

  /// Makes a copy or fill op run on the device that owns its destination.
  void SetPlace(Op* op, Owners& state) {
    Name device;
    for (const Touch& touch : TouchesOf(context_.module, op)) {
      const Owner& owner = state[ir::MemoryOf(touch.tensor)];
      if (device.empty() || (touch.writes && !owner.device.empty())) device = owner.device;
    }
    if (device.empty())
      device = devices_.empty() ? DefaultDevice(context_.module) : *devices_.begin();
    op->SetAttr(ir::MakeAttr<AttrKey::Device>(device));
  }

  void NoteWrites(const Op* op, Owners& state) {
    for (const Touch& touch : TouchesOf(context_.module, op)) {
      if (!touch.writes) continue;
      Owner& owner = state[ir::MemoryOf(touch.tensor)];
      owner.has_elements = true;
      owner.copies.clear();
    }
  }

  void Launch(Op* launch, Owners& state) {
    QueuePlace place = QueuePlaceOf(launch);
    for (const Need& need : NeedsOf(launch)) {
      Owner& owner = state[need.root];
      if (owner.device == place.device) {
        if (need.writes) Written(owner, place);
      } else if (!need.writes) {
        Use(launch, need.root,
            CopyFor(launch, need.root, place, owner,
                    fmt::format("{} reads it", CauseText(launch))));
      } else if (owner.is_fixed) {
        WriteCopy(launch, need, place, owner);
      } else {
        Relocate(need.root, owner, place, launch, fmt::format("{} writes it", CauseText(launch)),
                 launch->loc(), !need.reads);
        Written(owner, place);
      }
    }
  }

  std::vector<Need> NeedsOf(const Op* launch) const {
    std::vector<Need> needs;
    for (const Touch& touch : TouchesOf(context_.module, launch)) {
      Value* root = ir::MemoryOf(touch.tensor);
      auto need = std::ranges::find(needs, root, &Need::root);
      if (need == needs.end()) need = needs.insert(need, {root});
      need->writes = need->writes || touch.writes;
      need->reads =
          need->reads || touch.reads || touch.tensor != root;  // a part: the rest must be kept
    }
    return needs;
  }

  static void Written(Owner& owner, const QueuePlace& place) {
    owner.has_elements = true;
    owner.queue = place.queue;
    owner.copies.clear();
  }

  /// If `on` fixes a tensor to another device, makes the launch write a copy of the tensor, which is then
  /// copied back.
  void WriteCopy(Op* launch, const Need& need, const QueuePlace& place, Owner& owner) {
    std::string name(CauseText(launch));
    bool reads = need.reads && owner.has_elements;
    auto known = owner.copies.find(place.device);
    Value* copy = known != owner.copies.end() && reads
                      ? known->second
                      : Emit(OpKind::Transfer, {need.root}, place, launch,
                             fmt::format("{} writes it", name), launch->loc(), !reads)
                            ->result(0);
    if (reads) RemarkIteration(launch, need.root, owner.device, place.device, launch->loc());
    Use(launch, need.root, copy);
    Emit(OpKind::CopyBack, {copy, need.root}, place, launch->next(),
         fmt::format("{} has written it", name), launch->loc());
    Written(owner, place);
    owner.copies[place.device] = copy;
  }

  /// Returns the copy of a tensor on a device. If there is none yet, creates it before the outermost loop
  /// around `user` that does not change the tensor.
  Value* CopyFor(Op* user, Value* root, const QueuePlace& place, Owner& owner,
                 const std::string& cause) {
    if (auto known = owner.copies.find(place.device); known != owner.copies.end())
      return known->second;
    Op* before = user;
    for (const auto& loop : loops_) {
      bool is_changed = loop.changed.contains(root) || IsInside(root->def(), loop.op);
      if (is_changed) continue;
      before = loop.op;
      break;
    }
    RemarkIteration(before, root, owner.device, place.device, user->loc());
    Value* copy = Emit(OpKind::Transfer, {root}, place, before, cause, user->loc())->result(0);
    return owner.copies[place.device] = copy;
  }

  /// Handles a move that the source requests: `x to d`.
  void MoveAsSaid(Op* op, Owners& state) {
    Value* root = ir::MemoryOf(op->operand(0));
    Owner& owner = state[root];
    QueuePlace place = QueuePlaceOf(op);
    std::string cause = op->attr<AttrKey::Cause>().str();
    if (owner.device != place.device && owner.is_fixed) {
      CopyFor(op, root, place, owner, cause);
    } else if (owner.device != place.device) {
      Relocate(root, owner, place, op, cause, op->loc(), op->HasAttr(AttrKey::Fresh));
    }
    // In KIR text, other ops may wait for the event of this op. They will get new events later.
    for (const ir::Use& use : std::vector<ir::Use>(op->result()->uses())) DropEvent(use.user, op);
    ir::Erase(op);
  }

  static void DropEvent(Op* user, const Op* event) {
    std::span<Value* const> known = AfterOf(user);
    std::vector<Value*> after(known.begin(), known.end());
    std::erase(after, event->result());
    SetAfter(user, after);
  }

  void Relocate(Value* root, Owner& owner, const QueuePlace& place, Op* before,
                const std::string& cause, ir::Loc loc, bool is_fresh) {
    is_fresh = is_fresh || !owner.has_elements;
    if (!is_fresh) RemarkIteration(before, root, owner.device, place.device, loc);
    Emit(OpKind::Relocate, {root}, place, before, cause, loc, is_fresh);
    owner.device = place.device;
    owner.queue = place.queue;
    owner.copies.erase(place.device);
    moved_.insert(root);
  }

  // -- Regions ------------------------------------------------------------------------------------

  struct OpenLoop {
    Op* op;
    std::set<const Value*> changed;
  };

  /// Returns the tensors that a loop or branch changes. Maps each tensor to the last op inside that
  /// determines its device, or to null if no such op writes it.
  std::map<const Value*, const Op*> ChangedIn(const Op* outer) const {
    std::map<const Value*, const Op*> changed;
    for (const ir::Region* region : outer->regions()) {
      ir::Walk(region, [&](const Op* op) {
        if (op->kind() == OpKind::Swap) {
          for (const Value* tensor : op->operands()) changed.try_emplace(tensor, nullptr);
        }
        for (const Touch& touch : TouchesOf(context_.module, op)) {
          if (!touch.writes) continue;
          const Op*& last = changed[ir::MemoryOf(touch.tensor)];
          bool says_where = op->kind() == OpKind::Launch || op->kind() == OpKind::Relocate;
          if (says_where) last = op;
        }
      });
    }
    return changed;
  }

  /// Returns the last op in `changed` that determines the device of a tensor, or of a tensor with which it is
  /// swapped.
  const Op* LastWriter(const std::map<const Value*, const Op*>& changed, const Value* root) const {
    const Op* last = nullptr;
    for (const auto& [tensor, op] : changed) {
      bool is_it = op && classes_.RepresentativeOf(tensor) == classes_.RepresentativeOf(root);
      if (is_it && (!last || IsAfter(op, last))) last = op;
    }
    return last;
  }

  bool IsAfter(const Op* op, const Op* other) const {
    bool seen = false;
    bool after = false;
    ir::Walk(program_.body, [&](const Op* one) {
      after = after || (one == op && seen);
      seen = seen || one == other;
    });
    return after;
  }

  void Loop(Op* loop, Owners& state) {
    std::map<const Value*, const Op*> changed = ChangedIn(loop);
    for (auto& [root, owner] : state) {
      if (!changed.contains(root)) continue;
      const Op* last = owner.is_fixed ? nullptr : LastWriter(changed, root);
      if (last && QueuePlaceOf(last).device != owner.device) {
        Relocate(const_cast<Value*>(root), owner, QueuePlaceOf(last), loop,
                 fmt::format("{} writes it in the loop", CauseText(last)), last->loc(), false);
      }
      owner.copies.clear();
      owner.has_elements = true;
    }
    loops_.push_back({loop, {}});
    for (const auto& [root, last] : changed) loops_.back().changed.insert(root);
    Owners inside = state;
    Block(loop->region(), inside);
    Settle(loop->region(), inside, state);
    loops_.pop_back();
    Leave(loop, inside, changed, state);
  }

  void If(Op* op, Owners& state) {
    std::map<const Value*, const Op*> changed = ChangedIn(op);
    Owners sides[2] = {state, state};
    for (size_t r = 0; r < 2; ++r) Block(op->region(r), sides[r]);
    for (auto& [root, owner] : state) {
      const Owner& last = sides[1][root].device != owner.device ? sides[1][root] : sides[0][root];
      owner.device = last.device;
      owner.queue = last.queue;
    }
    for (size_t r = 0; r < 2; ++r) Settle(op->region(r), sides[r], state);
    for (auto& [root, owner] : state)
      owner.has_elements = sides[0][root].has_elements || sides[1][root].has_elements;
    for (const Owners& side : sides) Leave(op, side, changed, state);
  }

  /// Moves each tensor to the device where it must be at the end of a region.
  void Settle(const ir::Region* region, Owners& inside, const Owners& outside) {
    for (const auto& [root, owner] : outside) {
      Owner& here = inside.at(root);
      if (here.device == owner.device) continue;
      Op* end = region->terminator();
      bool is_loop = region->parent()->kind() != OpKind::If;
      Relocate(const_cast<Value*>(root), here, {owner.device, owner.queue}, end,
               is_loop ? "the next iteration needs it there" : "the other branch leaves it there",
               region->parent()->loc(), false);
    }
  }

  /// Keeps the copies of a tensor that were made before the op, unless the op's regions change the tensor.
  void Leave(const Op* op, const Owners& inside, const std::map<const Value*, const Op*>& changed,
             Owners& state) {
    for (auto& [root, owner] : state) {
      if (changed.contains(root)) {
        owner.copies.clear();
        continue;
      }
      for (const auto& [device, copy] : inside.at(root).copies) {
        if (!IsInside(copy->def(), op)) owner.copies[device] = copy;
      }
    }
  }

  // -- Creating ops -----------------------------------------------------------------------------------

  static QueuePlace QueuePlaceOf(const Op* op) {
    return {op->attr<AttrKey::Device>(), op->attr<AttrKey::Queue>()};
  }

  std::string CauseText(const Op* op) const {
    if (op->kind() != OpKind::Launch) return op->attr<AttrKey::Cause>().str();
    return std::string(context_.module.FindFunction(op->attr<AttrKey::Callee>())->base_name());
  }

  Op* Emit(OpKind kind, std::vector<Value*> tensors, const QueuePlace& place, Op* before,
           const std::string& cause, ir::Loc loc, bool is_fresh = false) {
    ir::Builder builder(context_.module, before->parent_region(), before);
    builder.set_loc(loc);
    std::vector<ir::Attr> attrs = {
        ir::MakeAttr<AttrKey::Device>(place.device), ir::MakeAttr<AttrKey::Queue>(place.queue),
        ir::MakeAttr<AttrKey::Cause>(context_.module.context().names.Intern(cause))};
    if (is_fresh) attrs.push_back(ir::MakeAttr<AttrKey::Fresh>(1));
    ir::Builder::Segments operands;
    for (Value* tensor : tensors) operands.push_back({tensor});
    operands.emplace_back();
    std::vector<ir::Type> results = {builder.types().Event()};
    if (kind == OpKind::Transfer) results.insert(results.begin(), tensors[0]->type());
    return builder.Create(kind, operands, results, std::move(attrs));
  }

  /// Replaces a tensor, or parts of the tensor, in the launch's operands by a copy of the tensor.
  void Use(Op* launch, Value* root, Value* copy) {
    for (const Touch& touch : TouchesOf(context_.module, launch)) {
      if (ir::MemoryOf(touch.tensor) == root) Replace(launch, touch.operand, copy, root);
    }
  }

  /// Returns the part of `copy` that corresponds to `part`, which is a part of `root`. Creates it before the
  /// op `before`.
  Value* PartOfCopy(Value* copy, const Value* root, Value* part, Op* before) {
    if (part == root) return copy;
    Op* def = part->def();
    Value* whole = PartOfCopy(copy, root, def->operand(0), before);
    ir::Builder builder(context_.module, before->parent_region(), before);
    ir::ValueMap map{{def->operand(0), whole}};
    return ir::Clone(def, builder, map)->result();
  }

  void Replace(Op* op, uint32_t operand, Value* copy, const Value* root) {
    Value* part = op->operand(operand);
    op->SetOperand(operand, PartOfCopy(copy, root, part, op));
    while (part != root && part->uses().empty()) {
      Op* def = part->def();
      part = def->operand(0);
      ir::Erase(def);
    }
  }

  /// Recreates the parts of a moved tensor where they are used, because existing parts refer to the tensor's
  /// former memory.
  void RenewParts(const Value* tensor) {
    for (Op* op : ir::UsersOfMemory(tensor)) {
      for (uint32_t i = 0; i < op->operands().size(); ++i) {
        Value* part = op->operand(i);
        bool is_part = part != tensor && part->type()->kind == ir::TypeKind::Tensor &&
                       ir::MemoryOf(part) == tensor;
        if (is_part) Replace(op, i, const_cast<Value*>(tensor), tensor);
      }
    }
  }

  /// Warns about a tensor that outlives an iteration of the loop around `op`, but is moved in each iteration.
  void RemarkIteration(const Op* op, const Value* root, Name from, Name to, ir::Loc loc) {
    const Op* loop = op->parent_region()->parent();
    while (loop && loop->kind() == OpKind::If) loop = loop->parent_region()->parent();
    if (!loop || IsInside(root->def(), loop)) return;
    context_.diagnostics.Report(diag::MovesEachIteration, context_.SpanOf(loc),
                                ir::SourceName(root),
                                from.empty() ? "the caller's device" : from.text(), to.text());
  }

  PassContext& context_;
  ir::Function& program_;
  SwapClasses classes_;
  std::set<Name> devices_;
  bool asks_for_moves_ = false;
  std::vector<std::pair<Value*, Value*>> locals_;  ///< parameters and their local copies
  std::vector<OpenLoop> loops_;                    ///< outermost first
  std::set<const Value*> moved_;
};

}  // namespace

void RunInsertTransfers(PassContext& context, ir::Function& program) {
  Inserter(context, program).InsertTransfers();
}

}  // namespace kdl::passes
