#pragma once

#include "interp/core.h"
#include "interp/launch_state.h"
#include "interp/tensor_memory.h"
#include "interp/workgroup.h"

namespace kdl::interp {

// One element of a tensor or of scratch: where it is, whether it may be touched, what it holds.

/// An element's address, or the first dimension whose index is outside.
struct Place {
  std::byte* address = nullptr;
  int outside = -1;
  int64_t index = 0;
};

/// An element outside where there is no value for it: a trap where the access is guarded, else a
/// wrong proof.
void ReportOutside(Core& core, const Instruction& instruction, const TensorValue& tensor,
                   const Place& place);

/// Tells the watch, where there is one, what is done to an element. False, with the core stopped, where that is a mistake.
inline bool Notes(Core& core, const Instruction& instruction, const TensorValue& tensor,
                  const std::byte* address, TouchKind kind) {
  if (core.facts.workgroup && !core.facts.workgroup->TouchTensor(core, instruction, address, kind))
    return false;
  return !tensor.shadow ||
         core.facts.launch->watch->Touch(core, instruction, tensor, address, kind);
}

/// False, with the core broken, where there is no memory behind the tensor.
bool HasMemory(Core& core, const Instruction& instruction, const TensorValue& tensor);

/// The index of a dimension whose terms are all scalars; a negative one wraps to above any size.
uint64_t ScalarIndex(const Activation& here, const DimPlan& dim);

/// An access to a tensor: where its lanes are.
class LanePlaces {
 public:
  LanePlaces(const Activation& here, const Instruction& instruction, const TensorValue& tensor);
  Place At(size_t lane) const;

 private:
  const TensorValue& tensor_;
  std::vector<uint64_t> first_;  ///< lane 0's index of each dimension
};

/// The number of element (index…) of a buffer, `lane` elements further along the last dimension;
/// -1, with the core broken, where it is outside.
int64_t BufferOffset(Core& core, Activation& here, const Instruction& instruction,
                     size_t first_index, int64_t lane);

/// The memory of an op's operand number `operand`, a buffer.
Buffer& BufferAt(Core& core, Activation& here, const Instruction& instruction, size_t operand);

/// Tells the team, where the buffer is the team's, what is done to an element. False, with the core stopped: that is a race.
bool Notes(Core& core, const Instruction& instruction, size_t operand, int64_t offset,
           TouchKind kind);

/// False, with the core broken, where nothing has written the element.
bool IsDefined(Core& core, const Instruction& instruction, const Buffer& buffer, int64_t offset);

}  // namespace kdl::interp
