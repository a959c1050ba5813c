#include "targets/simt/box_loop.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ir/unit.h"
#include "ir/views.h"
#include "passes/element_access.h"
#include "support/check.h"
#include "support/scalar.h"
#include "targets/simt/box_product.h"
#include "targets/simt/matrix_units.h"
#include "targets/simt/product_block.h"

// The loop around a product whose factors come as boxes: a ring of slots for each, and two gates for each slot. `full` tells that
// both boxes of a turn are there; `empty`, that all workers are done with them. A turn begins its steps, waits for those of the
// turn before, whose slots it gives back, and there begins what later turns need. Where the tensor's memory, or the end of a
// range within it, lets no box be copied, the workers bring its elements themselves.
//
//   gates_open %full {arrivals = 2} ; gates_open %empty {arrivals = 256} ; barrier
//   loop %n in 0 .. 3 { … turns 0, 1, 2 as below, which wait for nobody }
//   loop %k in 0 .. %K step 64 {                            turn n = k / 64, slot s = n rem 4
//     loop {team} { gate_await %full[s] phase n / 4
//                   … = matrix_step %A, %B … slots (s, s) … ; close_steps
//                   await_steps (%acc) {ahead = 1} ; if n > 0 { gate_arrive %empty[(n + 3) rem 4] } }
//     if (turn n + 3 exists) { if box_fits %a { loop {team, one} { gate_await %empty[…] phase … ; copy_box %a[…] … at %full } }
//                              else { … ; show_stores ; barrier ; loop {team, one} { gate_arrive %full[…] } } … } }
//   loop {team} { await_steps (%acc) {ahead = 0} } ; barrier ; … gates_close %full, %empty

namespace kdl::simt {

namespace {

using ir::AttrKey;
using ir::AxisId;
using ir::Op;
using ir::OpKind;
using ir::Value;
using passes::MakeIf;
using passes::MakeLoop;
using passes::MakeTeamLoop;
using passes::OnFirstWorker;
using passes::Values;

constexpr int64_t kMostSlots = 8;
constexpr int64_t kWantedSlots = 4;  // where the source does not say

class BoxLoop {
 public:
  BoxLoop(const SimtFacts& facts, ir::Builder& b, TeamTiles& tiles, const Op* product, Value* acc,
          TurnMaker turn)
      : b_(b),
        tiles_(tiles),
        product_(product),
        loop_(const_cast<Op*>(product->block()->parent())),
        acc_(acc),
        turn_(std::move(turn)),
        block_(b, tiles, product),
        rings_{BoxRing(b, tiles, turn_, product, 0), BoxRing(b, tiles, turn_, product, 1)},
        gates_(GatesOf(facts, b, loop_, rings_)) {}

  void Run() {
    lo_ = turn_.Scalar(loop_.lo());
    hi_ = turn_.Scalar(loop_.hi());
    step_ = turn_.Scalar(loop_.step());
    for (BoxRing& ring : rings_) ring.New(gates_.slots());
    full_ = gates_.New("full");
    empty_ = gates_.New("empty");
    OnFirstWorker(b_, [&] {
      gates_.Open(full_, 2);
      gates_.Open(empty_, block_.workers());
    });
    b_.Create(OpKind::Barrier, {}, {});
    FirstTurns();
    Turns();
    Value* zero = b_.I64(0);
    Value* all = b_.I64(block_.workers());
    MakeTeamLoop(b_, {zero, all}, [&](Value*) { AwaitSteps(0); });
    b_.Create(OpKind::Barrier, {}, {});
    OnFirstWorker(b_, [&] {
      for (Value* gates : {full_, empty_}) gates_.Close(gates);
    });
  }

 private:
  static SlotGates GatesOf(const SimtFacts& facts, ir::Builder& b, const ir::LoopOp& loop,
                           std::span<const BoxRing> rings) {
    int64_t room = (facts.near_bytes - kNearOfGates) / (rings[0].bytes() + rings[1].bytes());
    bool says = loop->HasAttr(AttrKey::Ahead);
    int64_t wanted = says ? loop->attr<AttrKey::Ahead>() + 1 : kWantedSlots;
    return {b, std::clamp<int64_t>(std::min(wanted, room), kLeastSlots, kMostSlots)};
  }

  void AwaitSteps(int64_t ahead) {
    b_.Create(OpKind::AwaitSteps, {{acc_}}, {}, {ir::MakeAttr<AttrKey::Ahead>(ahead)});
  }

  /// Makes the blocks and scalars of the turn that begins at `at`.
  void Enter(Value* at) {
    turn_.scalars[loop_->region()->param(0)] = at;
    for (Op* op : *loop_->region()) {
      if (op->info().has(ir::kTerminator) || op == product_ || op->kind() == OpKind::Nest) continue;
      if (op->results().empty() || !IsTileValue(op->result(0))) turn_.expand(op);
    }
  }

  // -- Turns ------------------------------------------------------------------------------------

