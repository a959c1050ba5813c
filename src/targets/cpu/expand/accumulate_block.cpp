#include "passes/diagnostics.h"
#include "passes/rewrite.h"
#include "targets/cpu/analysis/register_block.h"
#include "targets/cpu/expand/block_steps.h"

// A fold in one chain an element, whose elements all have an accumulator at once: what block-products cuts folds into.

namespace kdl::cpu {

namespace {

using Shape = RegisterBlock::Shape;

/// So many elements a blk has in the code that is made; 0: that is not known.
int64_t MostOf(const BlkFacts& blk) {
  return blk.most ? blk.most : ConstantOf(blk.size).value_or(0);
}

class RegisterFold {
 public:
  RegisterFold(Expander& e, const Accumulation& what)
      : e_(e), what_(what), block_(RegisterBlock::Of(e, *what.op)), steps_(e, what, block_) {}

  void Run() {
    if (!block_.column) {
      e_.scalars[what_.op->result()] = steps_.Accumulate({}, {}, {})[0];
      return;
    }
    if (!FitsRegisters()) return;
    for (AxisId axis : block_.outer) steps_.position()[axis] = e_.b.I64(0);
    Values accs = steps_.Accumulate(shape_, piece_, rows_);
    e_.registers[what_.op->result()] = {accs, block_, shape_, piece_, rows_};
  }

 private:
  const BlkFacts& Facts(AxisId axis) const { return e_.Facts(what_.op, axis); }

  /// Rows, of which some may lack, by whole vectors, or one vector of which a part exists.
  bool FitsRegisters() {
    const BlkFacts& columns = Facts(*block_.column);
    piece_.lanes = block_.lanes;
    shape_.columns = MostOf(columns) / block_.lanes;
    bool fits = MostOf(columns) % block_.lanes == 0;
    if (ConstantOf(columns.size) != MostOf(columns)) {
      fits = fits && shape_.columns == 1;
      piece_ = PieceOf(e_, columns.size, block_.lanes);
    }
    if (block_.row) NoteRows(Facts(*block_.row));
    for (AxisId axis : block_.outer) fits = fits && MostOf(Facts(axis)) == 1;
    int64_t most = e_.facts.vector_registers;
    fits = fits && shape_.columns > 0 && shape_.rows > 0 && shape_.columns <= most &&
           shape_.rows <= most && shape_.rows * shape_.columns <= most;
    if (!fits && e_.unblocked.insert(what_.op).second)
      e_.context.diagnostics.Report(passes::diag::FoldNotBlocked,
                                    e_.context.SpanOf(what_.op->loc()), what_.op->info().spelling);
    return fits;
  }

  void NoteRows(const BlkFacts& rows) {
    std::optional<int64_t> known = ConstantOf(rows.size);
    shape_.rows = known.value_or(rows.most);
    if (known) return;
    rows_.count = rows.size;
    Value* last = e_.b.Binary(OpKind::Sub, rows.size, e_.b.I64(1));
    for (int64_t row = 0; row < shape_.rows; ++row) {
      Value* number = e_.b.I64(row);
      rows_.numbers.push_back(row == 0 ? number : e_.b.Binary(OpKind::Min, number, last));
    }
  }

  Expander& e_;
  const Accumulation& what_;
  RegisterBlock block_;
  BlockSteps steps_;
  Shape shape_;
  Piece piece_;
  PartialRows rows_;
};

}  // namespace

void AccumulateBlock(Expander& e, const Accumulation& what) { RegisterFold(e, what).Run(); }

}  // namespace kdl::cpu
