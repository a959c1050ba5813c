#include "interp/ops/memory.h"

#include <functional>

#include "interp/elements.h"
#include "interp/launch_state.h"
#include "interp/run.h"
#include "ir/groups.h"
#include "ir/views.h"
#include "support/check.h"

// Executes loads and stores, and ops on scratch memory. Every access is checked here, whatever its `bounds`
// attribute says: if an access that was proven to be in bounds is not, the proof is wrong.

namespace kdl::interp {

namespace {

/// Computes the indices of an access, point by point.
class AccessRun {
 public:
  /// The caller needs the offset of the operands in `extra_streams` at each point.
  AccessRun(Activation& here, const Instruction& instruction, const TensorValue& tensor,
            const std::vector<AxisRange>& ranges, const std::vector<size_t>& extra_streams)
      : here_(here),
        instruction_(instruction),
        tensor_(tensor),
        walk_(MakeWalk(ranges, extra_streams)) {}

  PointWalk& walk() { return walk_; }
  int64_t extra_offset(size_t extra) const { return walk_.offset(first_extra_ + extra); }

  /// Returns the location of the current point's element.
  Place Locate() const {
    uint64_t offset = 0;
    size_t gather = 0;
    for (size_t d = 0; d < bases_.size(); ++d) {
      uint64_t index = bases_[d] + static_cast<uint64_t>(walk_.offset(d));
      for (; gather < gathers_.size() && gathers_[gather].dim == d; ++gather)
        index += GatheredTerm(gather);
      if (index >= static_cast<uint64_t>(tensor_.sizes[d]))
        return {nullptr, static_cast<int>(d), static_cast<int64_t>(index)};
      offset += index * static_cast<uint64_t>(tensor_.strides[d]);
    }
    return {tensor_.data + offset * static_cast<uint64_t>(Bytes(tensor_.scalar)), -1, 0};
  }

 private:
  struct Gather {
    size_t dim;
    uint64_t coefficient;
    const uint64_t* elements;
    Scalar scalar;
  };

  uint64_t GatheredTerm(size_t gather) const {
    const Gather& term = gathers_[gather];
    uint64_t bits = term.elements[walk_.offset(bases_.size() + gather)];
    return term.coefficient * static_cast<uint64_t>(ir::Extended(term.scalar, bits));
  }

  /// The streams of the walk are the affine index of each dimension, then the gathered terms,
  /// then `extra_streams`.
  PointWalk MakeWalk(const std::vector<AxisRange>& ranges,
                     const std::vector<size_t>& extra_streams) {
    std::vector<std::vector<int64_t>> streams;
    std::vector<size_t> gathered;
    for (const DimPlan& dim : instruction_.access->dims) {
      bases_.push_back(static_cast<uint64_t>(dim.offset));
      streams.emplace_back(ranges.size(), 0);
      for (const TermPlan& term : dim.terms) AddTerm(term, streams.back(), gathered);
    }
    for (size_t operand : gathered) streams.push_back(StridesOfOperand(operand, ranges));
    first_extra_ = streams.size();
    for (size_t operand : extra_streams) streams.push_back(StridesOfOperand(operand, ranges));
    return PointWalk(RangeSizes(ranges), streams);
  }

  void AddTerm(const TermPlan& term, std::vector<int64_t>& strides, std::vector<size_t>& gathered) {
    Slot slot = instruction_.operands[term.operand];
    Scalar scalar = instruction_.op->operand(term.operand)->type()->scalar;
    auto coefficient = static_cast<uint64_t>(term.coefficient);
    if (slot.kind == SlotKind::Block) {
      bases_.back() += coefficient * static_cast<uint64_t>(here_.block(slot).start);
      int64_t& stride = strides[static_cast<size_t>(term.point_axis)];
      stride = static_cast<int64_t>(static_cast<uint64_t>(stride) + coefficient);
    } else if (slot.kind == SlotKind::Scalar) {
      bases_.back() +=
          coefficient * static_cast<uint64_t>(ir::Extended(scalar, here_.scalar(slot)));
    } else {
      gathers_.push_back({bases_.size() - 1, coefficient, SlotElements(here_, slot), scalar});
      gathered.push_back(term.operand);
    }
  }

  std::vector<int64_t> StridesOfOperand(size_t operand,
                                        const std::vector<AxisRange>& ranges) const {
    Slot slot = instruction_.operands[operand];
    return OperandStrides(*instruction_.points, operand, ranges,
                          slot.kind == SlotKind::Tile ? here_.tile(slot) : nullptr);
  }

