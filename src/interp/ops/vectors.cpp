#include "interp/ops/vectors.h"

#include "ir/type.h"
#include "ir/views.h"

// Executes ops that make vectors from scalars or vectors, and scalars from vectors.

namespace kdl::interp {

namespace {

/// Returns the lanes of result `i`, resized to the length of the result's type.
std::vector<uint64_t>& ResultLanes(Activation& here, const Instruction& instruction, size_t i = 0) {
  std::vector<uint64_t>& lanes = here.vector(instruction.results[i]);
  lanes.resize(static_cast<size_t>(ir::Lanes(instruction.op->result(i)->type())));
  return lanes;
}

}  // namespace

void RunVectorElementwise(Core& core, Activation& here, const Instruction& instruction) {
  const uint64_t* sources[3];
  size_t strides[3];
  size_t count = 0;
  for (Slot slot : instruction.operands) {
    sources[count] = SlotElements(here, slot);
    strides[count++] = slot.kind == SlotKind::Vector ? 1 : 0;
  }
  bool division_by_zero = false;
  uint64_t operands[3];
  std::vector<uint64_t>& result = ResultLanes(here, instruction);
  for (size_t lane = 0; lane < result.size(); ++lane) {
    for (size_t i = 0; i < count; ++i) operands[i] = sources[i][lane * strides[i]];
    result[lane] = instruction.eval(operands, &division_by_zero);
  }
  if (division_by_zero) core.Stop({KDL_TRAP_DIVISION, instruction.op, -1, 0, 0});
}

void RunSplat(Core&, Activation& here, const Instruction& instruction) {
  uint64_t value = here.scalar(instruction.operands[0]);
  for (uint64_t& lane : ResultLanes(here, instruction)) lane = value;
}

void RunLaneMask(Core&, Activation& here, const Instruction& instruction) {
  auto count = static_cast<int64_t>(here.scalar(instruction.operands[0]));
  int64_t number = 0;
  for (uint64_t& lane : ResultLanes(here, instruction)) lane = number++ < count ? 1 : 0;
}

void RunLaneNumbers(Core&, Activation& here, const Instruction& instruction) {
  uint64_t number = 0;
  for (uint64_t& lane : ResultLanes(here, instruction)) lane = number++;
}

void RunCountLanes(Core&, Activation& here, const Instruction& instruction) {
  uint64_t count = 0;
  for (uint64_t lane : here.vector(instruction.operands[0])) count += lane;
  here.scalar(instruction.results[0]) = count;
}

/// Sets the unspecified lanes to 0.
void RunCompress(Core&, Activation& here, const Instruction& instruction) {
  const std::vector<uint64_t>& value = here.vector(instruction.operands[0]);
  const std::vector<uint64_t>& mask = here.vector(instruction.operands[1]);
  std::vector<uint64_t> compressed;
  for (size_t lane = 0; lane < value.size(); ++lane) {
    if (mask[lane] != 0) compressed.push_back(value[lane]);
  }
  compressed.resize(value.size());
  ResultLanes(here, instruction) = std::move(compressed);
}

void RunZip(Core&, Activation& here, const Instruction& instruction) {
  std::vector<uint64_t>& result = ResultLanes(here, instruction);
  size_t rows = instruction.operands.size();
  for (size_t row = 0; row < rows; ++row) {
    const uint64_t* elements = SlotElements(here, instruction.operands[row]);
    for (size_t lane = 0; lane * rows < result.size(); ++lane)
      result[lane * rows + row] = elements[lane];
  }
}

void RunPick(Core&, Activation& here, const Instruction& instruction) {
  std::vector<uint64_t>& result = ResultLanes(here, instruction);
  ir::NumberList picked = instruction.op->attr<ir::AttrKey::Picked>();
  auto lanes = static_cast<size_t>(ir::Lanes(instruction.op->operand(0)->type()));
  for (size_t i = 0; i < result.size(); ++i) {
    auto lane = static_cast<size_t>(picked[i]);
    result[i] = here.vector(instruction.operands[lane / lanes])[lane % lanes];
  }
}

void RunVectorMma(Core&, Activation& here, const Instruction& instruction) {
  const ir::MatrixInstruction& mma = *instruction.fold->mma;
  bool in_sequence = instruction.op->HasAttr(ir::AttrKey::Part);
  int chain = in_sequence ? static_cast<int>(instruction.op->attr<ir::AttrKey::Part>()) : 0;
  auto depth = static_cast<size_t>(in_sequence ? ir::TermsPerGroup(mma) : mma.depth);
  size_t lanes = static_cast<size_t>(ir::Lanes(instruction.op->result()->type()));
  std::vector<uint64_t> accs(lanes);
  const uint64_t* start = SlotElements(here, instruction.operands[ir::VectorMmaOp::at_acc]);
  std::vector<uint64_t> factors[2];
  for (size_t i = 0; i < 2; ++i) {
    factors[i] = here.vector(instruction.operands[i]);
    for (uint64_t& factor : factors[i]) factor = instruction.fold->widen[i](&factor, nullptr);
  }
  auto of_lane = [&](const std::vector<uint64_t>& all, size_t lane) {
    return all.data() + (all.size() == depth ? 0 : lane * depth);
  };
  for (size_t lane = 0; lane < lanes; ++lane) {
    const uint64_t* a = of_lane(factors[0], lane);
    const uint64_t* b = of_lane(factors[1], lane);
    accs[lane] = in_sequence ? ir::RunSequence(mma, chain, start[lane], a, b)
                             : ir::RunStep(mma, start[lane], a, b);
  }
  Slot target = instruction.results[0];
  if (target.kind == SlotKind::Scalar) {
    here.scalar(target) = accs[0];
  } else {
    here.vector(target) = std::move(accs);
  }
}

void RunHalf(Core&, Activation& here, const Instruction& instruction) {
  const std::vector<uint64_t>& whole = here.vector(instruction.operands[0]);
  size_t lanes = whole.size() / 2;
  auto part = static_cast<size_t>(instruction.op->attr<ir::AttrKey::Part>());
  const uint64_t* first = whole.data() + part * lanes;
  if (lanes == 1) {
    here.scalar(instruction.results[0]) = *first;
  } else {
    here.vector(instruction.results[0]).assign(first, first + lanes);
  }
}

void RunTranspose(Core&, Activation& here, const Instruction& instruction) {
  size_t parts = instruction.operands.size() / instruction.results.size();
  size_t lanes = instruction.results.size() / parts;
  for (size_t column = 0; column < instruction.results.size(); ++column) {
    std::vector<uint64_t>& result = ResultLanes(here, instruction, column);
    for (size_t row = 0; row < result.size(); ++row) {
      Slot part = instruction.operands[row * parts + column / lanes];
      result[row] = here.vector(part)[column % lanes];
    }
  }
}

}  // namespace kdl::interp