  void FirstTurns() {
    Value* zero = b_.I64(0);
    Value* turns = b_.I64(gates_.slots() - 1);
    MakeLoop(b_, {zero, turns}, [&](Value* number) {
      Value* way = b_.Binary(OpKind::Mul, step_, number);
      Value* exists = b_.Binary(OpKind::Lt, way, b_.Binary(OpKind::Sub, hi_, lo_));
      MakeIf(b_, exists, [&] { Bring(b_.Binary(OpKind::Add, lo_, way), number, nullptr); });
    });
  }

  void Turns() {
    Op* made = b_.Create(OpKind::Loop, {{lo_}, {hi_}, {step_}, {}}, {});
    Value* at = b_.AddParam(made->region(), b_.types().ScalarOf(kdl::Scalar::I64), {});
    passes::FillRegion(b_, made->region(), [&]() -> Values {
      Value* number = b_.Binary(OpKind::Div, b_.Binary(OpKind::Sub, at, lo_), step_);
      Enter(at);
      Value* zero = b_.I64(0);
      Value* all = b_.I64(block_.workers());
      MakeTeamLoop(b_, {zero, all}, [&](Value* worker) { Steps(worker, number); });
      Value* way = b_.Binary(OpKind::Mul, step_, b_.I64(gates_.slots() - 1));
      Value* goes_on = b_.Binary(OpKind::Lt, way, b_.Binary(OpKind::Sub, hi_, at));
      MakeIf(b_, goes_on, [&] {
        Value* later = b_.Binary(OpKind::Add, number, b_.I64(gates_.slots() - 1));
        Bring(b_.Binary(OpKind::Add, at, way), later, number);
      });
      return {};
    });
  }

  void Steps(Value* worker, Value* number) {
    gates_.Await(full_, number);
    block_.PlaceFor(worker);
    Values accs = block_.Load();
    AxisId folded = product_->attr<AttrKey::Axes>()[0];
    int64_t depth = NamedMatrixUnit(product_)->unit->depth;
    size_t first = HasAxis(0, block_.axes()[0]) ? 0 : 1;
    Value* slot = gates_.SlotOf(number);
    for (int64_t term = 0; term < tiles_.Extent(folded); term += depth)
      accs = MakeGroupStep(b_, tiles_, product_, worker, term, FactorAt(first, slot),
                           FactorAt(1 - first, slot), accs);
    block_.Store(accs, acc_);
    b_.Create(OpKind::CloseSteps, {}, {});
    AwaitSteps(1);
    Value* is_later = b_.Binary(OpKind::Gt, number, b_.I64(0));
    MakeIf(b_, is_later, [&] { gates_.Arrive(empty_, b_.Binary(OpKind::Sub, number, b_.I64(1))); });
  }

  StepFactor FactorAt(size_t factor, Value* slot) const {
    AxisId folded = product_->attr<AttrKey::Axes>()[0];
    return {rings_[factor].ring(), slot, rings_[factor].box().column == folded};
  }
  bool HasAxis(size_t factor, AxisId axis) const {
    return rings_[factor].box().row == axis || rings_[factor].box().column == axis;
  }

  /// What turn `number`, which begins at `at`, needs; `present`: the turn that gave a slot back; null: all are free.
  void Bring(Value* at, Value* number, Value* present) {
    Enter(at);
    auto await_free = [&] { AwaitFree(present); };
    for (BoxRing& ring : rings_) {
      // For both: who copies the first box, or brings its elements, has waited.
      auto before_box = [&] {
        if (&ring == &rings_[0]) AwaitFree(present);
      };
      ring.Bring(gates_, full_, number, block_.workers(), before_box, await_free);
    }
  }

  void AwaitFree(Value* present) {
    if (!present) return;
    Value* is_later = b_.Binary(OpKind::Gt, present, b_.I64(0));
    MakeIf(b_, is_later, [&] { gates_.Await(empty_, b_.Binary(OpKind::Sub, present, b_.I64(1))); });
  }

  ir::Builder& b_;
  TeamTiles& tiles_;
  const Op* product_;
  ir::LoopOp loop_;
  Value* acc_;
  TurnMaker turn_;
  ProductBlock block_;
  std::array<BoxRing, 2> rings_;
  SlotGates gates_;
  Value* full_ = nullptr;
  Value* empty_ = nullptr;
  Value* lo_ = nullptr;
  Value* hi_ = nullptr;
  Value* step_ = nullptr;
};

}  // namespace

const Op* BoxProductIn(const Op* loop) {
  const Op* found = nullptr;
  for (const Op* op : *loop->region()) {
    const MatrixUnit* unit = op->kind() == OpKind::Contraction ? NamedMatrixUnit(op) : nullptr;
    if (unit && unit->unit->goes_on && IsBoxProduct(op)) found = op;
  }
  return found;
}

void ExpandBoxLoop(const SimtFacts& facts, ir::Builder& b, TeamTiles& tiles, const Op* product,
                   Value* acc, TurnMaker turn) {
  BoxLoop(facts, b, tiles, product, acc, std::move(turn)).Run();
}

}  // namespace kdl::simt
