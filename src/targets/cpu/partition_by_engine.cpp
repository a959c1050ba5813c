#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "ir/builder.h"
#include "ir/op_info.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "passes/rewriting/drop_unused.h"
#include "passes/rewriting/rewrite.h"
#include "support/check.h"
#include "targets/cpu/analysis/kernel_shape.h"
#include "targets/cpu/passes.h"

// partition-by-engine: for a device with separate matrix and vector engines, turns a kernel without stages
// into two stages, one for each engine. Both stages run the same loops. Each stage computes the scalars that
// it needs, and loads elements of tensors that the kernel does not write. A tile that one engine computes and
// the other one uses goes through a pipe: it is pushed right after it is computed, and popped at the same
// place in the other stage. In source order, a pipe therefore never contains more than one tile, so even a
// pipe with room for only one tile cannot cause a deadlock.
//
//   spmd (%i, %j) { %s = contraction %a, %b … ; %e = exp %s ; store %e to %y }
//   -> stage {matrix} { spmd (%i, %j) { %s = contraction %a, %b … ; push %s to %q over i, j } }
//      stage {vector} { spmd (%i, %j) { %t = pop %q over i, j ; %e = exp %t ; store %e to %y } }

namespace kdl::cpu {

namespace {

using ir::MakeAttr;
using ir::Region;

constexpr int64_t kDepth = 2;  // the depth of the pipes; lets the two engines work at the same time

enum class Engine : uint8_t { Either, Matrix, Vector };

Engine Other(Engine engine) { return engine == Engine::Matrix ? Engine::Vector : Engine::Matrix; }

/// Whether both engines execute the op's regions. A reduction with a region belongs to a single engine.
bool IsWalked(const Op* op) {
  return !op->regions().empty() && op->kind() != OpKind::MultiReduce && op->kind() != OpKind::Scan;
}

/// Assigns an engine to each value and each op.
class Assignment {
 public:
  explicit Assignment(const ir::Function& kernel) {
    ir::Walk(kernel.body, [&](const Op* op) {
      if (op->kind() == OpKind::Store)
        written_.insert(ir::MemoryOf(op->operand(ir::StoreOp::at_tensor)));
    });
    // The values that loops carry depend on what their bodies yield, so repeat until nothing changes.
    do changed_ = false, Visit(kernel.body);
    while (changed_);
    // Engines are assigned to stores only once, before the stages get copies of the stores.
    for (const Op* op : OpsOfKind(kernel, OpKind::Store)) stores_[op] = StoreEngine(op);
  }

  Engine EngineOf(const Value* value) const {
    auto found = values_.find(value);
    return found == values_.end() ? Engine::Either : found->second;
  }

  /// Returns the engine that executes the op. Returns `Either` for an op that each stage can execute for
  /// itself, such as a computation of scalars, and for loops and branches, which both stages contain.
  Engine EngineOf(const Op* op) const {
    if (IsWalked(op)) return Engine::Either;
    switch (op->kind()) {
      case OpKind::Contraction:
        return Engine::Matrix;
      case OpKind::Store:
        return stores_.contains(op) ? stores_.at(op) : Engine::Either;
      case OpKind::Load:
        if (written_.contains(ir::MemoryOf(op->operand(0)))) return Engine::Vector;
        return Made(op, Engine::Either);
      case OpKind::Broadcast:
      case OpKind::Iota:
        return Made(op, Engine::Either);
      case OpKind::Require:
      case OpKind::View:
        return Engine::Either;
      default: {
        bool tiles = std::any_of(op->results().begin(), op->results().end(), IsTileValue);
        bool free = op->info().has(ir::kPure) && !tiles && op->kind() != OpKind::Reduce;
        return Made(op, free ? Engine::Either : Engine::Vector);
      }
    }
  }

 private:
  /// Returns `engine` if none of the operands is assigned to an engine. Otherwise returns the vector engine,
  /// even if the operands are results of the matrix engine.
  Engine Made(const Op* op, Engine engine) const {
    bool bound =
        std::any_of(op->operands().begin(), op->operands().end(),
                    [&](const Value* operand) { return EngineOf(operand) != Engine::Either; });
    return bound ? Engine::Vector : engine;
  }