  Activation& here_;
  const Instruction& instruction_;
  const TensorValue& tensor_;
  std::vector<uint64_t> bases_;
  std::vector<Gather> gathers_;
  size_t first_extra_ = 0;
  PointWalk walk_;
};

bool MaskHolds(const uint64_t* mask, const AccessRun& run, size_t extra) {
  return !mask || mask[run.extra_offset(extra)] != 0;
}

const uint64_t* OptionalElements(const Activation& here, const Instruction& instruction,
                                 int operand) {
  return operand < 0 ? nullptr
                     : SlotElements(here, instruction.operands[static_cast<size_t>(operand)]);
}

}  // namespace

namespace {

/// Locates the element of an access whose indices are all scalars, without allocating memory.
Place LocateScalar(Activation& here, const Instruction& instruction, const TensorValue& tensor) {
  const AccessPlan& plan = *instruction.access;
  uint64_t offset = 0;
  for (size_t d = 0; d < plan.dims.size(); ++d) {
    uint64_t index = ScalarIndex(here, plan.dims[d]);
    if (index >= static_cast<uint64_t>(tensor.sizes[d]))
      return {nullptr, static_cast<int>(d), static_cast<int64_t>(index)};
    offset += index * static_cast<uint64_t>(tensor.strides[d]);
  }
  return {tensor.data + offset * static_cast<uint64_t>(Bytes(tensor.scalar)), -1, 0};
}

/// Records the elements that an execution of a load reads.
class ReadRecord {
 public:
  ReadRecord(Core& core, const Instruction& instruction, const TensorValue& tensor)
      : core_(core),
        instruction_(instruction),
        tensor_(tensor),
        fallbacks_(core.facts.launch ? core.facts.launch->fallbacks.get() : nullptr),
        is_fallback_(fallbacks_ && FallbackReads::IsFallback(instruction.op)) {
    if (is_fallback_) fallbacks_->Begin(instruction.op);
  }

  /// The next element of the result is that at `address`. Returns false if that stops the core.
  bool AddElement(const std::byte* address) { return Add({&tensor_, address}); }
  /// It is element `n` of the operand `otherwise`.
  bool AddOtherwise(size_t n) {
    if (!fallbacks_) return true;
    auto operand = static_cast<size_t>(instruction_.access->otherwise);
    return Add(fallbacks_->At(instruction_.op->operand(operand), n));
  }
  /// It has no value.
  void AddNone() { Add({}); }

 private:
  bool Add(const FallbackReads::Element& element) {
    if (is_fallback_) fallbacks_->Add(instruction_.op, element);
    return is_fallback_ || !element.address ||
           Notes(core_, instruction_, *element.tensor, element.address, TouchKind::Read);
  }

