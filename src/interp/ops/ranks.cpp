#include "interp/ops/ranks.h"

#include "interp/ops/program.h"
#include "ir/views.h"

// Executes the ops of programs whose tensors are distributed over ranks.

namespace kdl::interp {

namespace {

using ir::AttrKey;

int64_t NumberOf(Activation& here, const Instruction& instruction, size_t operand) {
  return static_cast<int64_t>(here.scalar(instruction.operands[operand]));
}

void SetNumber(Activation& here, const Instruction& instruction, size_t result, int64_t value) {
  here.scalar(instruction.results[result]) = static_cast<uint64_t>(value);
}

/// Returns the dimension and the rank of an op whose first operands they are.
OwnedRequest DimensionOf(Activation& here, const Instruction& instruction) {
  const ir::Op& op = *instruction.op;
  return {op.attr<AttrKey::Device>(), NumberOf(here, instruction, 0),
          NumberOf(here, instruction, 1), op.attr<AttrKey::RankAxis>()};
}

}  // namespace

void RunRanks(Core& core, Activation& here, const Instruction& instruction) {
  RankCounts ranks = core.facts.host->Ranks(instruction.op->attr<AttrKey::Device>());
  SetNumber(here, instruction, 0, ranks.count);
  SetNumber(here, instruction, 1, ranks.first);
  SetNumber(here, instruction, 2, ranks.end);
}

void RunOwned(Core& core, Activation& here, const Instruction& instruction) {
  IndexPart owned = core.facts.host->Owned(DimensionOf(here, instruction));
  SetNumber(here, instruction, 0, owned.first);
  SetNumber(here, instruction, 1, owned.end);
}

void RunOwnedBlocks(Core& core, Activation& here, const Instruction& instruction) {
  auto length = instruction.op->attr<AttrKey::RankBlock>();
  SetNumber(here, instruction, 0,
            core.facts.host->CountOwnedBlocks({DimensionOf(here, instruction), length}));
}

void RunOwnedBlock(Core& core, Activation& here, const Instruction& instruction) {
  auto length = instruction.op->attr<AttrKey::RankBlock>();
  IndexPart owned = core.facts.host->OwnedBlock({DimensionOf(here, instruction), length},
                                                NumberOf(here, instruction, 2));
  SetNumber(here, instruction, 0, owned.first);
  SetNumber(here, instruction, 1, owned.end);
}

void RunRankMemory(Core& core, Activation& here, const Instruction& instruction) {
  TensorValue memory = here.tensor(instruction.operands[0]);
  ProgramHost& host = *core.facts.host;
  TensorId of_rank = host.RankMemory(memory.id, NumberOf(here, instruction, 1));
  memory.id = host.View({of_rank, 0, memory.sizes, host.Strides(of_rank)});
  here.tensor(instruction.results[0]) = std::move(memory);
}

void RunFetch(Core& core, Activation& here, const Instruction& instruction) {
  const ir::Op& op = *instruction.op;
  FetchRequest request{here.tensor(instruction.operands[0]).id,
                       NumberOf(here, instruction, op.SegmentBegin(ir::FetchOp::at_rank)),
                       {},
                       op.attr<AttrKey::Device>(),
                       op.attr<AttrKey::Cause>(),
                       EventsOf(here, instruction, ir::FetchOp::at_after)};
  size_t lo = op.SegmentBegin(ir::FetchOp::at_lo);
  size_t hi = op.SegmentBegin(ir::FetchOp::at_hi);
  for (size_t d = 0; d < op.Segment(ir::FetchOp::at_lo).size(); ++d)
    request.needed.push_back(
        {NumberOf(here, instruction, lo + d), NumberOf(here, instruction, hi + d)});
  Status fetched = core.facts.host->Fetch(request);
  if (!fetched.ok()) core.Fail(Located(instruction, fetched.failure()));
}

void RunFinishFetches(Core& core, Activation&, const Instruction& instruction) {
  Status finished = core.facts.host->FinishFetches(instruction.op->attr<AttrKey::Device>());
  if (!finished.ok()) core.Fail(Located(instruction, finished.failure()));
}

void RunRewritten(Core& core, Activation& here, const Instruction& instruction) {
  const ir::Op& op = *instruction.op;
  Status done = core.facts.host->Rewritten(
      {here.tensor(instruction.operands[0]).id, op.attr<AttrKey::Device>(),
       EventsOf(here, instruction, ir::RewrittenOp::at_after)});
  if (!done.ok()) core.Fail(Located(instruction, done.failure()));
}

}  // namespace kdl::interp