  /// Returns the engine that executes a store. The matrix engine stores its accumulators itself, unless the
  /// vector engine also accesses the tensor.
  Engine StoreEngine(const Op* op) const {
    const Value* tensor = op->operand(ir::StoreOp::at_tensor);
    for (const Op* user : ir::UsersOfMemory(tensor)) {
      bool matrix = user->kind() == OpKind::Store && EngineOf(user->operand(0)) == Engine::Matrix;
      if (!matrix) return Engine::Vector;
    }
    return Engine::Matrix;
  }

  void Set(const Value* value, Engine engine) {
    if (EngineOf(value) == engine) return;
    values_[value] = engine;
    changed_ = true;
  }

  static Engine Join(Engine a, Engine b) {
    if (a == Engine::Either || a == b) return b;
    return b == Engine::Either ? a : Engine::Vector;
  }

  void Visit(const Region* region) {
    for (const Op* op : *region) {
      if (!IsWalked(op)) {
        Engine engine = EngineOf(op);
        for (const Value* result : op->results()) Set(result, engine);
        continue;
      }
      for (const Region* nested : op->regions()) Visit(nested);
      VisitCarried(op);
    }
  }

  /// Assigns engines to carried values. A carried tile belongs to the engine that computes its next value.
  void VisitCarried(const Op* op) {
    for (const Value* result : op->results()) {
      Engine engine = Engine::Either;
      for (const Region* region : op->regions())
        engine = Join(engine, EngineOf(region->terminator()->operand(result->index())));
      if (op->kind() != OpKind::If && engine == Engine::Either) {
        size_t first = op->operands().size() - op->results().size();
        engine = EngineOf(op->operand(first + result->index()));
      }
      Set(result, engine);
      if (op->kind() == OpKind::If) continue;
      size_t first = op->region()->params().size() - op->results().size();
      Set(op->region()->param(first + result->index()), engine);
    }
  }

  std::unordered_map<const Value*, Engine> values_;
  /// The engine of each store. Filled in after engines have been assigned to all values.
  std::unordered_map<const Op*, Engine> stores_;
  std::unordered_set<const Value*> written_;
  bool changed_ = false;
};

/// Returns the engine that needs the value at this use. That is the engine of the op that uses the value or,
/// if the use is a yield or an initial value, the engine of the resulting value.
Engine UserEngine(const Assignment& engines, const ir::Use& use) {
  const Op* op = use.user;
  if (op->kind() == OpKind::Yield) {
    const Op* outer = op->parent_region()->parent();
    return outer->results().empty() ? Engine::Either : engines.EngineOf(outer->result(use.operand));
  }
  if (!IsWalked(op)) return engines.EngineOf(op);
  size_t first = op->operands().size() - op->results().size();
  bool init = op->kind() != OpKind::If && use.operand >= first && !op->results().empty();
  return init ? engines.EngineOf(op->result(use.operand - first)) : Engine::Either;
}

/// Partitions a kernel. That is impossible if one engine would need a scalar that the other engine computes,
/// or if only one engine has work.
class Partition {
 public:
  Partition(ir::Module& module, ir::Function& kernel)
      : module_(module), kernel_(kernel), engines_(kernel), b_(module) {}

  bool Plan() {
    bool works[3] = {};
    bool possible = true;
    auto look = [&](Value* value) {
      Engine engine = engines_.EngineOf(value);
      if (engine == Engine::Either) return;
      for (const ir::Use& use : value->uses()) {
        Engine user = UserEngine(engines_, use);
        if (user == engine) continue;
        // Both stages need loop bounds and conditions, and a pipe can carry only tiles.
        if (user == Engine::Either || !IsTileValue(value)) possible = false;
        crossing_.insert(value);
      }
    };
    ir::Walk(kernel_.body, [&](const Op* op) {
      works[static_cast<size_t>(engines_.EngineOf(op))] = true;
      // Each stage ends its loops on its own, so both engines must be able to compute the conditions.
      bool ends_early = op->kind() == OpKind::While || op->HasAttr(ir::AttrKey::Breaks);
      if (ends_early && engines_.EngineOf(op->result(0)) != Engine::Either) possible = false;
      for (Value* result : op->results()) look(result);
      for (const Region* region : op->regions()) {
        for (Value* param : region->params()) look(param);
      }
    });
    return possible && !crossing_.empty() && works[static_cast<size_t>(Engine::Matrix)] &&
           works[static_cast<size_t>(Engine::Vector)];
  }

