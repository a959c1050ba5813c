#pragma once

#include "interp/core.h"
#include "interp/launch_state.h"
#include "interp/tensor_memory.h"
#include "interp/workgroup.h"

namespace kdl::interp {

// Functions for accesses to single elements of tensors and scratch memory: they compute addresses, check
// accesses, and load and store contents.

/// The address of an element. If an index is out of bounds, there is no address, and `outside` is the first
/// dimension with such an index.
struct Place {
  std::byte* address = nullptr;
  int outside = -1;
  int64_t index = 0;
};

/// Reports an access that is out of bounds and has no replacement value. This is a trap if the access is
/// checked at run time. Otherwise, the access was proven to be in bounds, and the proof is wrong.
void ReportOutside(Core& core, const Instruction& instruction, const TensorValue& tensor,
                   const Place& place);

/// Reports an access to an element to the watch and the workgroup, if there are any, which check for races.
/// If the access is an error, stops the core and returns false.
inline bool Notes(Core& core, const Instruction& instruction, const TensorValue& tensor,
                  const std::byte* address, TouchKind kind) {
  if (core.facts.workgroup && !core.facts.workgroup->TouchTensor(core, instruction, address, kind))
    return false;
  return !tensor.shadow ||
         core.facts.launch->watch->Touch(core, instruction, tensor, address, kind);
}

/// Checks that the tensor has memory. Otherwise, reports an internal error and returns false.
bool HasMemory(Core& core, const Instruction& instruction, const TensorValue& tensor);

/// Returns an index whose terms are all scalars. A negative index wraps to a value greater than any size.
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

/// Returns the offset of an element of a buffer. The indices are operands of the op, from `first_index` on;
/// `lane` is added to the last one. If the element is out of bounds, reports an internal error and returns
/// -1.
int64_t BufferOffset(Core& core, Activation& here, const Instruction& instruction,
                     size_t first_index, int64_t lane);

/// Returns the memory of a buffer operand.
Buffer& BufferAt(Core& core, Activation& here, const Instruction& instruction, size_t operand);

/// If the buffer belongs to a workgroup, tells the workgroup about an access to the buffer. If the access is
/// a race, stops the core and returns false.
bool Notes(Core& core, const Instruction& instruction, size_t operand, int64_t offset,
           TouchKind kind);

/// Checks that the element has been written. Otherwise, reports an internal error and returns false.
bool IsDefined(Core& core, const Instruction& instruction, const Buffer& buffer, int64_t offset);

}  // namespace kdl::interp
