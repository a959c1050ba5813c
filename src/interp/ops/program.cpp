#include "interp/ops/program.h"

#include "interp/sizes.h"
#include "ir/views.h"
#include "support/check.h"

// Executes the ops of programs, which are requests to the host.

namespace kdl::interp {

using ir::AttrKey;

std::vector<EventId> EventsOf(const Activation& here, const Instruction& instruction,
                              size_t segment) {
  std::vector<EventId> events;
  size_t begin = instruction.op->SegmentBegin(segment);
  size_t count = instruction.op->Segment(segment).size();
  for (size_t i = begin; i < begin + count; ++i)
    events.push_back(here.events[instruction.operands[i].index]);
  return events;
}

Failure Located(const Instruction& instruction, const Failure& failure) {
  return {fmt::format("{}: error: {}", ToString(instruction.op->loc()), failure.message),
          failure.kind};
}

namespace {

/// Returns the value of an optional i64 operand.
std::optional<int64_t> NumberAt(Activation& here, const Instruction& instruction, size_t segment) {
  if (instruction.op->Segment(segment).empty()) return std::nullopt;
  return static_cast<int64_t>(
      here.scalar(instruction.operands[instruction.op->SegmentBegin(segment)]));
}

Name ConstantsOf(const ir::Op& op) {
  return op.HasAttr(AttrKey::Constants) ? op.attr<AttrKey::Constants>() : Name();
}

/// Returns the index of an access. If the index is out of bounds, the core traps.
std::vector<int64_t> CheckedIndex(Core& core, Activation& here, const Instruction& instruction,
                                  size_t segment, const TensorValue& tensor) {
  std::vector<int64_t> index;
  size_t first = instruction.op->SegmentBegin(segment);
  for (size_t d = 0; d < tensor.sizes.size(); ++d) {
    auto at = static_cast<int64_t>(here.scalar(instruction.operands[first + d]));
    bool inside = at >= 0 && at < tensor.sizes[d];
    if (!inside && core.state == MachineState::Running) {
      core.Stop({KDL_TRAP_INDEX, instruction.op, static_cast<int32_t>(d), at, tensor.sizes[d]});
    }
    index.push_back(at);
  }
  return index;
}

/// Returns the values of a program's sizes, including the sizes that it has bound so far.
Symbols SymbolsAt(const Activation& here) {
  return [&here](Name name) {
    auto bound = here.sizes.find(name);
    return bound == here.sizes.end() ? here.code->symbols(name) : std::optional(bound->second);
  };
}

}  // namespace

void RunAlloc(Core& core, Activation& here, const Instruction& instruction) {
  const ir::Op& op = *instruction.op;
  AllocRequest request{
      op.attr<AttrKey::Name>(), op.attr<AttrKey::Device>(), op.result()->type()->scalar, {}, {}};
  if (op.HasAttr(AttrKey::RankAxes)) request.rank_axes = op.attr<AttrKey::RankAxes>();
  if (op.HasAttr(AttrKey::RankBlocks)) request.rank_blocks = op.attr<AttrKey::RankBlocks>();
  for (Size dim : op.result()->type()->dims) {
    std::optional<int64_t> size = EvaluateChecked(dim, SymbolsAt(here));
    if (!size) return core.Fail(Located(instruction, {NoValueText(dim), FailureKind::User}));
    request.sizes.push_back(*size);
  }
  Result<TensorId> made = core.facts.host->Alloc(request);
  if (!made.ok()) return core.Fail(Located(instruction, made.failure()));
  here.tensor(instruction.results[0]) = {nullptr, request.scalar, request.sizes, {}, *made};
}

void RunFree(Core& core, Activation& here, const Instruction& instruction) {
  TensorId tensor = here.tensor(instruction.operands[0]).id;
  Status status = core.facts.host->Free(tensor, EventsOf(here, instruction, ir::FreeOp::at_after));
  if (!status.ok()) core.Fail(Located(instruction, status.failure()));
}

void RunLives(Core& core, Activation& here, const Instruction& instruction) {
  const ir::Op& op = *instruction.op;
  Status lives = core.facts.host->Lives(here.tensor(instruction.operands[0]).id,
                                        op.attr<AttrKey::Device>(), op.operand(0)->name());
  if (!lives.ok()) core.Fail(Located(instruction, lives.failure()));
}

void RunApart(Core& core, Activation& here, const Instruction& instruction) {
  Result<bool> overlap = core.facts.host->Overlap(here.tensor(instruction.operands[0]).id,
                                                  here.tensor(instruction.operands[1]).id);
  if (!overlap.ok()) return core.Fail(Located(instruction, overlap.failure()));
  if (!*overlap) return;
  std::string text = instruction.op->attr<AttrKey::Text>().str();
  core.Fail(Located(instruction, {std::move(text), FailureKind::User}));
}

namespace {

TransferRequest TransferOf(Activation& here, const Instruction& instruction, size_t after) {
  const ir::Op& op = *instruction.op;
  return {here.tensor(instruction.operands[0]).id,
          op.attr<AttrKey::Device>(),
          op.attr<AttrKey::Queue>(),
          op.attr<AttrKey::Cause>(),
          op.HasAttr(AttrKey::Fresh),
          EventsOf(here, instruction, after)};
}

}  // namespace

void RunTransfer(Core& core, Activation& here, const Instruction& instruction) {
  TensorValue moved = here.tensor(instruction.operands[0]);
  TransferRequest request = TransferOf(here, instruction, ir::TransferOp::at_after);
  Result<TransferResult> result = core.facts.host->Transfer(request);
  if (!result.ok()) return core.Fail(Located(instruction, result.failure()));
  moved.id = result->tensor;
  here.tensor(instruction.results[0]) = std::move(moved);
  here.events[instruction.results[1].index] = result->event;
}

void RunRelocate(Core& core, Activation& here, const Instruction& instruction) {
  Result<EventId> done =
      core.facts.host->Relocate(TransferOf(here, instruction, ir::RelocateOp::at_after));
  if (!done.ok()) return core.Fail(Located(instruction, done.failure()));
  here.events[instruction.results[0].index] = *done;
}

void RunCopyBack(Core& core, Activation& here, const Instruction& instruction) {
  const ir::Op& op = *instruction.op;
  CopyRequest request{here.tensor(instruction.operands[0]).id,
                      here.tensor(instruction.operands[1]).id,
                      op.attr<AttrKey::Device>(),
                      op.attr<AttrKey::Queue>(),
                      op.attr<AttrKey::Cause>(),
                      EventsOf(here, instruction, ir::CopyBackOp::at_after)};
  Result<EventId> done = core.facts.host->CopyBack(request);
  if (!done.ok()) return core.Fail(Located(instruction, done.failure()));
  here.events[instruction.results[0].index] = *done;
}

void RunCopy(Core& core, Activation& here, const Instruction& instruction) {
  const ir::Op& op = *instruction.op;
  CopyRequest request{here.tensor(instruction.operands[0]).id,
                      here.tensor(instruction.operands[1]).id,
                      op.attr<AttrKey::Device>(),
                      op.attr<AttrKey::Queue>(),
                      {},
                      EventsOf(here, instruction, ir::CopyOp::at_after)};
  Result<EventId> done = core.facts.host->Copy(request);
  if (!done.ok()) return core.Fail(Located(instruction, done.failure()));
  here.events[instruction.results[0].index] = *done;
}

void RunFill(Core& core, Activation& here, const Instruction& instruction) {
  const ir::Op& op = *instruction.op;
  FillRequest request{here.tensor(instruction.operands[0]).id, here.scalar(instruction.operands[1]),
                      op.attr<AttrKey::Device>(), op.attr<AttrKey::Queue>(),
                      EventsOf(here, instruction, ir::FillOp::at_after)};
  Result<EventId> done = core.facts.host->Fill(request);
  if (!done.ok()) return core.Fail(Located(instruction, done.failure()));
  here.events[instruction.results[0].index] = *done;
}

namespace {

/// Says why `lo..hi` is not a part of the dimension; returns an empty string if it is.
std::string NoPartText(const ir::Op& op, int64_t lo, int64_t hi, int64_t size) {
  auto dimension = op.attr<AttrKey::Dimension>();
  std::string text = op.attr<AttrKey::Text>().str();
  if (hi < lo)
    return fmt::format("{}..{} of dimension {} ends before it begins in '{}'", lo, hi, dimension,
                       text);
  if (lo >= 0 && hi <= size) return "";
  return fmt::format("{}..{} is outside dimension {} of size {} in '{}'", lo, hi, dimension, size,
                     text);
}

}  // namespace

void RunSlice(Core& core, Activation& here, const Instruction& instruction) {
  const ir::Op& op = *instruction.op;
  TensorValue part = here.tensor(instruction.operands[0]);
  auto dimension = static_cast<std::ptrdiff_t>(op.attr<AttrKey::Dimension>());
  int64_t& size = part.sizes[static_cast<size_t>(dimension)];
  auto lo = static_cast<int64_t>(here.scalar(instruction.operands[1]));
  std::optional<int64_t> hi = NumberAt(here, instruction, ir::SliceOp::at_hi);
  if (!hi && (lo < 0 || lo >= size))
    return core.Stop({KDL_TRAP_INDEX, &op, static_cast<int32_t>(dimension), lo, size});
  if (std::string text = hi ? NoPartText(op, lo, *hi, size) : ""; !text.empty())
    return core.Stop({KDL_TRAP_SIZES, &op, static_cast<int32_t>(dimension), lo, size, text});
  ViewRequest request{part.id, 0, part.sizes, core.facts.host->Strides(part.id)};
  request.offset = lo * request.strides[static_cast<size_t>(dimension)];
  if (hi) {
    request.sizes[static_cast<size_t>(dimension)] = *hi - lo;
  } else {
    request.sizes.erase(request.sizes.begin() + dimension);
    request.strides.erase(request.strides.begin() + dimension);
  }
  part.sizes = request.sizes;
  part.id = core.facts.host->View(request);
  here.tensor(instruction.results[0]) = std::move(part);
}

void RunSwap(Core&, Activation& here, const Instruction& instruction) {
  std::swap(here.tensor(instruction.operands[0]), here.tensor(instruction.operands[1]));
}

void RunBindSize(Core&, Activation& here, const Instruction& instruction) {
  uint64_t value = here.scalar(instruction.operands[0]);
  here.sizes[instruction.op->attr<AttrKey::Name>()] = static_cast<int64_t>(value);
  here.scalar(instruction.results[0]) = value;
}

/// Checks a requirement in a program. The requirements of a kernel have been checked before its
/// cores started.
void RunRequire(Core& core, Activation& here, const Instruction& instruction) {
  if (!here.code->symbols) return;
  std::optional<Trap> broken =
      BrokenRequirement(*here.code->function, *instruction.op, SymbolsAt(here));
  if (broken) core.Stop(*broken);
}

void RunHostLoad(Core& core, Activation& here, const Instruction& instruction) {
  const TensorValue& tensor = here.tensor(instruction.operands[0]);
  std::vector<int64_t> index =
      CheckedIndex(core, here, instruction, ir::HostLoadOp::at_index, tensor);
  if (core.state != MachineState::Running) return;
  Result<uint64_t> bits = core.facts.host->Load(
      tensor.id, index, EventsOf(here, instruction, ir::HostLoadOp::at_after));
  if (!bits.ok()) return core.Fail(Located(instruction, bits.failure()));
  here.scalar(instruction.results[0]) = *bits;
}

void RunHostStore(Core& core, Activation& here, const Instruction& instruction) {
  const TensorValue& tensor = here.tensor(instruction.operands[1]);
  std::vector<int64_t> index =
      CheckedIndex(core, here, instruction, ir::HostStoreOp::at_index, tensor);
  if (core.state != MachineState::Running) return;
  Status stored = core.facts.host->Store(here.scalar(instruction.operands[0]), tensor.id, index,
                                         EventsOf(here, instruction, ir::HostStoreOp::at_after));
  if (!stored.ok()) core.Fail(Located(instruction, stored.failure()));
}

void RunDraw(Core& core, Activation& here, const Instruction& instruction) {
  Status drawn = core.facts.host->Draw(here.tensor(instruction.operands[0]).id,
                                       here.scalar(instruction.operands[1]),
                                       EventsOf(here, instruction, ir::DrawOp::at_after));
  if (!drawn.ok()) core.Fail(Located(instruction, drawn.failure()));
}

void RunExpect(Core& core, Activation& here, const Instruction& instruction) {
  const ir::Op& op = *instruction.op;
  ExpectRequest request{op.attr<AttrKey::Contract>(),
                        SymbolsAt(here),
                        {},
                        EventsOf(here, instruction, ir::ExpectOp::at_after)};
  size_t number = 0;
  for (const ir::Value* argument : op.Segment(ir::ExpectOp::at_arguments)) {
    Scalar scalar = argument->type()->scalar;
    const auto& operand = instruction.operands[number++];
    bool is_tensor = argument->type()->kind == ir::TypeKind::Tensor;
    request.arguments.push_back(is_tensor ? LaunchArgument{here.tensor(operand).id, scalar, 0}
                                          : LaunchArgument{{}, scalar, here.scalar(operand)});
  }
  Status held = core.facts.host->Expect(request);
  if (!held.ok()) core.Fail(Located(instruction, held.failure()));
}

void RunDeviceCores(Core& core, Activation& here, const Instruction& instruction) {
  Result<int64_t> cores = core.facts.host->Cores(instruction.op->attr<AttrKey::Device>());
  if (!cores.ok()) return core.Fail(Located(instruction, cores.failure()));
  here.scalar(instruction.results[0]) = static_cast<uint64_t>(*cores);
}

void RunWorkspace(Core& core, Activation& here, const Instruction& instruction) {
  const ir::Op& op = *instruction.op;
  Result<WorkspaceId> made =
      core.facts.host->MakeWorkspace(op.attr<AttrKey::Device>(), op.attr<AttrKey::Name>());
  if (!made.ok()) return core.Fail(Located(instruction, made.failure()));
  here.workspaces[instruction.results[0].index].id = *made;
}

void RunFootprint(Core& core, Activation& here, const Instruction& instruction) {
  const ir::Op& op = *instruction.op;
  Result<int64_t> bytes = core.facts.host->Footprint(op.attr<AttrKey::Device>(),
                                                     op.attr<AttrKey::Callee>(), ConstantsOf(op));
  if (!bytes.ok()) return core.Fail(Located(instruction, bytes.failure()));
  here.scalar(instruction.results[0]) = static_cast<uint64_t>(*bytes);
}

void RunInstances(Core& core, Activation& here, const Instruction& instruction) {
  Result<int64_t> instances =
      core.facts.host->Instances(instruction.op->attr<AttrKey::Device>(),
                                 NumberAt(here, instruction, ir::InstancesOp::at_cores));
  if (!instances.ok()) return core.Fail(Located(instruction, instances.failure()));
  here.scalar(instruction.results[0]) = static_cast<uint64_t>(*instances);
}

void RunReserve(Core& core, Activation& here, const Instruction& instruction) {
  auto number = [&](size_t operand) {
    return static_cast<int64_t>(here.scalar(instruction.operands[operand]));
  };
  ReserveRequest request{here.workspaces[instruction.operands[0].index].id, number(1), number(2)};
  Status reserved = core.facts.host->Reserve(request);
  if (!reserved.ok()) core.Fail(Located(instruction, reserved.failure()));
}

void RunMark(Core& core, Activation& here, const Instruction& instruction) {
  const ir::Op& op = *instruction.op;
  Result<EventId> event =
      core.facts.host->Mark(op.attr<AttrKey::Device>(), op.attr<AttrKey::Queue>());
  if (!event.ok()) return core.Fail(Located(instruction, event.failure()));
  here.events[instruction.results[0].index] = *event;
}

void RunLaunch(Core& core, Activation& here, const Instruction& instruction) {
  const ir::Op& op = *instruction.op;
  LaunchRequest request;
  request.kernel = op.attr<AttrKey::Callee>();
  request.constants = ConstantsOf(op);
  request.device = op.attr<AttrKey::Device>();
  request.queue = op.attr<AttrKey::Queue>();
  request.core_num = NumberAt(here, instruction, ir::LaunchOp::at_cores);
  if (!op.Segment(ir::LaunchOp::at_workspace).empty()) {
    size_t at = op.SegmentBegin(ir::LaunchOp::at_workspace);
    request.workspace = here.workspaces[instruction.operands[at].index].id;
  }
  size_t first = op.SegmentBegin(ir::LaunchOp::at_arguments);
  for (size_t i = first; i < first + op.Segment(ir::LaunchOp::at_arguments).size(); ++i) {
    Slot slot = instruction.operands[i];
    Scalar scalar = op.operand(i)->type()->scalar;
    if (slot.kind == SlotKind::Tensor) {
      request.arguments.push_back({here.tensor(slot).id, scalar, 0});
    } else {
      request.arguments.push_back({TensorId(), scalar, here.scalar(slot)});
    }
  }
  request.after = EventsOf(here, instruction, ir::LaunchOp::at_after);
  Result<EventId> event = core.facts.host->Launch(request);
  if (!event.ok()) return core.Fail(Located(instruction, event.failure()));
  here.events[instruction.results[0].index] = *event;
}

}  // namespace kdl::interp