  void MakeStages() {
    Region* old = module_.arena().Make<Region>();
    MoveOps(kernel_.body, old);
    b_.SetInsertionPoint(kernel_.body);
    for (Op* op : *old) {
      if (op->kind() != OpKind::Require && op->kind() != OpKind::View)
        // A launch checks requirements and makes views only once, outside of the stages.
        continue;
      old->Remove(op);
      kernel_.body->InsertBefore(op, nullptr);
    }
    ir::Walk(old, [&](const Op* op) {
      for (const Region* region : op->regions()) {
        for (Value* param : region->params()) AddPipe(param);
      }
      for (Value* result : op->results()) AddPipe(result);
      if (op->HasAttr(AttrKey::Domain)) domains_.insert(op->attr<AttrKey::Domain>().str());
    });
    AddStage("matrix", Engine::Matrix, old);
    AddStage("vector", Engine::Vector, old);
    b_.Create(OpKind::Return, {{}}, {});
    while (old->last()) ir::Erase(old->last());
  }

 private:
  void AddPipe(Value* value) {
    if (!crossing_.contains(value) || pipes_.contains(value)) return;
    std::vector<Size> extents;
    for (ir::AxisId axis : value->type()->axes) extents.push_back(kernel_.axis(axis).extent);
    Names& names = module_.context().names;
    std::string name =
        value->name().empty() ? fmt::format("t{}", pipes_.size()) : value->name().str();
    for (int copy = 1; !taken_.insert(name).second; ++copy)
      name = fmt::format("{}.{}", value->name().empty() ? "t" : value->name().text(), copy);
    ir::Type type = module_.types().Pipe(value->type()->scalar, std::move(extents));
    Op* pipe =
        b_.Create(OpKind::Pipe, {{}}, {type},
                  {MakeAttr<AttrKey::Name>(names.Intern(name)), MakeAttr<AttrKey::Depth>(kDepth)});
    pipe->result()->set_name(names.Intern(name));
    pipes_[value] = pipe->result();
  }

  void AddStage(const char* name, Engine engine, const Region* body) {
    Op* stage = b_.Create(OpKind::Stage, {}, {},
                          {MakeAttr<AttrKey::Name>(module_.context().names.Intern(name))});
    map_.clear();
    walks_ = 0;
    Fill(stage->region(), body, engine);
    DropUnused(stage->region());
  }

  /// Emits one engine's copy of a region. The copy yields only the values that the engine needs.
  void Fill(Region* into, const Region* from, Engine engine) {
    Region* outer = b_.region();
    b_.SetInsertionPoint(into);
    for (Value* param : from->params()) Hand(param, engine);
    for (Op* op : *from) {
      b_.set_loc(op->loc());
      if (op->info().has(ir::kTerminator)) {
        Yield(op, engine);
      } else if (IsWalked(op)) {
        CopyWalk(op, engine);
      } else if (engines_.EngineOf(op) != Other(engine)) {
        ir::Clone(op, b_, map_);
      }
      for (Value* result : op->results()) Hand(result, engine);
    }
    b_.SetInsertionPoint(outer);
  }

  /// If one engine computes the value and the other one needs it, emits this engine's half of the transfer: a
  /// push if `engine` computes the value, otherwise a pop.
  void Hand(Value* value, Engine engine) {
    if (!crossing_.contains(value)) return;
    ir::Attr axes = MakeAttr<AttrKey::Axes>(value->type()->axes);
    if (engines_.EngineOf(value) == engine) {
      b_.Create(OpKind::Push, {{map_.at(value)}, {pipes_.at(value)}}, {}, {axes});
    } else {
      map_[value] = b_.Create(OpKind::Pop, {{pipes_.at(value)}}, {value->type()}, {axes})->result();
    }
  }

