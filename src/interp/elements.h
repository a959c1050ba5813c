#pragma once

#include "interp/core.h"
#include "interp/launch_state.h"
#include "interp/tensor_memory.h"
#include "interp/workgroup.h"

namespace kdl::interp {

// Access to one element of a tensor or of scratch: its address, whether it may be accessed, its contents.

/// The address of an element, or the first dimension whose index is outside.
struct Place {
  std::byte* address = nullptr;
  int outside = -1;
  int64_t index = 0;
};

/// Reports an element outside that has no replacement value: a trap if the access is guarded, otherwise a
/// wrong proof.
void ReportOutside(Core& core, const Instruction& instruction, const TensorValue& tensor,
                   const Place& place);

/// Tells the watch and the workgroup, if there are any, about an access to an element. Returns false and
/// stops the core if it is an error.
inline bool Notes(Core& core, const Instruction& instruction, const TensorValue& tensor,
                  const std::byte* address, TouchKind kind) {
  if (core.facts.workgroup && !core.facts.workgroup->TouchTensor(core, instruction, address, kind))
    return false;
  return !tensor.shadow ||
         core.facts.launch->watch->Touch(core, instruction, tensor, address, kind);
}

/// Returns false and breaks the core if the tensor has no memory.
bool HasMemory(Core& core, const Instruction& instruction, const TensorValue& tensor);

/// Returns the index of a dimension whose terms are all scalars. A negative index wraps to a value above any
/// size.
uint64_t ScalarIndex(const Activation& here, const DimPlan& dim);

/// The locations of the lanes of a vector access to a tensor.
class LanePlaces {
 public:
  LanePlaces(const Activation& here, const Instruction& instruction, const TensorValue& tensor);
  Place At(size_t lane) const;

 private:
  const TensorValue& tensor_;
  std::vector<uint64_t> first_;  ///< the index of lane 0 in each dimension
};

/// Returns the offset of a buffer's element, `lane` elements further along the last dimension. Returns -1 and
/// breaks the core if it is outside.
int64_t BufferOffset(Core& core, Activation& here, const Instruction& instruction,
                     size_t first_index, int64_t lane);

/// Returns the memory of a buffer operand.
Buffer& BufferAt(Core& core, Activation& here, const Instruction& instruction, size_t operand);

/// Tells the workgroup about an access if the buffer belongs to it. Returns false and stops the core if it is
/// a race.
bool Notes(Core& core, const Instruction& instruction, size_t operand, int64_t offset,
           TouchKind kind);

/// Returns false and breaks the core if nothing has written the element.
bool IsDefined(Core& core, const Instruction& instruction, const Buffer& buffer, int64_t offset);

}  // namespace kdl::interp
