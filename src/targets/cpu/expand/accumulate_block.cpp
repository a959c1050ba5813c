#include "ir/op_info.h"
#include "passes/diagnostics.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/analysis/register_block.h"
#include "targets/cpu/expand/block_steps.h"

// Expands reductions in sequential order, with accumulators for all elements in registers at the same time.
// That is possible because block-products has split the reductions into small blocks.

namespace kdl::cpu {

namespace {

/// Returns the maximum number of elements of the block, or 0 if that is unknown.
int64_t MostElements(const BlockFacts& block) {
  return block.most ? block.most : ConstantOf(block.size).value_or(0);
}

class RegisterFold {
 public:
  RegisterFold(Expander& e, const Accumulation& what)
      : e_(e),
        what_(what),
        tile_{{}, RegisterBlock::ChooseFor(e, *what.op), {}, {}, {}},
        steps_(RegisterBlockSteps(e, what, tile_.block)) {}

  void ExpandToRegisters() {
    if (!tile_.block.column) {
      e_.scalars[what_.op->result()] = steps_(tile_)[0];
      return;
    }
    if (!FitsRegisters()) return;
    tile_.values = steps_(tile_);
    e_.registers[what_.op->result()] = tile_;
  }

 private:
  const BlockFacts& Facts(AxisId axis) const { return e_.Facts(what_.op, axis); }

  /// Whether the block fits into registers. Each row must consist of whole vectors or of a single partial
  /// vector; some rows may be missing. Reports an error if the block does not fit.
  bool FitsRegisters() {
    auto& [values, block, shape, chunk, partial] = tile_;
    const BlockFacts& columns = Facts(*block.column);
    chunk.lanes = block.lanes;
    shape.columns = MostElements(columns) / block.lanes;
    bool fits = MostElements(columns) % block.lanes == 0;
    if (ConstantOf(columns.size) != MostElements(columns)) {
      fits = fits && shape.columns == 1;
      chunk = ChunkOf(e_, columns.size, block.lanes);
    }
    if (block.row) NoteRows(Facts(*block.row));
    for (AxisId axis : block.outer) fits = fits && MostElements(Facts(axis)) == 1;
    int64_t most = e_.facts.vector_registers;
    fits = fits && shape.columns > 0 && shape.rows > 0 && shape.columns <= most &&
           shape.rows <= most && shape.rows * shape.columns <= most;
    if (!fits && e_.unblocked.insert(what_.op).second)
      e_.context.diagnostics.Report(passes::diag::FoldNotBlocked,
                                    e_.context.SpanOf(what_.op->loc()), what_.op->info().spelling);
    return fits;
  }

  void NoteRows(const BlockFacts& rows) {
    std::optional<int64_t> known = ConstantOf(rows.size);
    tile_.shape.rows = known.value_or(rows.most);
    if (known) return;
    tile_.partial.count = rows.size;
    Value* last = e_.b.Sub(rows.size, e_.b.I64(1));
    for (int64_t row = 0; row < tile_.shape.rows; ++row) {
      Value* number = e_.b.I64(row);
      tile_.partial.numbers.push_back(row == 0 ? number : e_.b.Min(number, last));
    }
  }

  Expander& e_;
  const Accumulation& what_;
  RegisterTile tile_;
  std::function<Values(const RegisterTile&)> steps_;
};

}  // namespace

void AccumulateBlock(Expander& e, const Accumulation& what) {
  RegisterFold(e, what).ExpandToRegisters();
}

}  // namespace kdl::cpu
