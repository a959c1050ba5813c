#include "interp/elements.h"

#include "ir/eval/eval.h"

namespace kdl::interp {

void ReportOutside(Core& core, const Instruction& instruction, const TensorValue& tensor,
                   const Place& place) {
  int64_t bound = tensor.sizes[static_cast<size_t>(place.outside)];
  ir::BoundsMode bounds_mode = instruction.access->bounds_mode;
  if (bounds_mode == ir::BoundsMode::Guard) {
    bool leading = instruction.op->HasAttr(ir::AttrKey::Leading);
    int before = leading ? static_cast<int>(instruction.op->attr<ir::AttrKey::Leading>()) : 0;
    return core.Stop({KDL_TRAP_INDEX, instruction.op, place.outside - before, place.index, bound});
  }
  if (core.facts.launch && core.facts.launch->watch) {
    Trap trap{KDL_TRAP_SIZES, instruction.op, place.outside, place.index, bound};
    trap.text = fmt::format(
        "index {} is outside dimension {} of size {} in '{}', although the access was assumed to "
        "be inside",
        place.index, place.outside, bound, QuotedText(*instruction.op));
    trap.finding = FindingKind::Outside;
    return core.Stop(trap);
  }
  core.Break(
      instruction,
      fmt::format(
          "accesses index {} of dimension {}, which has size {}, although its bounds mode is '{}': "
          "check-bounds, or a pass after it, proved something that does not hold",
          place.index, place.outside, bound,
          ir::EnumeratorSpelling(ir::AttrKey::BoundsMode, static_cast<int64_t>(bounds_mode))));
}

bool HasMemory(Core& core, const Instruction& instruction, const TensorValue& tensor) {
  if (!tensor.id.valid()) return true;
  core.Break(instruction,
             "accesses an element of a program's tensor, which is allowed only in kernels");
  return false;
}

uint64_t ScalarIndex(const Activation& here, const DimPlan& dim) {
  auto index = static_cast<uint64_t>(dim.offset);
  for (const TermPlan& term : dim.terms) {
    uint64_t bits = here.scalars[term.slot];
    if (term.scalar != Scalar::I64) bits = static_cast<uint64_t>(ir::Extended(term.scalar, bits));
    index += static_cast<uint64_t>(term.coefficient) * bits;
  }
  return index;
}

LanePlaces::LanePlaces(const Activation& here, const Instruction& instruction,
                       const TensorValue& tensor)
    : tensor_(tensor) {
  for (const DimPlan& dim : instruction.access->dims) first_.push_back(ScalarIndex(here, dim));
}

Place LanePlaces::At(size_t lane) const {
  uint64_t offset = 0;
  for (size_t d = 0; d < first_.size(); ++d) {
    uint64_t index = first_[d] + (d + 1 == first_.size() ? lane : 0);
    if (index >= static_cast<uint64_t>(tensor_.sizes[d]))
      return {nullptr, static_cast<int>(d), static_cast<int64_t>(index)};
    offset += index * static_cast<uint64_t>(tensor_.strides[d]);
  }
  return {tensor_.data + offset * static_cast<uint64_t>(Bytes(tensor_.scalar)), -1, 0};
}

int64_t BufferOffset(Core& core, Activation& here, const Instruction& instruction,
                     size_t first_index, int64_t lane) {
  int64_t offset = 0;
  size_t rank = instruction.numbers.size();
  for (size_t d = 0; d < rank; ++d) {
    uint64_t index = here.scalar(instruction.operands[first_index + d]);
    if (d + 1 == rank) index += static_cast<uint64_t>(lane);
    int64_t extent = instruction.numbers[d];
    if (index >= static_cast<uint64_t>(extent)) {
      core.Break(
          instruction,
          fmt::format("accesses index {} of dimension {} of scratch memory, which has size {}",
                      static_cast<int64_t>(index), d, extent));
      return -1;
    }
    offset = offset * extent + static_cast<int64_t>(index);
  }
  return offset;
}

namespace {

bool IsOfWorkgroup(const ir::Value* buffer) {
  return buffer->type()->kind == ir::TypeKind::Buffer &&
         buffer->type()->space == ir::Space::Workgroup;
}

}  // namespace

Buffer& BufferAt(Core& core, Activation& here, const Instruction& instruction, size_t operand) {
  const ir::Value* buffer = instruction.op->operand(operand);
  return IsOfWorkgroup(buffer) ? core.facts.workgroup->Memory(buffer)
                               : here.buffers[instruction.operands[operand].index];
}

bool Notes(Core& core, const Instruction& instruction, size_t operand, int64_t offset,
           TouchKind kind) {
  const ir::Value* buffer = instruction.op->operand(operand);
  return !IsOfWorkgroup(buffer) ||
         core.facts.workgroup->TouchBuffer(core, instruction, buffer, offset, kind);
}

bool IsDefined(Core& core, const Instruction& instruction, const Buffer& buffer, int64_t offset) {
  if (buffer.defined[static_cast<size_t>(offset)]) return true;
  core.Break(instruction,
             fmt::format("reads element {} of scratch memory, which has not been written", offset));
  return false;
}

}  // namespace kdl::interp