  bool Keeps(const Value* value, Engine engine) const {
    return engines_.EngineOf(value) != Other(engine);
  }

  void Yield(const Op* op, Engine engine) {
    const Op* outer = op->parent_region()->parent();
    std::vector<Value*> values;
    for (size_t i = 0; outer && i < outer->results().size(); ++i) {
      if (Keeps(outer->result(i), engine)) values.push_back(Mapped(map_, op->operand(i)));
    }
    b_.Create(OpKind::Yield, {values}, {});
  }

  /// Gives the spmd a named domain. All spmds over one domain have the same block order. Both engines
  /// therefore get the same blocks in the same order, regardless of what they do with the blocks.
  void WalkAlike(Op* spmd) {
    spmd->SetAttr(MakeAttr<AttrKey::Distribute>(ir::DistributionKind::Static));
    if (spmd->HasAttr(AttrKey::Domain)) return;
    std::string name;
    do name = fmt::format("engines.{}", walks_++);
    while (domains_.contains(name));
    spmd->SetAttr(MakeAttr<AttrKey::Domain>(module_.context().names.Intern(name)));
  }

  /// Copies a loop or branch. The copy carries only the values that the engine needs.
  void CopyWalk(const Op* op, Engine engine) {
    size_t carried = op->kind() == OpKind::If ? 0 : op->results().size();
    size_t fixed = op->operands().size() - carried;
    ir::Builder::Segments segments(op->info().operands.size());
    for (size_t s = 0; s < segments.size(); ++s) {
      for (size_t i = 0; i < op->Segment(s).size(); ++i) {
        size_t operand = op->SegmentBegin(s) + i;
        if (operand >= fixed && !Keeps(op->result(operand - fixed), engine)) continue;
        segments[s].push_back(Mapped(map_, op->operand(operand)));
      }
    }
    std::vector<ir::Type> types;
    for (const Value* result : op->results()) {
      if (Keeps(result, engine)) types.push_back(result->type());
    }
    Op* copy = b_.Create(op->kind(), segments, types, op->attrs());
    if (op->kind() == OpKind::Spmd) WalkAlike(copy);
    size_t next = 0;
    for (Value* result : op->results()) {
      if (!Keeps(result, engine)) continue;
      copy->result(next)->set_name(result->name());
      map_[result] = copy->result(next++);
    }
    for (size_t r = 0; r < op->regions().size(); ++r) {
      const Region* region = op->region(r);
      size_t binders = region->params().size() - carried;
      for (size_t i = 0; i < region->params().size(); ++i) {
        Value* param = region->param(i);
        if (i >= binders && !Keeps(op->result(i - binders), engine)) continue;
        map_[param] = b_.AddParam(copy->region(r), param->type(), param->name());
      }
      Fill(copy->region(r), region, engine);
    }
  }

  ir::Module& module_;
  ir::Function& kernel_;
  Assignment engines_;
  ir::Builder b_;
  std::unordered_set<const Value*> crossing_;
  std::unordered_map<const Value*, Value*> pipes_;
  std::unordered_set<std::string> taken_;
  ir::ValueMap map_;
  std::unordered_set<std::string> domains_;  ///< those of the source
  /// The number of names for spmds of the stage so far. Both stages have the same spmds in the same order.
  int walks_ = 0;
};

}  // namespace

namespace {

/// Whether the cores of a launch share memory. In a kernel with stages, they cannot.
bool SharesMemory(const ir::Function& kernel) {
  return std::ranges::any_of(std::array{OpKind::Sync, OpKind::LaunchTensor, OpKind::Update},
                             [&](OpKind kind) { return !OpsOfKind(kernel, kind).empty(); });
}

}  // namespace

void RunPartitionByEngine(PassContext& context, ir::Function& kernel) {
  KDL_CHECK(context.facts, "partition-by-engine needs a target");
  if (SharesMemory(kernel)) return;
  if (!context.facts->split_engines || !OpsOfKind(kernel, OpKind::Stage).empty()) return;
  Partition partition(context.module, kernel);
  if (partition.Plan()) partition.MakeStages();
}

}  // namespace kdl::cpu
