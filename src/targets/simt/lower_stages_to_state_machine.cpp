#include <algorithm>
#include <functional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/op_info.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"
#include "support/check.h"
#include "targets/simt/passes.h"
#include "targets/simt/rings/pipe_rings.h"

// lower-stages-to-state-machine: GPU threads cannot wait for other stages or other cores. A kernel that waits
// therefore becomes a state machine that can be resumed. The state machine is a loop in which each iteration
// continues where the previous iteration stopped, until nothing is left to do. The stages of a core take
// turns. In a kernel with `sync`, all cores synchronize between the iterations.
//
//   stage "a" { … acquire %q … }      ->   while (some stage has not ended) {
//   stage "b" { … wait %q … }                if (a has not ended) { … }
//                                            if (b has not ended) { … } }
//
// A region that contains an op that waits is divided into steps. Each thread has a private variable, called a
// cell, which states which step is next:
//
//   x ; wait %q ; y       ->   do {
//                                if (step < 1) { x ; step = 1 }
//                                else if (step < 2) { if (%q is empty) { runs = false } else { step = 2 } }
//                                else { y ; step = 0 }
//                              } while (runs and step != 0)
//
// Each iteration of the loop executes one step, chosen by a binary search. A sequence of branches would
// instead make the code grow exponentially on PoCL, which copies everything between a branch with a barrier
// and the end of the loop. If the region is the body of a loop, the steps become iterations of that loop, and
// the last step determines whether the first step follows.
//
// Cells also contain values that one step computes and another step needs, the index of a loop, and
// loop-carried values. Outside of elementwise loops, all threads compute the same values. Therefore, the
// cells of all threads are equal, and all threads take the same path.

namespace kdl::simt {

namespace {

using ir::Region;

bool Waits(const Region* region);

/// Returns whether the op, or any op in its regions, waits. A `stage` does not wait, even if ops in its
/// region do.
bool Waits(const Op* op) {
  switch (op->kind()) {
    case OpKind::Sync:
    case OpKind::Acquire:
    case OpKind::Wait:
      return true;
    case OpKind::Stage:
      return false;
    default:
      return std::ranges::any_of(op->regions(), [](const Region* region) { return Waits(region); });
  }
}

bool Waits(const Region* region) {
  bool waits = false;
  for (const Op* op : *region) waits |= Waits(op);
  return waits;
}

/// Returns whether the op is recomputed wherever its result is needed.
bool IsMadeAgain(const Op* op) {
  return op->kind() == OpKind::Const || op->kind() == OpKind::CoreId ||
         op->kind() == OpKind::CoreNum;
}

/// Returns whether the op belongs at the start of the kernel and is executed only once.
bool IsDeclared(const Op* op) {
  return op->kind() == OpKind::BufferNew || op->kind() == OpKind::LaunchTensor ||
         op->kind() == OpKind::View || op->kind() == OpKind::Table ||
         op->kind() == OpKind::BusyCores || op->kind() == OpKind::Require;
}

class StageLowering {
 public:
  StageLowering(ir::Module& module, ir::Function& kernel, bool global_pipes)
      : module_(module), kernel_(kernel), b_(module), global_pipes_(global_pipes) {}

  void LowerKernel() {
    rings_ = OpenRings(module_, kernel_, global_pipes_);
    Region* old = kernel_.body;
    Region* body = module_.arena().Make<Region>();
    body->set_function(&kernel_);
    b_.SetInsertionPoint(body);
    b_.set_loc(kernel_.loc);
    for (const Value* param : old->params())
      values_[param] = b_.AddParam(body, param->type(), param->name());
    for (ir::Param& param : kernel_.params) param.value = values_.at(param.value);
    kernel_.body = body;
    cells_end_ = b_.I64(0)->def();
    runs_ = NewCell(Scalar::Bool);
    again_ = NewCell(Scalar::Bool);
    // Loops read this cell after each step, even if their last step has not set it yet, so the cell needs a
    // value from the start.
    Set(again_, false);
    ir::Walk(old, [&](const Op* op) {
      if (IsDeclared(op)) ir::Clone(op, b_, values_);
    });
    MapRings(rings_, values_);
    Kernel(old);
    b_.Create(OpKind::Return, {{}}, {});
    while (old->last()) ir::Erase(old->last());
  }

