#include "interp/ops/mma.h"

#include "interp/elements.h"
#include "ir/lane_map.h"
#include "ir/matrix_instruction.h"
#include "ir/views.h"

// Executes one GPU thread's part of an mma step. The thread computes its points independently of other
// threads, and reads their terms from workgroup memory.

namespace kdl::interp {

namespace {

using ir::AttrKey;

/// A factor of a matrix product: a buffer with two dimensions, or a slice (slot) of a buffer with three. The
/// terms of a sum lie along one of the two dimensions.
struct Factor {
  size_t operand;
  const Buffer* buffer;
  int64_t extents[2];
  size_t folded;
  int64_t slot;
  int64_t slots;

  int64_t Offset(int64_t kept, int64_t term) const {
    int64_t row = folded == 0 ? term : kept;
    int64_t column = folded == 0 ? kept : term;
    bool inside = slot >= 0 && slot < slots && row >= 0 && row < extents[0] && column >= 0 &&
                  column < extents[1];
    return inside ? (slot * extents[0] + row) * extents[1] + column : -1;
  }
};

Factor MakeFactor(Core& core, Activation& here, const Instruction& instruction, size_t operand) {
  ir::Type type = instruction.op->operand(operand)->type();
  auto folded = static_cast<size_t>(instruction.op->attr<AttrKey::Folded>()[operand]);
  size_t first = type->dims.size() - 2;
  Factor factor{operand,
                &BufferAt(core, here, instruction, operand),
                {type->dims[first]->value, type->dims[first + 1]->value},
                folded,
                0,
                1};
  if (first == 0) return factor;
  size_t slot = instruction.op->SegmentBegin(ir::MmaOp::at_slots);
  // If the first factor has a slot operand, that of the second factor comes after it.
  if (operand == 1 && instruction.op->operand(0)->type()->dims.size() == 3) ++slot;
  factor.slot = static_cast<int64_t>(here.scalar(instruction.operands[slot]));
  factor.slots = type->dims[0]->value;
  return factor;
}

/// Reads the terms of a row or column, and converts them to the type of the accumulator. Returns false if
/// the core has stopped.
bool ReadTerms(Core& core, const Instruction& instruction, const Factor& factor, int64_t kept,
               int64_t first, uint64_t* terms) {
  for (int iteration = 0; iteration < instruction.fold->mma->depth; ++iteration) {
    int64_t offset = factor.Offset(kept, first + iteration);
    if (offset < 0) {
      core.Break(instruction, "reads a term outside its buffer");
      return false;
    }
    if (!Notes(core, instruction, factor.operand, offset, TouchKind::Read)) return false;
    if (!IsDefined(core, instruction, *factor.buffer, offset)) return false;
    uint64_t bits = factor.buffer->elements[static_cast<size_t>(offset)];
    terms[iteration] = instruction.fold->widen[factor.operand](&bits, nullptr);
  }
  return true;
}

/// Returns the GPU thread's positions along an axis with this thread layout.
std::vector<int64_t> ThreadPositions(const ir::AxisDigits& digits, int64_t thread) {
  int64_t first = digits.First(thread / digits.apart % digits.threads);
  std::vector<int64_t> places;
  for (int64_t held = 0; held < digits.held(); ++held)
    places.push_back(first + digits.Offset(held));
  return places;
}

}  // namespace

void RunMma(Core& core, Activation& here, const Instruction& instruction) {
  using Step = ir::MmaOp;
  const ir::MatrixInstruction& mma = *instruction.fold->mma;
  auto place = [&](size_t number) {
    return static_cast<int64_t>(here.scalar(instruction.operands[Step::at_place + number]));
  };
  Factor a = MakeFactor(core, here, instruction, Step::at_a);
  Factor b = MakeFactor(core, here, instruction, Step::at_b);
  ir::LaneMap map = ir::MapOf(*instruction.op);
  int64_t thread = place(0);
  int64_t term = place(1);
  int64_t rows = place(2);
  int64_t columns = place(3);
  size_t first_acc = instruction.op->SegmentBegin(Step::at_accs);
  std::vector<uint64_t> results;
  for (int64_t row : ThreadPositions(map[0], thread)) {
    for (int64_t column : ThreadPositions(map[1], thread)) {
      size_t at = results.size();
      results.push_back(UnspecifiedBits(mma.acc));
      if (row >= rows || column >= columns) continue;
      uint64_t of_row[ir::kMaxInstructionDepth];
      uint64_t of_column[ir::kMaxInstructionDepth];
      if (!ReadTerms(core, instruction, a, row, term, of_row)) return;
      if (!ReadTerms(core, instruction, b, column, term, of_column)) return;
      uint64_t acc = here.scalar(instruction.operands[first_acc + at]);
      results[at] = ir::RunStep(mma, acc, of_row, of_column);
    }
  }
  for (size_t i = 0; i < results.size(); ++i) here.scalar(instruction.results[i]) = results[i];
}

}  // namespace kdl::interp