  Core& core_;
  const Instruction& instruction_;
  const TensorValue& tensor_;
  FallbackReads* fallbacks_;
  bool is_fallback_;
};

void Record(Core& core, Activation& here, const Instruction& instruction, uint64_t bits) {
  ElementRead read{instruction.op, {}, bits};
  for (const DimPlan& dim : instruction.access->dims)
    read.index.push_back(static_cast<int64_t>(ScalarIndex(here, dim)));
  core.reads->push_back(std::move(read));
}

}  // namespace

/// Loads one element. This is the most frequent op in loop-level code.
void RunScalarLoad(Core& core, Activation& here, const Instruction& instruction) {
  const TensorValue& tensor = here.tensor(instruction.operands[0]);
  const AccessPlan& plan = *instruction.access;
  uint64_t& result = here.scalar(instruction.results[0]);
  if (!HasMemory(core, instruction, tensor)) return;
  ReadRecord record(core, instruction, tensor);
  const uint64_t* mask = OptionalElements(here, instruction, plan.mask);
  if (mask && *mask == 0) {
    record.AddNone();
    result = UnspecifiedBits(tensor.scalar);
    return;
  }
  Place place = LocateScalar(here, instruction, tensor);
  if (place.address) {
    if (!record.AddElement(place.address)) return;
    result = ReadElement(place.address, tensor.scalar);
    if (core.reads) Record(core, here, instruction, result);
  } else if (plan.bounds_mode == ir::BoundsMode::Else) {
    if (!record.AddOtherwise(0)) return;
    result = *OptionalElements(here, instruction, plan.otherwise);
  } else {
    ReportOutside(core, instruction, tensor, place);
  }
}

void RunScalarStore(Core& core, Activation& here, const Instruction& instruction) {
  const TensorValue& tensor = here.tensor(instruction.operands[ir::StoreOp::at_tensor]);
  if (tensor.shadow) return RunStore(core, here, instruction);
  if (!HasMemory(core, instruction, tensor)) return;
  const uint64_t* mask = OptionalElements(here, instruction, instruction.access->mask);
  if (mask && *mask == 0) return;
  Place place = LocateScalar(here, instruction, tensor);
  if (!place.address) return ReportOutside(core, instruction, tensor, place);
  if (!Notes(core, instruction, tensor, place.address, TouchKind::Write)) return;
  WriteElement(place.address, tensor.scalar,
               here.scalar(instruction.operands[ir::StoreOp::at_value]));
}

void RunLoad(Core& core, Activation& here, const Instruction& instruction) {
  const TensorValue& tensor = here.tensor(instruction.operands[0]);
  const AccessPlan& plan = *instruction.access;
  std::vector<AxisRange> ranges = RangesOf(*instruction.points, here);
  if (!HasMemory(core, instruction, tensor) || !OperandsFit(core, here, instruction, ranges))
    return;
  std::vector<size_t> extras;
  if (plan.mask >= 0) extras.push_back(static_cast<size_t>(plan.mask));
  if (plan.otherwise >= 0) extras.push_back(static_cast<size_t>(plan.otherwise));
  const uint64_t* mask = OptionalElements(here, instruction, plan.mask);
  const uint64_t* otherwise = OptionalElements(here, instruction, plan.otherwise);
  AccessRun run(here, instruction, tensor, ranges, extras);
  ReadRecord record(core, instruction, tensor);
  auto result = MakeTile(ranges);
  uint64_t* out = result->elements.data();
  for (; !run.walk().done(); run.walk().Next(), ++out) {
    if (!MaskHolds(mask, run, 0)) {
      record.AddNone();
      *out = UnspecifiedBits(tensor.scalar);
      continue;
    }
    Place place = run.Locate();
    if (place.address) {
      if (!record.AddElement(place.address)) return;
      *out = ReadElement(place.address, tensor.scalar);
    } else if (plan.bounds_mode == ir::BoundsMode::Else) {
      size_t instead = run.extra_offset(extras.size() - 1);
      if (!record.AddOtherwise(instead)) return;
      *out = otherwise[instead];
    } else {
      return ReportOutside(core, instruction, tensor, place);
    }
  }
  here.tile(instruction.results[0]) = std::move(result);
}

namespace {

/// Calls `write(address, bits)` for each element that a store or update changes. `bits` is the value for
/// that element.
template <class Write>
void WriteEach(Core& core, Activation& here, const Instruction& instruction,
               const TensorValue& tensor, TouchKind kind, const Write& write) {
  const AccessPlan& plan = *instruction.access;
  std::vector<AxisRange> ranges = RangesOf(*instruction.points, here);
  if (!HasMemory(core, instruction, tensor) || !OperandsFit(core, here, instruction, ranges))
    return;
  std::vector<size_t> extras = {static_cast<size_t>(plan.value)};
  if (plan.mask >= 0) extras.push_back(static_cast<size_t>(plan.mask));
  const uint64_t* value = SlotElements(here, instruction.operands[static_cast<size_t>(plan.value)]);
  const uint64_t* mask = OptionalElements(here, instruction, plan.mask);
  for (AccessRun run(here, instruction, tensor, ranges, extras); !run.walk().done();
       run.walk().Next()) {
    if (!MaskHolds(mask, run, 1)) continue;
    Place place = run.Locate();
    if (!place.address) return ReportOutside(core, instruction, tensor, place);
    if (!Notes(core, instruction, tensor, place.address, kind)) return;
    write(place.address, value[run.extra_offset(0)]);
  }
}

}  // namespace

void RunStore(Core& core, Activation& here, const Instruction& instruction) {
  const TensorValue& tensor = here.tensor(instruction.operands[ir::StoreOp::at_tensor]);
  bool is_fill = instruction.op->HasAttr(ir::AttrKey::Fills);
  if (tensor.shadow) core.facts.launch->watch->BeginStore();
  WriteEach(
      core, here, instruction, tensor, is_fill ? TouchKind::Fill : TouchKind::Write,
      [&](std::byte* address, uint64_t value) { WriteElement(address, tensor.scalar, value); });
}

namespace {

/// Returns the state of the enclosing spmd that is distributed in groups.
const SpmdState& GroupedRun(const Core& core) {
  for (auto frame = core.frames.rbegin(); frame != core.frames.rend(); ++frame) {
    const auto* run = std::get_if<SpmdState>(&frame->control);
    if (run && run->total > 0) return *run;
  }
  KDL_UNREACHABLE("an update of a group outside of blocks that are distributed in groups");
}

/// Returns a function that updates an element at a given address.
std::function<void(std::byte*, uint64_t)> Updater(Core& core, const Instruction& instruction,
                                                  const TensorValue& tensor) {
  auto how = instruction.op->attr<ir::AttrKey::How>();
  if (instruction.op->attr<ir::AttrKey::Scope>() != ir::ScopeKind::Group) {
    return [plan = PlanUpdate(how, tensor.scalar)](std::byte* element, uint64_t value) {
      uint64_t old = ReadElement(element, plan.element);
      WriteElement(element, plan.element, plan.Apply(old, plan.element, value));
    };
  }
  const SpmdState& run = GroupedRun(core);
  int64_t combined = run.block / run.inner % run.combined;
  int64_t segment = ir::SegmentOfBlock(combined, run.combined);
  return [&core, &tensor, how, segment, number = run.run](std::byte* element, uint64_t value) {
    auto offset =
        static_cast<uint64_t>(element - tensor.data) / static_cast<uint64_t>(Bytes(tensor.scalar));
    core.facts.launch->UpdateSegment(tensor, how, number, segment, offset, value);
  };
}

}  // namespace

void RunUpdate(Core& core, Activation& here, const Instruction& instruction) {
  const TensorValue& tensor = here.tensor(instruction.operands[ir::UpdateOp::at_tensor]);
  bool folds = instruction.op->attr<ir::AttrKey::Scope>() == ir::ScopeKind::Group;
  WriteEach(core, here, instruction, tensor, folds ? TouchKind::Fold : TouchKind::Atomic,
            Updater(core, instruction, tensor));
}

void RunTable(Core&, Activation& here, const Instruction& instruction) {
  here.tensor(instruction.results[0]) = {
      instruction.table.get(), instruction.op->result()->type()->scalar, instruction.numbers,
      RowMajorStrides(instruction.numbers), TensorId()};
}

/// Does nothing, because a hint has no effect in the interpreter.
void RunHint(Core&, Activation&, const Instruction&) {}

void RunCheck(Core& core, Activation& here, const Instruction& instruction) {
  auto index = static_cast<int64_t>(here.scalar(instruction.operands[0]));
  auto bound = static_cast<int64_t>(here.scalar(instruction.operands[1]));
  if (index >= 0 && index < bound) return;
  auto dimension = static_cast<int32_t>(instruction.op->attr<ir::AttrKey::Dimension>());
  core.Stop({KDL_TRAP_INDEX, instruction.op, dimension, index, bound});
}

void RunBufferNew(Core& core, Activation& here, const Instruction& instruction) {
  size_t count = 1;
  for (int64_t extent : instruction.numbers) count *= static_cast<size_t>(extent);
  const ir::Value* result = instruction.op->result();
  if (result->type()->space == ir::Space::Workgroup) {
    core.facts.workgroup->Memory(result, count);
    return;
  }
  Buffer& buffer = here.buffers[instruction.results[0].index];
  buffer.elements.resize(count);
  buffer.defined.assign(count, false);
}

void RunBufferLoad(Core& core, Activation& here, const Instruction& instruction) {
  const Buffer& buffer = BufferAt(core, here, instruction, 0);
  int64_t offset = BufferOffset(core, here, instruction, 1, 0);
  if (offset < 0 || !Notes(core, instruction, 0, offset, TouchKind::Read)) return;
  if (!IsDefined(core, instruction, buffer, offset)) return;
  here.scalar(instruction.results[0]) = buffer.elements[static_cast<size_t>(offset)];
}

void RunBufferStore(Core& core, Activation& here, const Instruction& instruction) {
  Buffer& buffer = BufferAt(core, here, instruction, 1);
  int64_t offset = BufferOffset(core, here, instruction, 2, 0);
  if (offset < 0 || !Notes(core, instruction, 1, offset, TouchKind::Write)) return;
  buffer.Define(offset, here.scalar(instruction.operands[0]));
}

}  // namespace kdl::interp