 private:
  /// Lowers the body. If the body contains grid-wide barriers, it becomes a loop, and the cores synchronize
  /// between the iterations of that loop.
  void Kernel(const Region* old) {
    PlanCells(old);
    if (!Waits(old)) return Steps(old, [](const Op*) {});
    Value* yes = b_.Bool(true);
    Op* iterations =
        b_.Create(OpKind::While, {{yes, yes}},
                  {b_.types().ScalarOf(Scalar::Bool), b_.types().ScalarOf(Scalar::Bool)});
    b_.AddParam(iterations->region(), yes->type(), {});
    Value* is_first = b_.AddParam(iterations->region(), yes->type(), {});
    passes::FillRegion(b_, iterations->region(), [&]() -> Values {
      Op* begin = nullptr;
      passes::MakeIf(b_, is_first, [&] { begin = b_.I64(0)->def(); });
      Set(runs_, true);
      Steps(old, [](const Op*) {});
      ResetCells(begin);
      Value* more = b_.Unary(OpKind::Not, Get(runs_));
      passes::MakeIf(b_, more, [&] { b_.Create(OpKind::Sync, {}, {}); });
      return {more, b_.Bool(false)};
    });
  }

  // -- Cells --------------------------------------------------------------------------------------

  Value* NewCell(Scalar scalar) {
    Region* region = b_.region();
    Op* before = b_.before();
    b_.SetInsertionPoint(cells_end_);
    Value* cell = simt::NewCell(b_, scalar);
    b_.SetInsertionPoint(region, before);
    return cell;
  }
  /// Returns a new cell for a state, which is 0 before the first iteration.
  Value* NewState() {
    states_.push_back(NewCell(Scalar::I64));
    return states_.back();
  }
  Value* Get(Value* cell) { return LoadCell(b_, cell); }
  void Set(Value* cell, bool value) { StoreCell(b_, b_.Bool(value), cell); }
  void SetState(Value* cell, int64_t value) { StoreCell(b_, b_.I64(value), cell); }
  Value* CellEquals(Value* cell, int64_t value) {
    Value* held = Get(cell);
    return b_.Eq(held, b_.I64(value));
  }

  /// Emits code before the given op that sets to 0 all states that have been created since the last call.
  void ResetCells(Op* before) {
    Region* region = b_.region();
    Op* here = b_.before();
    b_.SetInsertionPoint(before);
    for (Value* state : std::exchange(states_, {})) SetState(state, 0);
    b_.SetInsertionPoint(region, here);
  }

  /// Makes a cell for each value that one step computes and another step needs.
  void PlanCells(const Region* region) {
    if (!Waits(region)) {
      for (const Op* op : *region) {
        if (op->kind() == OpKind::Stage) PlanCells(op->region());
      }
      return;
    }
    std::unordered_map<const Op*, int> steps;
    int step = 0;
    for (const Op* op : *region) {
      bool waits = Waits(op);
      step += waits;
      steps[op] = step;
      step += waits;
    }
    for (const Op* op : *region) {
      if (Waits(op)) {
        for (const Region* nested : op->regions()) PlanCells(nested);
      } else if (!IsMadeAgain(op) && !IsDeclared(op)) {
        for (const Value* result : op->results()) PlanCell(result, region, steps);
      }
      if (op->kind() == OpKind::Stage) PlanCells(op->region());
    }
  }

  void PlanCell(const Value* value, const Region* region,
                const std::unordered_map<const Op*, int>& steps) {
    int own = steps.at(value->def());
    bool needed = std::ranges::any_of(value->uses(), [&](const ir::Use& use) {
      return steps.at(passes::AncestorIn(region, use.user)) != own;
    });
    if (needed) cells_[value] = NewCell(value->type()->scalar);
  }

  /// Returns the new value for an old value. If necessary, emits code to load it from its cell or to
  /// recompute it.
  Value* NewValue(Value* old) {
    if (auto known = values_.find(old); known != values_.end()) return known->second;
    if (auto cell = cells_.find(old); cell != cells_.end()) return values_[old] = Get(cell->second);
    Op* def = old->def();
    KDL_CHECK(def && IsMadeAgain(def), "'{}' has no cell", old->name().text());
    for (Value* operand : def->operands()) NewValue(operand);
    ir::Clone(def, b_, values_);
    return values_.at(old);
  }
  Values NewValues(std::span<Value* const> old) {
    Values values;
    for (Value* value : old) values.push_back(NewValue(value));
    return values;
  }

