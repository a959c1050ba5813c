#include <algorithm>
#include <bit>

#include "support/check.h"
#include "targets/cpu/expand/combine.h"
#include "targets/cpu/expand/expander.h"

// Loops and branches carry scalars as values; tiles they carry in homes that stay the same from turn to turn.

namespace kdl::cpu {

namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

/// Copies that happen at once: what is overwritten and still needed goes through a temporary first.
struct PendingCopy {
  Home from;
  Home to;
  kdl::Scalar scalar;
  ir::Type type;
};

void CopyAtOnce(Expander& e, const Op* at, std::vector<PendingCopy> copies) {
  std::erase_if(copies, [](const PendingCopy& copy) { return copy.from.buffer == copy.to.buffer; });
  for (PendingCopy& copy : copies) {
    bool overwritten = std::any_of(copies.begin(), copies.end(), [&](const PendingCopy& other) {
      return &other != &copy && other.to.buffer == copy.from.buffer;
    });
    if (!overwritten) continue;
    Home temporary = NewHome(e, copy.type);
    CopyTile(e, at, copy.from, temporary, copy.scalar);
    copy.from = temporary;
  }
  for (const PendingCopy& copy : copies) CopyTile(e, at, copy.from, copy.to, copy.scalar);
}

/// Moves the yielded tiles to `targets` and yields the scalars.
void ExpandYield(Expander& e, const Op* yield, const std::vector<Value*>& targets) {
  std::vector<PendingCopy> copies;
  Values scalars;
  for (size_t i = 0; i < yield->operands().size(); ++i) {
    Value* value = yield->operand(i);
    if (!IsTileValue(value)) {
      scalars.push_back(e.Scalar(value));
    } else {
      copies.push_back(
          {e.homes.at(value), e.homes.at(targets[i]), value->type()->scalar, value->type()});
    }
  }
  CopyAtOnce(e, yield, copies);
  e.b.Create(OpKind::Yield, {scalars}, {});
}

void FillRegion(Expander& e, const ir::Block* from, ir::Block* to,
                const std::vector<Value*>& targets) {
  ir::Block* outer = e.b.block();
  e.b.SetInsertionPoint(to);
  ExpandBlock(e, from);
  ExpandYield(e, from->terminator(), targets);
  e.b.SetInsertionPoint(outer);
}

/// Whether the loop alone goes on with the tile: nothing in it or behind it looks at what the tile was.
bool IsHandedOver(const Value* init, const Op* loop) {
  auto in_loop = [&](const ir::Use& use) {
    const Op* user = use.user;
    while (user && user != loop && user->block() != loop->block()) user = user->block()->parent();
    return user == loop;
  };
  return DiesAt(init, loop) && std::ranges::count_if(init->uses(), in_loop) == 1;
}

/// The carried tile's home: that of the initial one where nothing else needs it, else a copy.
Home CarriedHome(Expander& e, const Op* loop, Value* init) {
  Home home = e.homes.at(init);
  if (IsHandedOver(init, loop)) return home;
  Home copy = NewHome(e, init->type());
  CopyTile(e, loop, home, copy, init->type()->scalar);
  return copy;
}

void ExpandUnless(Expander& e, Value* condition, const Op* nest) {
  MakeIf(
      e, condition, {}, [] { return Values(); },
      [&]() -> Values {
        ExpandNest(e, nest);
        return {};
      });
}

/// Fills, where the loop does not run, what its contraction would otherwise have started.
void FillWithoutTurns(Expander& e, ir::LoopOp loop) {
  for (Value* init : loop.inits()) {
    const Op* fill = LateFillOf(init);
    if (!fill) continue;
    Value* runs = e.b.Binary(OpKind::Lt, e.Scalar(loop.lo()), e.Scalar(loop.hi()));
    ExpandUnless(e, runs, fill);
  }
}

/// Nests that run inside of other ops leave nothing here but what those do not do.
void ExpandNestInPlace(Expander& e, Op* op) {
  if (IsLatePack(e, op)) return;
  if (FillsAccumulators(op)) {
    ResultHome(e, op, 0);
  } else if (const Op* loop = LoopOfEpilogue(e, op)) {
    ExpandUnless(e, e.long_loops.at(loop), op);
  } else {
    ExpandNest(e, op);
  }
}

/// What the contraction that carries on tile number `i` starts from in the loop's first turn.
void NoteFirstTurn(Expander& e, const Op* op, size_t i, Value* index) {
  ir::LoopOp loop(const_cast<Op*>(op));
  const Op* fill = LateFillOf(loop.inits()[i]);
  if (!fill) return;
  Value* value = fill->region()->terminator()->operand(0);
  e.first_turns[op->region()->param(i + 1)] = {index, e.Scalar(loop.lo()), e.Scalar(value)};
}

/// The nest that follows the contraction that carries on tile number `i`, in the loop's last turn.
void NoteLastTurn(Expander& e, const Op* op, size_t i, Value* index) {
  ir::LoopOp loop(const_cast<Op*>(op));
  const Op* epilogue = EpilogueOf(e, op, i);
  if (!epilogue) return;
  e.last_turns[op->region()->param(i + 1)] = {e.long_loops.at(op),   index,    e.Scalar(loop.hi()),
                                              e.Scalar(loop.step()), epilogue, op->result(i)};
}

/// Whether a loop has so many terms that stores to memory, a register block at a time, hide behind them. With fewer the
/// memory's speed counts, which likes long rows better. The distance is taken as a u64, which holds every one.
void NoteLength(Expander& e, const Op* op) {
  constexpr uint64_t kLong = 128;
  ir::LoopOp loop(const_cast<Op*>(op));
  Value* lo = e.Scalar(loop.lo());
  Value* hi = e.Scalar(loop.hi());
  Value* terms = e.b.Cast(e.b.Binary(OpKind::Sub, hi, lo), kdl::Scalar::U64);
  Value* enough = e.b.Binary(OpKind::Ge, terms, e.b.Cast(e.b.I64(kLong), kdl::Scalar::U64));
  e.long_loops[op] = e.b.Binary(OpKind::And, e.b.Binary(OpKind::Lt, lo, hi), enough);
}

void ExpandLoop(Expander& e, Op* op) {
  ir::LoopOp loop(op);
  const ir::Block* body = op->region();
  Values inits;
  std::vector<ir::Type> types;
  std::vector<Value*> carried(body->params().begin() + 1, body->params().end());
  for (size_t i = 0; i < carried.size(); ++i) {
    Value* init = loop.inits()[i];
    if (IsTileValue(init)) {
      e.homes[carried[i]] = e.homes[op->result(i)] = CarriedHome(e, op, init);
    } else {
      inits.push_back(e.Scalar(init));
      types.push_back(init->type());
    }
  }
  FillWithoutTurns(e, loop);
  if (op->results().size() == 1 && EpilogueOf(e, op, 0)) NoteLength(e, op);
  Op* copy = e.b.Create(
      OpKind::Loop, {{e.Scalar(loop.lo())}, {e.Scalar(loop.hi())}, {e.Scalar(loop.step())}, inits},
      types, op->attrs());
  e.scalars[body->param(0)] =
      e.b.AddParam(copy->region(), body->param(0)->type(), body->param(0)->name());
  size_t next = 0;
  for (size_t i = 0; i < carried.size(); ++i) {
    if (IsTileValue(carried[i])) {
      NoteFirstTurn(e, op, i, copy->region()->param(0));
      NoteLastTurn(e, op, i, copy->region()->param(0));
      continue;
    }
    e.scalars[carried[i]] = e.b.AddParam(copy->region(), carried[i]->type(), carried[i]->name());
    copy->result(next)->set_name(op->result(i)->name());
    e.scalars[op->result(i)] = copy->result(next++);
  }
  FillRegion(e, body, copy->region(), carried);
}

/// Its condition is a scalar here: one that differs by element stands in a nest.
void ExpandWhile(Expander& e, Op* op) {
  const ir::Block* body = op->region();
  Values inits;
  std::vector<ir::Type> types;
  for (size_t i = 0; i < op->results().size(); ++i) {
    if (IsTileValue(op->operand(i))) {
      e.homes[body->param(i)] = e.homes[op->result(i)] = CarriedHome(e, op, op->operand(i));
    } else {
      inits.push_back(e.Scalar(op->operand(i)));
      types.push_back(op->operand(i)->type());
    }
  }
  Op* copy = e.b.Create(OpKind::While, {inits}, types);
  size_t next = 0;
  for (size_t i = 0; i < op->results().size(); ++i) {
    const Value* param = body->param(i);
    if (IsTileValue(param)) continue;
    e.scalars[param] = e.b.AddParam(copy->region(), param->type(), param->name());
    copy->result(next)->set_name(op->result(i)->name());
    e.scalars[op->result(i)] = copy->result(next++);
  }
  FillRegion(e, body, copy->region(), body->params());
}

void ExpandIf(Expander& e, Op* op) {
  std::vector<ir::Type> types;
  for (size_t i = 0; i < op->results().size(); ++i) {
    if (IsTileValue(op->result(i))) {
      e.homes[op->result(i)] = NewHome(e, op->result(i)->type());
    } else {
      types.push_back(op->result(i)->type());
    }
  }
  Op* copy = e.b.Create(OpKind::If, {{e.Scalar(op->operand(0))}}, types);
  size_t next = 0;
  for (Value* result : op->results()) {
    if (!IsTileValue(result)) e.scalars[result] = copy->result(next++);
  }
  for (size_t r = 0; r < 2; ++r) FillRegion(e, op->region(r), copy->region(r), op->results());
}

void ExpandStage(Expander& e, const Op* op) {
  Op* copy = e.b.Create(OpKind::Stage, {}, {}, op->attrs());
  FillRegion(e, op->region(), copy->region(), {});
}

std::vector<Value*> ScalarsOf(Expander& e, std::span<Value* const> old) {
  std::vector<Value*> values;
  for (Value* value : old) values.push_back(e.Scalar(value));
  return values;
}

Value* OptionalScalar(Expander& e, Value* old) { return old ? e.Scalar(old) : nullptr; }

/// An op on scalars only, outside nests.
void ExpandScalarOp(Expander& e, Op* op) {
  if (auto load = ir::DynAs<ir::LoadOp>(op)) {
    ElementAccess access{op,
                         e.Scalar(load->tensor()),
                         ScalarsOf(e, load->index()),
                         OptionalScalar(e, load->otherwise()),
                         OptionalScalar(e, load->mask()),
                         {}};
    e.scalars[op->result()] = ExpandLoad(e, access, op->result()->type()->scalar);
  } else if (auto store = ir::DynAs<ir::StoreOp>(op)) {
    ElementAccess access{op,      e.Scalar(store->tensor()),        ScalarsOf(e, store->index()),
                         nullptr, OptionalScalar(e, store->mask()), {}};
    ExpandStore(e, access, e.Scalar(store->value()));
  } else if (auto update = ir::DynAs<ir::UpdateOp>(op)) {
    ElementAccess access{op,      e.Scalar(update->tensor()),        ScalarsOf(e, update->index()),
                         nullptr, OptionalScalar(e, update->mask()), {}};
    ExpandUpdate(e, access, e.Scalar(update->value()));
  } else {
    ir::Clone(op, e.b, e.scalars);
  }
}

/// The tile in a buffer whose dimensions are its axes in the order of their numbers, as its text names them.
Value* ToPrint(Expander& e, const Op* op, Value* tile, Values& sizes) {
  ir::AxisList axes = tile->type()->axes;
  std::vector<int64_t> extents;
  for (ir::AxisId axis : axes) {
    extents.push_back(e.Extent(axis));
    sizes.push_back(e.Facts(op, axis).size);
  }
  kdl::Scalar scalar = tile->type()->scalar;
  Op* buffer = e.b.Create(OpKind::BufferNew, {}, {e.module.types().Buffer(scalar, extents)});
  Home printed{buffer->result(), axes, 0, nullptr, nullptr};
  CopyTile(e, op, e.homes.at(tile), printed, scalar);
  return buffer->result();
}

void ExpandPrint(Expander& e, const Op* op) {
  Values values;
  Values sizes;
  for (Value* value : op->Segment(ir::PrintOp::at_values))
    values.push_back(IsTileValue(value) ? ToPrint(e, op, value, sizes) : e.Scalar(value));
  e.b.Create(OpKind::Print, {values, sizes}, {}, op->attrs());
}

void ExpandOp(Expander& e, Op* op) {
  switch (op->kind()) {
    case OpKind::MakeBlk:
      NoteBlk(e, op);
      break;
    case OpKind::BlkStart:
      e.scalars[op->result()] = e.blks.at(op->operand(0)).start;
      break;
    case OpKind::BlkSize:
      e.scalars[op->result()] = e.blks.at(op->operand(0)).size;
      break;
    case OpKind::BlkIndex:
      e.scalars[op->result()] = e.blks.at(op->operand(0)).index;
      break;
    case OpKind::Nest:
      ExpandNestInPlace(e, op);
      break;
    case OpKind::Reduce:
    case OpKind::Contraction:
      ExpandFold(e, op);
      break;
    case OpKind::Fold:
    case OpKind::Scan:
      ExpandCombine(e, op);
      break;
    case OpKind::Slide:
      ExpandSlide(e, op);
      break;
    case OpKind::Take:
      ExpandTake(e, op);
      break;
    case OpKind::Loop:
      ExpandLoop(e, op);
      break;
    case OpKind::While:
      ExpandWhile(e, op);
      break;
    case OpKind::If:
      ExpandIf(e, op);
      break;
    case OpKind::Print:
      ExpandPrint(e, op);
      break;
    case OpKind::Stage:
      ExpandStage(e, op);
      break;
    default:
      ExpandScalarOp(e, op);
      break;
  }
}

}  // namespace

bool IsTileValue(const Value* value) {
  return ir::IsTile(value->type()) && !value->type()->axes.empty();
}

void ExpandBlock(Expander& e, const ir::Block* block) {
  for (Op* op : *block) {
    if (op == block->terminator()) break;
    e.b.set_loc(op->loc());
    ExpandOp(e, op);
  }
}

Value* Expander::Scalar(Value* old) const {
  auto found = scalars.find(old);
  KDL_CHECK(found != scalars.end(), "'{}' is no scalar yet", old->name().text());
  return found->second;
}

int64_t Expander::Extent(ir::AxisId axis) const {
  Size extent = function.axis(axis).extent;
  KDL_CHECK(IsConstant(extent), "axis '{}' has no constant extent",
            function.axis(axis).name.text());
  return extent->value;
}

int64_t Expander::LanesAlong(ir::AxisId axis, int64_t bytes) const {
  auto extent = static_cast<uint64_t>(std::max<int64_t>(Extent(axis), 1));
  return std::min(facts.vector_bits / 8 / bytes, static_cast<int64_t>(std::bit_ceil(extent)));
}

}  // namespace kdl::cpu
