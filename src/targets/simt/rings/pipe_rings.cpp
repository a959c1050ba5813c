#include "targets/simt/rings/pipe_rings.h"

#include <utility>
#include <vector>

#include "ir/op_info.h"
#include "ir/ring.h"
#include "ir/views.h"
#include "passes/rewriting/element_access.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"
#include "support/check.h"

namespace kdl::simt {

namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;
using passes::Values;

Value* Load(ir::Builder& b, Value* buffer, const Values& index, int64_t lanes = 1) {
  ir::Type type = b.types().Vector(buffer->type()->scalar, lanes);
  return b.Create(OpKind::BufferLoad, {{buffer}, index, {}}, {type})->result();
}

void Store(ir::Builder& b, Value* value, Value* buffer, const Values& index) {
  b.Create(OpKind::BufferStore, {{value}, {buffer}, index, {}}, {});
}

class RingOpener {
 public:
  RingOpener(ir::Module& module, ir::Function& kernel, bool global)
      : kernel_(kernel), b_(module), global_(global) {}

  Rings ReplacePipes() {
    for (Op* pipe : ir::PipesOf(kernel_)) Open(pipe);
    for (OpKind kind : {OpKind::Acquire, OpKind::Wait}) {
      for (Op* op : passes::OpsOfKind(kernel_, kind)) Replace(op);
    }
    return std::move(rings_);
  }

 private:
  void Open(Op* pipe) {
    b_.StandAt(pipe);
    if (!rings_.moved) rings_.moved = NewCell(b_, Scalar::Bool);
    ir::Type type = pipe->result()->type();
    int64_t depth = pipe->attr<AttrKey::Depth>();
    std::vector<int64_t> extents = {depth};
    for (Size dim : type->dims) extents.push_back(dim->value);
    auto rank = static_cast<int64_t>(type->dims.size());
    Ring ring{Buffer(type->scalar, std::move(extents), ir::Space::Workgroup), nullptr,
              NewCell(b_, Scalar::I64), NewCell(b_, Scalar::I64), depth};
    if (rank > 0) ring.sizes = Buffer(Scalar::I64, {depth, rank}, ir::Space::Scratch);
    ring.elements->set_name(pipe->result()->name());
    if (global_) ring.elements->def()->SetAttr(ir::MakeAttr<AttrKey::Global>(1));
    StoreCell(b_, b_.I64(0), ring.pushed);
    StoreCell(b_, b_.I64(0), ring.popped);
    rings_.of.emplace(pipe->result(), ring);
  }

  Value* Buffer(Scalar scalar, std::vector<int64_t> extents, ir::Space space) {
    ir::Type type = b_.types().Buffer(scalar, std::move(extents), space);
    return b_.Create(OpKind::BufferNew, {}, {type})->result();
  }

  /// Returns the number of the slot for an `acquire` or `wait`. The number is valid until the slot is
  /// committed or released.
  Value* CurrentSlot(const Op* op) {
    const Ring& ring = rings_.of.at(op->operand(0));
    Value* number = LoadCell(b_, op->kind() == OpKind::Acquire ? ring.pushed : ring.popped);
    return b_.Rem(number, b_.I64(ring.depth));
  }

  /// Replaces the ops that use the slot of an `acquire` or `wait`, including the op that commits or releases
  /// it.
  void Replace(Op* op) {
    const Ring& ring = rings_.of.at(op->operand(0));
    while (!op->result()->uses().empty()) {
      Op* user = op->result()->uses()[0].user;
      b_.StandAt(user);
      Use(op, user, ring);
    }
    b_.SetInsertionPoint(op->next());
    b_.set_loc(op->loc());
    for (size_t d = 0; d + 1 < op->results().size(); ++d) {
      Value* dimension = b_.I64(static_cast<int64_t>(d));
      op->result(d + 1)->ReplaceAllUsesWith(Load(b_, ring.sizes, {CurrentSlot(op), dimension}));
    }
  }