  /// Calls `make`, and then forgets the new values that it has loaded or computed.
  void WithLocalValues(const std::function<void()>& make) {
    ir::ValueMap outer = values_;
    make();
    values_ = std::move(outer);
  }

  void If(Value* condition, const std::function<void()>& make) {
    passes::MakeIf(b_, condition, [&] { WithLocalValues(make); });
  }

  // -- Steps --------------------------------------------------------------------------------------

  /// Emits the ops of a region, divided into steps if some of the ops wait. Calls `end` with the region's
  /// terminator.
  void Steps(const Region* region, const std::function<void(const Op*)>& end) {
    const Op* last = region->last();
    if (!Waits(region)) {
      for (Op* op : *region) {
        if (op != last) EmitPlainOp(op);
      }
      return end(last);
    }
    TakeSteps(region, end, b_.Bool(true), /*repeats=*/false);
  }

  /// Emits a loop that executes one step per iteration, until a step waits or the last step has ended. The
  /// loop starts if `begins` is true. If `repeats` is true, the first step follows the last one whenever
  /// `end` has set `again_`.
  void TakeSteps(const Region* region, const std::function<void(const Op*)>& end, Value* begins,
                 bool repeats) {
    Value* state = NewState();
    std::vector<std::function<void()>> steps = StepEmitters(region, end, state);
    Op* iterations = b_.Create(OpKind::While, {{begins}}, {begins->type()});
    b_.AddParam(iterations->region(), begins->type(), {});
    passes::FillRegion(b_, iterations->region(), [&]() -> Values {
      Choose(Get(state), 0, steps);
      Value* goes_on = b_.Unary(OpKind::Not, CellEquals(state, 0));
      if (repeats) goes_on = b_.Or(goes_on, Get(again_));
      return {b_.And(goes_on, Get(runs_))};
    });
  }

  /// Returns functions that emit the steps. Each step sets the state to the number of the next step.
  std::vector<std::function<void()>> StepEmitters(const Region* region,
                                                  const std::function<void(const Op*)>& end,
                                                  Value* state) {
    const Op* last = region->last();
    std::vector<std::function<void()>> steps;
    std::vector<Op*> plain;
    auto add_plain = [&](bool is_last) {
      int64_t next = is_last ? 0 : static_cast<int64_t>(steps.size()) + 1;
      steps.emplace_back([this, ops = std::exchange(plain, {}), is_last, &end, last, state, next] {
        for (Op* op : ops) EmitPlainOp(op);
        if (is_last) end(last);
        SetState(state, next);
      });
    };
    for (Op* op : *region) {
      if (op == last) break;
      if (!Waits(op)) {
        plain.push_back(op);
        continue;
      }
      if (!plain.empty()) add_plain(false);
      int64_t next = static_cast<int64_t>(steps.size()) + 1;
      steps.emplace_back([this, op, state, next] { Waiting(op, state, next); });
    }
    add_plain(true);
    return steps;
  }

  /// Emits code that executes the step with this number. The first of `steps` has the number `first`. A
  /// binary search keeps the nesting of branches shallow.
  void Choose(Value* number, int64_t first, std::span<const std::function<void()>> steps) {
    if (steps.size() == 1) return WithLocalValues(steps[0]);
    size_t half = steps.size() / 2;
    int64_t middle = first + static_cast<int64_t>(half);
    passes::MakeIf(
        b_, b_.Lt(number, b_.I64(middle)), [&] { Choose(number, first, steps.first(half)); },
        [&] { Choose(number, middle, steps.subspan(half)); });
  }

  void EmitPlainOp(Op* op) {
    if (IsDeclared(op) || op->kind() == OpKind::Pipe) return;
    b_.set_loc(op->loc());
    if (op->kind() == OpKind::Stage) {
      stages_.push_back(op);
      bool is_last = true;
      for (const Op* next = op->next(); next; next = next->next())
        is_last &= next->kind() != OpKind::Stage;
      if (is_last) Stages(std::exchange(stages_, {}));
      return;
    }
    for (Value* value : passes::OutsideOperands(op)) NewValue(value);
    ir::Clone(op, b_, values_);
    for (Value* result : op->results()) {
      if (auto cell = cells_.find(result); cell != cells_.end())
        StoreCell(b_, values_.at(result), cell->second);
    }
  }

