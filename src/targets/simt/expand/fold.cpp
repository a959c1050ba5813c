#include "ir/eval/eval.h"
#include "ir/op_kind.h"
#include "targets/simt/expand/mapped.h"
#include "targets/simt/tiles/workgroup_tiles.h"

// Expands reductions such as max, whose result does not depend on the order, if their operand is a tile in
// registers. Each thread reduces its own points of a row. The partial results of the threads that share a row
// are then combined through workgroup memory.
//
//   %m = reduce max %s over j {map = …}
//   ->
//   %p = buffer_new : buffer<f32,[64,4]; workgroup>
//   loop %w in 0 .. 128 {threads} { … buffer_store … to %p[row of %w, %w rem 4] }
//   loop %i in 0 .. size(bi) {threads} { … buffer_store max of %p[%i, 0], … to %m[%i] }

namespace kdl::simt {

namespace {

using ir::AttrKey;
using ir::AxisDigits;
using ir::AxisId;
using ir::Op;
using ir::OpKind;
using ir::Value;
using passes::MakeIf;
using passes::MakeWorkgroupLoop;
using passes::Values;

class FoldExpander {
 public:
  FoldExpander(ir::Builder& b, WorkgroupTiles& tiles, const Op* op)
      : b_(b),
        tiles_(tiles),
        op_(op),
        tile_(op->operand(0)),
        folded_(op->attr<AttrKey::Axes>()[0]),
        kept_(op->result()->type()->axes[0]),
        map_(AxisMapOf(*op)),
        scalar_(op->attr<AttrKey::Acc>()) {}

  void ExpandTo(Value* target) {
    int64_t sharers = map_.at(folded_).threads;
    ir::Type type =
        b_.types().Buffer(scalar_, {tiles_.Extent(kept_), sharers}, ir::Space::Workgroup);
    Value* parts = b_.Create(OpKind::BufferNew, {}, {type})->result();
    int64_t threads = ir::ThreadsOf(ir::MapOf(*op_));
    Value* zero = b_.I64(0);
    Value* all = b_.I64(threads);
    MakeWorkgroupLoop(b_, {zero, all}, [&](Value* thread) { FoldOwn(thread, threads, parts); });
    tiles_.Distribute(op_, {kept_}, [&](const Values& place) {
      Value* acc = PartAt(parts, place[0], 0);
      for (int64_t part = 1; part < sharers; ++part)
        acc = Together(acc, PartAt(parts, place[0], part));
      tiles_.Store(acc, op_->result(), target, place);
    });
  }

 private:
  Value* Identity() {
    return b_.Bits(scalar_, ir::FoldIdentity(op_->attr<AttrKey::Reduction>(), scalar_));
  }
  Value* Together(Value* a, Value* b) {
    return b_.Binary(ir::CombineOf(op_->attr<AttrKey::Reduction>()), a, b);
  }
  Value* IsInside(AxisId axis, Value* place) {
    return b_.Lt(place, tiles_.FactsAt(op_, axis).size);
  }
  Value* PartAt(Value* parts, Value* row, int64_t part) {
    ir::Type type = b_.types().ScalarOf(scalar_);
    return b_.Create(OpKind::BufferLoad, {{parts}, {row, b_.I64(part)}, {}}, {type})->result();
  }

  /// Returns the thread's number among the threads that share its row.
  Value* NumberInRow(Value* thread) {
    const AxisDigits& digits = map_.at(folded_);
    Value* number = b_.Div(thread, b_.I64(digits.apart));
    return b_.Rem(number, b_.I64(digits.threads));
  }

  void FoldOwn(Value* thread, int64_t threads, Value* parts) {
    const AxisDigits& rows = map_.at(kept_);
    const AxisDigits& columns = map_.at(folded_);
    Value* first_row = tiles_.FirstPlace(thread, rows, threads);
    Value* first_column = tiles_.FirstPlace(thread, columns, threads);
    Value* part = NumberInRow(thread);
    Values exist;
    for (int64_t j = 0; j < columns.held(); ++j)
      exist.push_back(IsInside(folded_, tiles_.HeldPlace(first_column, columns, j)));
    for (int64_t i = 0; i < rows.held(); ++i) {
      tiles_.SetHeld(kept_, i);
      Value* acc = Identity();
      for (int64_t j = 0; j < columns.held(); ++j) {
        tiles_.SetHeld(folded_, j);
        Value* element = tiles_.Load(tile_, tiles_.BufferOf(tile_), {});
        element = b_.Select(exist[static_cast<size_t>(j)], element, Identity());
        acc = Together(acc, element);
      }
      Value* row = tiles_.HeldPlace(first_row, rows, i);
      MakeIf(b_, IsInside(kept_, row),
             [&] { b_.Create(OpKind::BufferStore, {{acc}, {parts}, {row, part}, {}}, {}); });
    }
  }

  ir::Builder& b_;
  WorkgroupTiles& tiles_;
  const Op* op_;
  const Value* tile_;
  AxisId folded_;
  AxisId kept_;
  AxisMap map_;
  kdl::Scalar scalar_;
};

}  // namespace

void ExpandMappedFold(ir::Builder& b, WorkgroupTiles& tiles, const Op* op, Value* target) {
  FoldExpander(b, tiles, op).ExpandTo(target);
}

}  // namespace kdl::simt