  void Use(const Op* op, Op* user, const Ring& ring) {
    switch (user->kind()) {
      case OpKind::Load: {
        ir::LoadOp load(user);
        Value* element = Load(b_, ring.elements, SlotElementIndex(op, user, load.index()),
                              ir::Lanes(load.result()->type()));
        element->set_name(load.result()->name());
        load.result()->ReplaceAllUsesWith(element);
        return ir::Erase(user);
      }
      case OpKind::Store: {
        ir::StoreOp store(user);
        Store(b_, store.value(), ring.elements, SlotElementIndex(op, user, store.index()));
        return ir::Erase(user);
      }
      case OpKind::AlignGap: {
        int64_t lanes = user->attr<AttrKey::Lanes>();
        user->result()->ReplaceAllUsesWith(b_.I64(RowGap(ring, lanes)));
        return ir::Erase(user);
      }
      case OpKind::Commit:
        return Commit(ir::CommitOp(user));
      case OpKind::Release:
        return Release(ir::ReleaseOp(user));
      default:
        KDL_UNREACHABLE("'{}' cannot use a slot", user->info().spelling);
    }
  }

  /// Returns 0 if each row of each slot begins at a multiple of `lanes` elements, otherwise a different
  /// number. There are no gaps between rows.
  static int64_t RowGap(const Ring& ring, int64_t lanes) {
    return ring.elements->type()->dims.back()->value % lanes;
  }

  Values SlotElementIndex(const Op* op, const Op* user, std::span<Value* const> operands) {
    Values index = {CurrentSlot(op)};
    ir::Access access = user->attr<AttrKey::Access>();
    for (const ir::AccessDim& dim : access.dims)
      index.push_back(passes::IndexValue(b_, dim, operands));
    return index;
  }

  void Commit(ir::CommitOp commit) {
    const Ring& ring = rings_.of.at(commit.pipe());
    b_.StandAt(commit.op);
    Value* number = LoadCell(b_, ring.pushed);
    Value* slot = b_.Rem(number, b_.I64(ring.depth));
    for (size_t d = 0; d < commit.sizes().size(); ++d)
      Store(b_, commit.sizes()[d], ring.sizes, {slot, b_.I64(static_cast<int64_t>(d))});
    Count(number, ring.pushed);
    ir::Erase(commit.op);
  }

  void Release(ir::ReleaseOp release) {
    const Ring& ring = rings_.of.at(release.pipe());
    b_.StandAt(release.op);
    Count(LoadCell(b_, ring.popped), ring.popped);
    ir::Erase(release.op);
  }

  void Count(Value* number, Value* cell) {
    StoreCell(b_, b_.Add(number, b_.I64(1)), cell);
    StoreCell(b_, b_.Bool(true), rings_.moved);
  }

  ir::Function& kernel_;
  ir::Builder b_;
  bool global_;
  Rings rings_;
};

}  // namespace

Value* NewCell(ir::Builder& b, Scalar scalar) {
  return b.Create(OpKind::BufferNew, {}, {b.types().Buffer(scalar, {1}, ir::Space::Scratch)})
      ->result();
}

Value* LoadCell(ir::Builder& b, Value* cell) { return Load(b, cell, {b.I64(0)}); }

void StoreCell(ir::Builder& b, Value* value, Value* cell) { Store(b, value, cell, {b.I64(0)}); }

Rings OpenRings(ir::Module& module, ir::Function& kernel, bool global) {
  return RingOpener(module, kernel, global).ReplacePipes();
}

void MapRings(Rings& rings, const ir::ValueMap& map) {
  for (auto& [pipe, ring] : rings.of) {
    for (Value** memory : {&ring.elements, &ring.sizes, &ring.pushed, &ring.popped}) {
      if (*memory) *memory = passes::Mapped(map, *memory);
    }
  }
  if (rings.moved) rings.moved = passes::Mapped(map, rings.moved);
}

Value* IsBlocked(ir::Builder& b, const Rings& rings, const Op* op) {
  const Ring& ring = rings.of.at(op->operand(0));
  Value* pushed = LoadCell(b, ring.pushed);
  Value* held = b.Sub(pushed, LoadCell(b, ring.popped));
  return b.Eq(held, b.I64(op->kind() == OpKind::Acquire ? ring.depth : 0));
}

}  // namespace kdl::simt
