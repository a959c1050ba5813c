#include "interp/launch_state.h"

#include "interp/tensor_memory.h"
#include "interp/tile.h"
#include "ir/eval/eval.h"

namespace kdl::interp {

namespace {

constexpr std::byte kUnspecified{0xA5};

}  // namespace

UpdatePlan PlanUpdate(ir::UpdateKind how, Scalar element) {
  UpdatePlan plan{element, IsNarrowFloat(element) ? Scalar::F32 : element, nullptr};
  if (how != ir::UpdateKind::Set) plan.eval = ir::FindEval(ir::CombineOf(how), plan.acc, plan.acc);
  return plan;
}

uint64_t UpdatePlan::Apply(uint64_t element_bits, Scalar value_scalar, uint64_t value) const {
  if (!eval) return value;
  uint64_t operands[] = {ir::EvaluateCast(element, acc, element_bits),
                         ir::EvaluateCast(value_scalar, acc, value)};
  bool division_by_zero = false;
  return ir::EvaluateCast(acc, element, eval(operands, &division_by_zero));
}

TensorValue LaunchState::LaunchTensorMemory(const ir::Op* tensor, const std::vector<int64_t>& sizes,
                                            size_t bytes) {
  auto [known, is_new] = memories_.try_emplace(tensor);
  Memory& memory = known->second;
  if (is_new) memory.bytes.assign(bytes, kUnspecified);
  TensorValue value{memory.bytes.data(), tensor->result()->type()->scalar, sizes,
                    RowMajorStrides(sizes), TensorId()};
  if (is_new && watch) memory.shadow = watch->Add(tensor->result(), value, false);
  value.shadow = memory.shadow;
  return value;
}

void LaunchState::UpdateSegment(const TensorValue& tensor, ir::UpdateKind how, int64_t run,
                                int64_t segment, uint64_t offset, uint64_t value) {
  Parts& parts = parts_.at({run, tensor.data, how});
  Scalar acc = PlanUpdate(how, tensor.scalar).acc;
  std::vector<uint64_t>& part = parts.of_segment[segment];
  if (part.empty()) part.assign(SpannedElements(tensor), ir::UpdateIdentity(how, acc));
  part[offset] = PlanUpdate(how, acc).Apply(part[offset], tensor.scalar, value);
}

/// Returns the value of all segments for an element, by a balanced binary tree. A segment without a value
/// contributes the identity, so that results do not depend on which blocks update the element.
uint64_t LaunchState::Parts::Combined(size_t offset) const {
  Scalar acc = PlanUpdate(how, tensor.scalar).acc;
  UpdatePlan plan = PlanUpdate(how, acc);
  std::vector<uint64_t> values(static_cast<size_t>(segments), ir::UpdateIdentity(how, acc));
  for (const auto& [segment, part] : of_segment)
    values[static_cast<size_t>(segment)] = part[offset];
  for (size_t width = 1; width < values.size(); width *= 2) {
    for (size_t left = 0; left + width < values.size(); left += 2 * width)
      values[left] = plan.Apply(values[left], acc, values[left + width]);
  }
  return values[0];
}

void LaunchState::LowerGroupReductions() {
  for (const auto& [key, parts] : parts_) {
    const TensorValue& tensor = parts.tensor;
    UpdatePlan plan = PlanUpdate(parts.how, PlanUpdate(parts.how, tensor.scalar).acc);
    for (PointWalk walk(tensor.sizes, {tensor.strides}); !walk.done(); walk.Next()) {
      auto offset = static_cast<size_t>(walk.offset(0));
      std::byte* element = tensor.data + offset * static_cast<size_t>(Bytes(tensor.scalar));
      uint64_t old = ir::EvaluateCast(tensor.scalar, plan.acc, ReadElement(element, tensor.scalar));
      uint64_t all = plan.Apply(old, plan.acc, parts.Combined(offset));
      WriteElement(element, tensor.scalar, ir::EvaluateCast(plan.acc, tensor.scalar, all));
    }
  }
  parts_.clear();
  if (watch) watch->NextPhase();
}

}  // namespace kdl::interp