  /// Emits an op that waits. Once it no longer waits, step `next` follows.
  void Waiting(Op* op, Value* state, int64_t next) {
    b_.set_loc(op->loc());
    switch (op->kind()) {
      case OpKind::Sync:
        Set(runs_, false);
        return SetState(state, next);
      case OpKind::Acquire:
      case OpKind::Wait: {
        Value* blocked = IsBlocked(b_, rings_, op);
        StoreCell(b_, b_.Unary(OpKind::Not, blocked), runs_);
        break;
      }
      case OpKind::Loop:
        Loop(ir::LoopOp(op));
        break;
      case OpKind::While:
        While(op);
        break;
      case OpKind::If:
        Branch(op);
        break;
      default:
        KDL_UNREACHABLE("'{}' cannot wait", op->info().spelling);
    }
    If(Get(runs_), [&] { SetState(state, next); });
  }

  // -- Loops and branches ---------------------------------------------------------------------------

  /// Makes cells for loop-carried values. They are parameters of the op's region and also results of the op.
  void PlanCarried(const Op* op, size_t first_param, Values& cells) {
    for (size_t i = 0; i < op->results().size(); ++i) {
      cells.push_back(NewCell(op->result(i)->type()->scalar));
      cells_[op->region()->param(first_param + i)] = cells_[op->result(i)] = cells[i];
    }
  }

  void StoreAll(const Values& values, const Values& cells) {
    for (size_t i = 0; i < cells.size(); ++i) StoreCell(b_, values[i], cells[i]);
  }

  /// Emits a loop over a region. The loop runs until an op in the region waits, or until `end`, which is
  /// called after the last step, sets `again_` to false.
  void Iterations(Value* condition, const Region* region,
                  const std::function<void(const Op*)>& end) {
    TakeSteps(region, end, condition, /*repeats=*/true);
  }

  void Loop(ir::LoopOp loop) {
    Values carried;
    PlanCarried(loop.op, 1, carried);
    Value* index = cells_[loop->region()->param(0)] = NewCell(Scalar::I64);
    Value* active = NewState();
    Value* hi = NewValue(loop.hi());
    Value* step = NewValue(loop.step());
    If(CellEquals(active, 0), [&] {
      CheckStep(loop);
      Values inits = NewValues(loop.inits());
      StoreCell(b_, NewValue(loop.lo()), index);
      StoreAll(inits, carried);
      SetState(active, 1);
    });
    Iterations(b_.Lt(Get(index), hi), loop->region(), [&](const Op* yield) {
      StoreAll(NewValues(yield->operands()), carried);
      Value* at = Get(index);
      // The index is below the end, but the distance between them may exceed the range of i64, so it is
      // computed as a u64.
      Value* left = b_.Cast(b_.Sub(hi, at), Scalar::U64);
      Value* again = b_.Gt(left, b_.Cast(step, Scalar::U64));
      if (loop->HasAttr(AttrKey::Breaks)) again = b_.And(again, Get(carried[0]));
      StoreCell(b_, b_.Add(at, step), index);
      StoreCell(b_, again, again_);
    });
    If(Get(runs_), [&] { SetState(active, 0); });
  }

  /// Emits an empty loop, which traps for the same values of the step as the original loop does.
  void CheckStep(ir::LoopOp loop) {
    if (passes::ConstantOf(loop.step())) return;
    Value* lo = NewValue(loop.lo());
    Op* none = b_.Create(OpKind::Loop, {{lo}, {lo}, {NewValue(loop.step())}, {}}, {});
    b_.AddParam(none->region(), lo->type(), loop->region()->param(0)->name());
    passes::FillRegion(b_, none->region(), [] { return Values(); });
  }

  void While(Op* op) {
    Values carried;
    PlanCarried(op, 0, carried);
    Value* active = NewState();
    If(CellEquals(active, 0), [&] {
      StoreAll(NewValues(op->operands()), carried);
      SetState(active, 1);
    });
    Iterations(Get(carried[0]), op->region(), [&](const Op* yield) {
      StoreAll(NewValues(yield->operands()), carried);
      StoreCell(b_, Get(carried[0]), again_);
    });
    If(Get(runs_), [&] { SetState(active, 0); });
  }

