#include "interp/ops/tile_mma.h"

#include "interp/elements.h"
#include "ir/matrix_instruction.h"
#include "ir/views.h"

// Executes matrix instructions on whole tiles of accumulators. Each accumulator is computed separately, and
// its terms are read from the buffers.

namespace kdl::interp {

namespace {

using ir::AttrKey;
using ir::TileMmaOp;

/// A factor of a matrix product: a buffer, and the position in the buffer at which the factor starts.
class TileFactor {
 public:
  TileFactor(Core& core, Activation& here, const Instruction& instruction, size_t operand,
             size_t first_place)
      : core_(core),
        instruction_(instruction),
        operand_(operand),
        buffer_(BufferAt(core, here, instruction, operand)) {
    for (Size dim : instruction.op->operand(operand)->type()->dims) {
      extents_.push_back(dim->value);
      first_.push_back(
          static_cast<int64_t>(here.scalar(instruction.operands[first_place + first_.size()])));
    }
  }

  size_t rank() const { return first_.size(); }

  /// Reads a group of adjacent terms, and converts them to the type of the accumulator. The position of the
  /// group is the start of the factor plus `by` along dimension `dim` and `last` along the last dimension.
  /// Returns false if the core has stopped.
  bool Read(size_t dim, int64_t by, int64_t last, uint64_t* terms) const {
    for (int iteration = 0; iteration < ir::TermsPerGroup(*instruction_.fold->mma); ++iteration) {
      std::vector<int64_t> index = first_;
      index[dim] += by;
      index.back() += last + iteration;
      int64_t offset = 0;
      for (size_t d = 0; d < index.size(); ++d) {
        if (index[d] < 0 || index[d] >= extents_[d]) {
          core_.Break(instruction_, "reads a term outside its buffer");
          return false;
        }
        offset = offset * extents_[d] + index[d];
      }
      if (!Notes(core_, instruction_, operand_, offset, TouchKind::Read)) return false;
      if (!IsDefined(core_, instruction_, buffer_, offset)) return false;
      uint64_t bits = buffer_.elements[static_cast<size_t>(offset)];
      terms[iteration] = instruction_.fold->widen[operand_](&bits, nullptr);
    }
    return true;
  }

 private:
  Core& core_;
  const Instruction& instruction_;
  size_t operand_;
  const Buffer& buffer_;
  std::vector<int64_t> extents_;
  std::vector<int64_t> first_;
};

}  // namespace

void RunTileMma(Core& core, Activation& here, const Instruction& instruction) {
  const ir::Op& op = *instruction.op;
  const ir::MatrixInstruction& mma = *instruction.fold->mma;
  size_t place = op.SegmentBegin(TileMmaOp::at_place);
  size_t accs = op.SegmentBegin(TileMmaOp::at_accs);
  TileFactor rows(core, here, instruction, TileMmaOp::at_rows, place);
  TileFactor columns(core, here, instruction, TileMmaOp::at_columns, place + rows.rank());
  int64_t of_group = ir::TermsPerGroup(mma);
  auto groups = static_cast<int64_t>(here.scalar(instruction.operands[accs - 1]));
  if (groups % mma.tile_groups != 0)
    return core.Break(instruction,
                      "has a number of steps that is not a multiple of those of a tile");
  auto along = static_cast<size_t>(op.attr<AttrKey::Along>()[0]);
  auto of_row = static_cast<size_t>(op.attr<AttrKey::Sizes>()[1]);
  std::vector<std::vector<uint64_t>> results;
  for (size_t n = 0; n < op.results().size(); ++n) {
    std::vector<uint64_t> lanes = here.vector(instruction.operands[accs + n]);
    auto row = static_cast<int64_t>(n / of_row);
    auto column = static_cast<int64_t>(n % of_row * lanes.size());
    for (uint64_t& acc : lanes) {
      for (int64_t group = 0; group < groups; group += mma.depth / of_group) {
        uint64_t a[ir::kMaxInstructionDepth];
        uint64_t b[ir::kMaxInstructionDepth];
        for (int64_t at = 0; at < mma.depth; at += of_group) {
          int64_t number = group + at / of_group;
          if (!rows.Read(along, row, number * of_group, a + at)) return;
          if (!columns.Read(columns.rank() - 2, number, column * of_group, b + at)) return;
        }
        acc = ir::RunStep(mma, acc, a, b);
      }
      ++column;
    }
    results.push_back(std::move(lanes));
  }
  for (size_t n = 0; n < results.size(); ++n)
    here.vector(instruction.results[n]) = std::move(results[n]);
}

}  // namespace kdl::interp
