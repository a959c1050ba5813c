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

constexpr int64_t kPanelBytes = 128;
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
        boxes_{*BoxFactorOf(product, 0), *BoxFactorOf(product, 1)},
        slots_(SlotsOf(facts)) {}

  void Run() {
    lo_ = Scalar(loop_.lo());
    hi_ = Scalar(loop_.hi());
    step_ = Scalar(loop_.step());
    for (size_t i = 0; i < 2; ++i) rings_[i] = NewRing(i);
    full_ = NewGates("full");
    empty_ = NewGates("empty");
    OnFirstWorker(b_, [&] {
      Open(full_, 2);
      Open(empty_, block_.workers());
    });
    b_.Create(OpKind::Barrier, {}, {});
    FirstTurns();
    Turns();
    Value* zero = b_.I64(0);
    Value* all = b_.I64(block_.workers());
    MakeTeamLoop(b_, {zero, all}, [&](Value*) { AwaitSteps(0); });
    b_.Create(OpKind::Barrier, {}, {});
    OnFirstWorker(b_, [&] {
      for (Value* gates : {full_, empty_}) b_.Create(OpKind::GatesClose, {{gates}}, {});
    });
  }

 private:
  int64_t Extent(AxisId axis) const { return tiles_.Extent(axis); }
  kdl::Scalar ScalarOf(size_t factor) const {
    return ir::NarrowFactor(product_->operand(factor))->type()->scalar;
  }
  int64_t BoxBytes(size_t factor) const {
    return Extent(boxes_[factor].row) * Extent(boxes_[factor].column) * Bytes(ScalarOf(factor));
  }
  int64_t SlotsOf(const SimtFacts& facts) const {
    int64_t room = (facts.near_bytes - kNearOfGates) / (BoxBytes(0) + BoxBytes(1));
    bool says = loop_->HasAttr(AttrKey::Ahead);
    int64_t wanted = says ? loop_->attr<AttrKey::Ahead>() + 1 : kWantedSlots;
    return std::clamp<int64_t>(std::min(wanted, room), kLeastSlots, kMostSlots);
  }

  Value* NewBuffer(kdl::Scalar scalar, std::vector<int64_t> extents, Name name) {
    ir::Type type = b_.types().Buffer(scalar, std::move(extents), ir::Space::Team);
    Op* buffer = b_.Create(OpKind::BufferNew, {}, {type}, {ir::MakeAttr<AttrKey::Gated>(1)});
    buffer->result()->set_name(name);
    return buffer->result();
  }
  Value* NewRing(size_t factor) {
    const BoxFactor& box = boxes_[factor];
    Value* ring = NewBuffer(ScalarOf(factor), {slots_, Extent(box.row), Extent(box.column)},
                            product_->operand(factor)->name());
    ring->def()->SetAttr(ir::MakeAttr<AttrKey::Swizzle>(kPanelBytes));
    return ring;
  }
  Value* NewGates(std::string_view name) {
    return NewBuffer(kdl::Scalar::U64, {slots_}, b_.module().context().names.Intern(name));
  }
  void Open(Value* gates, int64_t arrivals) {
    b_.Create(OpKind::GatesOpen, {{gates}}, {}, {ir::MakeAttr<AttrKey::Arrivals>(arrivals)});
  }

  // -- Gates ------------------------------------------------------------------------------------

  Value* SlotOf(Value* number) { return b_.Binary(OpKind::Rem, number, b_.I64(slots_)); }
  Value* PhaseOf(Value* number) { return b_.Binary(OpKind::Div, number, b_.I64(slots_)); }
  /// Waits for the phase that turn `number` ends.
  void AwaitGate(Value* gates, Value* number) {
    Value* slot = SlotOf(number);
    b_.Create(OpKind::GateAwait, {{gates}, {slot}, {PhaseOf(number)}}, {});
  }
  void Arrive(Value* gates, Value* slot) { b_.Create(OpKind::GateArrive, {{gates}, {slot}}, {}); }
  void AwaitSteps(int64_t ahead) {
    b_.Create(OpKind::AwaitSteps, {{acc_}}, {}, {ir::MakeAttr<AttrKey::Ahead>(ahead)});
  }

  // -- What the source says of a turn -----------------------------------------------------------

  Value* Scalar(const Value* old) const {
    auto found = turn_.scalars.find(old);
    KDL_CHECK(found != turn_.scalars.end(), "'{}' is no scalar yet", old->name().text());
    return found->second;
  }

  /// Makes the blocks and scalars of the turn that begins at `at`.
  void Enter(Value* at) {
    turn_.scalars[loop_->region()->param(0)] = at;
    for (Op* op : *loop_->region()) {
      if (op->info().has(ir::kTerminator) || op == product_ || op->kind() == OpKind::Nest) continue;
      if (op->results().empty() || !IsTileValue(op->result(0))) turn_.expand(op);
    }
  }
  void EnterPoint(const Op* nest, const Values& point) {
    for (size_t i = 0; i < point.size(); ++i) turn_.scalars[nest->region()->param(i)] = point[i];
  }

  /// The load's index operands at a point of its nest.
  Values IndexAt(const Op* nest, const Values& point) {
    EnterPoint(nest, point);
    Values index;
    for (const Value* old : nest->region()->first()->Segment(ir::LoadOp::at_index))
      index.push_back(Scalar(old));
    return index;
  }
  /// And what it loads there.
  Value* LoadAt(const Op* nest, const Values& point) {
    EnterPoint(nest, point);
    const Op* load = nest->region()->first();
    return passes::ExpandLoad(b_, passes::AccessOf(load, [&](Value* old) { return Scalar(old); }));
  }

  // -- Turns ------------------------------------------------------------------------------------

  void FirstTurns() {
    Value* zero = b_.I64(0);
    Value* turns = b_.I64(slots_ - 1);
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
      Value* way = b_.Binary(OpKind::Mul, step_, b_.I64(slots_ - 1));
      Value* goes_on = b_.Binary(OpKind::Lt, way, b_.Binary(OpKind::Sub, hi_, at));
      MakeIf(b_, goes_on, [&] {
        Value* later = b_.Binary(OpKind::Add, number, b_.I64(slots_ - 1));
        Bring(b_.Binary(OpKind::Add, at, way), later, number);
      });
      return {};
    });
  }

  void Steps(Value* worker, Value* number) {
    AwaitGate(full_, number);
    block_.PlaceFor(worker);
    Values accs = block_.Load();
    AxisId folded = product_->attr<AttrKey::Axes>()[0];
    int64_t depth = NamedMatrixUnit(product_)->unit->depth;
    for (int64_t term = 0; term < Extent(folded); term += depth)
      accs = Step(worker, term, SlotOf(number), accs);
    block_.Store(accs, acc_);
    b_.Create(OpKind::CloseSteps, {}, {});
    AwaitSteps(1);
    Value* is_later = b_.Binary(OpKind::Gt, number, b_.I64(0));
    MakeIf(b_, is_later,
           [&] { Arrive(empty_, SlotOf(b_.Binary(OpKind::Sub, number, b_.I64(1)))); });
  }

  Values Step(Value* worker, int64_t term, Value* slot, const Values& accs) {
    // Rows are the first axis of the result.
    size_t first = HasAxis(0, block_.axes()[0]) ? 0 : 1;
    AxisId folded = product_->attr<AttrKey::Axes>()[0];
    ir::NumberList last;
    for (size_t factor : {first, 1 - first})
      last.push_back(boxes_[factor].column == folded ? 1 : 0);
    std::vector<ir::Type> types;
    for (const Value* acc : accs) types.push_back(acc->type());
    Values sizes;
    for (AxisId axis : block_.axes()) sizes.push_back(tiles_.FactsAt(product_, axis).size);
    Op* step = b_.Create(OpKind::MatrixStep,
                         {{rings_[first]},
                          {rings_[1 - first]},
                          {worker, b_.I64(term), sizes[0], sizes[1]},
                          {slot, slot},
                          accs},
                         types,
                         {*product_->FindAttr(AttrKey::Unit), *product_->FindAttr(AttrKey::Map),
                          ir::MakeAttr<AttrKey::Folded>(std::move(last))});
    return step->results();
  }
  bool HasAxis(size_t factor, AxisId axis) const {
    return boxes_[factor].row == axis || boxes_[factor].column == axis;
  }

  // -- Boxes ------------------------------------------------------------------------------------

  /// What turn `number`, which begins at `at`, needs; `present`: the turn that gave a slot back; null: all are free.
  void Bring(Value* at, Value* number, Value* present) {
    Enter(at);
    for (size_t factor : {0, 1}) {
      MakeIf(
          b_, Fits(factor), [&] { OnFirstWorker(b_, [&] { CopyBox(factor, number, present); }); },
          [&] { CopyElements(factor, number, present); });
    }
  }

  Value* TensorOf(size_t factor) {
    return Scalar(boxes_[factor].load->operand(ir::LoadOp::at_tensor));
  }
  ir::Attr Along(size_t factor) const {
    return ir::MakeAttr<AttrKey::Along>(
        ir::NumberList{boxes_[factor].row_dimension, boxes_[factor].column_dimension});
  }

  /// Whether the memory suits, and the block has all its terms, or the tensor ends with it: what a box has behind it is zeros then.
  Value* Fits(size_t factor) {
    AxisId folded = product_->attr<AttrKey::Axes>()[0];
    const BoxFactor& box = boxes_[factor];
    Value* fits = b_.Create(OpKind::BoxFits, {{TensorOf(factor)}, {rings_[factor]}},
                            {b_.types().ScalarOf(kdl::Scalar::Bool)}, {Along(factor)})
                      ->result();
    const BlkFacts& terms = tiles_.FactsAt(product_, folded);
    Value* whole = b_.Binary(OpKind::Eq, terms.size, b_.I64(Extent(folded)));
    auto dimension =
        static_cast<size_t>(box.row == folded ? box.row_dimension : box.column_dimension);
    Value* end = b_.SizeValue(TensorOf(factor)->type()->dims[dimension]);
    Value* ends = b_.Binary(OpKind::Eq, b_.Binary(OpKind::Add, terms.start, terms.size), end);
    return b_.Binary(OpKind::And, fits, b_.Binary(OpKind::Or, whole, ends));
  }

  void AwaitFree(Value* present) {
    if (!present) return;
    Value* is_later = b_.Binary(OpKind::Gt, present, b_.I64(0));
    MakeIf(b_, is_later, [&] { AwaitGate(empty_, b_.Binary(OpKind::Sub, present, b_.I64(1))); });
  }

  Values StartOf(const Op* nest) {
    Values start;
    for (const Value* blk : nest->operands())
      start.push_back(tiles_.FactsAt(nest, blk->type()->axes[0]).start);
    return start;
  }

  void CopyBox(size_t factor, Value* number, Value* present) {
    // For both: who copies the first box, or brings its elements, has waited.
    if (factor == 0) AwaitFree(present);
    const BoxFactor& box = boxes_[factor];
    Values index = IndexAt(box.nest, StartOf(box.nest));
    b_.Create(OpKind::CopyBox,
              {{TensorOf(factor)}, {rings_[factor]}, index, {SlotOf(number)}, {full_}}, {},
              {*box.load->FindAttr(AttrKey::Access), Along(factor)});
  }

  void CopyElements(size_t factor, Value* number, Value* present) {
    const BoxFactor& box = boxes_[factor];
    AwaitFree(present);
    Value* slot = SlotOf(number);
    Value* zero = b_.I64(0);
    Value* points = b_.I64(Extent(box.row) * Extent(box.column));
    MakeTeamLoop(b_, {zero, points}, [&](Value* point) {
      Value* columns = b_.I64(Extent(box.column));
      Value* row = b_.Binary(OpKind::Div, point, columns);
      Value* column = b_.Binary(OpKind::Rem, point, columns);
      Value* element = ElementAt(factor, row, column);
      b_.Create(OpKind::BufferStore, {{element}, {rings_[factor]}, {slot, row, column}, {}}, {});
    });
    Value* all = b_.I64(block_.workers());
    MakeTeamLoop(b_, {zero, all}, [&](Value*) { b_.Create(OpKind::ShowStores, {}, {}); });
    b_.Create(OpKind::Barrier, {}, {});
    OnFirstWorker(b_, [&] { Arrive(full_, slot); });
  }

  /// Zero behind the blocks' ends.
  Value* ElementAt(size_t factor, Value* row, Value* column) {
    const BoxFactor& box = boxes_[factor];
    auto inside = [&](AxisId axis, Value* place) {
      return b_.Binary(OpKind::Lt, place, tiles_.FactsAt(box.nest, axis).size);
    };
    Values start = StartOf(box.nest);
    Values point;
    for (size_t i = 0; i < start.size(); ++i) {
      bool is_row = box.nest->operand(i)->type()->axes[0] == box.row;
      point.push_back(b_.Binary(OpKind::Add, start[i], is_row ? row : column));
    }
    kdl::Scalar scalar = ScalarOf(factor);
    return MakeIf(
        b_, b_.Binary(OpKind::And, inside(box.row, row), inside(box.column, column)),
        {b_.types().ScalarOf(scalar)}, [&]() -> Values { return {LoadAt(box.nest, point)}; },
        [&]() -> Values { return {b_.Bits(scalar, 0)}; })[0];
  }

  ir::Builder& b_;
  TeamTiles& tiles_;
  const Op* product_;
  ir::LoopOp loop_;
  Value* acc_;
  TurnMaker turn_;
  ProductBlock block_;
  std::array<BoxFactor, 2> boxes_;
  int64_t slots_;
  std::array<Value*, 2> rings_ = {};
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
    if (unit && unit->unit->goes_on) found = op;
  }
  return found;
}

void ExpandBoxLoop(const SimtFacts& facts, ir::Builder& b, TeamTiles& tiles, const Op* product,
                   Value* acc, TurnMaker turn) {
  BoxLoop(facts, b, tiles, product, acc, std::move(turn)).Run();
}

}  // namespace kdl::simt