  void Branch(Op* op) {
    Values results;
    for (const Value* result : op->results())
      results.push_back(cells_[result] = NewCell(result->type()->scalar));
    Value* taken = NewState();
    Value* condition = NewValue(op->operand(0));
    If(CellEquals(taken, 0), [&] {
      Value* not_taken = b_.I64(2);
      StoreCell(b_, b_.Select(condition, b_.I64(1), not_taken), taken);
    });
    auto fill = [&](const Region* region) {
      return [&, region]() -> Values {
        WithLocalValues([&] {
          Steps(region, [&](const Op* yield) { StoreAll(NewValues(yield->operands()), results); });
        });
        return {};
      };
    };
    passes::MakeIf(b_, CellEquals(taken, 1), {}, fill(op->region(0)), fill(op->region(1)));
    If(Get(runs_), [&] { SetState(taken, 0); });
  }

  // -- Stages -------------------------------------------------------------------------------------

  /// Runs the stages in turn until all of them have ended.
  void Stages(const std::vector<Op*>& stages) {
    Values outer = std::exchange(states_, {});
    Values ended;
    for (size_t i = 0; i < stages.size(); ++i) ended.push_back(NewState());
    Value* begin = b_.Bool(true);
    ir::Type flag = begin->type();
    Op* iterations = b_.Create(OpKind::While, {{begin}}, {flag});
    b_.AddParam(iterations->region(), flag, {});
    passes::FillRegion(b_, iterations->region(), [&]() -> Values {
      if (rings_.moved) Set(rings_.moved, false);
      Value* some_moved = b_.Bool(false);
      Value* some_left = b_.Bool(false);
      for (size_t i = 0; i < stages.size(); ++i) {
        Value* was_left = CellEquals(ended[i], 0);
        If(was_left, [&] {
          Set(runs_, true);
          Steps(stages[i]->region(), [](const Op*) {});
          If(Get(runs_), [&] { SetState(ended[i], 1); });
        });
        Value* is_left = CellEquals(ended[i], 0);
        some_left = b_.Or(some_left, is_left);
        Value* stays = b_.Eq(was_left, is_left);
        some_moved = b_.Or(some_moved, b_.Unary(OpKind::Not, stays));
      }
      if (rings_.moved) some_moved = b_.Or(some_moved, Get(rings_.moved));
      b_.set_loc(stages[0]->loc());
      b_.Create(OpKind::Assert, {{some_moved}, {}}, {},
                {ir::MakeAttr<AttrKey::Text>(
                    module_.context().names.Intern("no stage of the kernel can continue"))});
      Set(runs_, true);
      return {some_left};
    });
    ResetCells(begin->def());
    states_ = std::move(outer);
  }

  ir::Module& module_;
  ir::Function& kernel_;
  ir::Builder b_;
  bool global_pipes_;
  Rings rings_;
  ir::ValueMap values_;  ///< maps old values to new values that are available here
  std::unordered_map<const Value*, Value*> cells_;  ///< maps old values to their cells
  Values states_;  ///< state cells that must be 0 before the first iteration
  std::vector<Op*> stages_;
  Op* cells_end_ = nullptr;
  Value* runs_ = nullptr;   ///< false once an op has waited in this iteration
  Value* again_ = nullptr;  ///< whether another iteration of a loop follows
};

}  // namespace

void RunLowerStagesToStateMachine(PassContext& context, ir::Function& kernel) {
  // If no op in a region waits, the buffers of the region are dead when cores synchronize.
  bool waits = Waits(kernel.body);
  std::unordered_map<const Region*, bool> waits_in;
  for (Op* buffer : waits ? OpsOfKind(kernel, OpKind::BufferNew) : std::vector<Op*>()) {
    auto [known, is_new] = waits_in.try_emplace(buffer->parent_region());
    if (is_new) known->second = Waits(buffer->parent_region());
    if (!known->second) buffer->SetAttr(ir::MakeAttr<ir::AttrKey::Brief>(1));
  }
  if (waits || !OpsOfKind(kernel, OpKind::Stage).empty())
    StageLowering(context.module, kernel, SimtFactsOf(context).global_pipes).LowerKernel();
}

}  // namespace kdl::simt
