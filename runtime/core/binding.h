// Converts a caller's arguments to the arguments of a kernel: selects the variant, binds the sizes, and
// performs all launch checks before the launch has any effect.
#pragma once

#include <span>

#include "core/binding_parts.h"

namespace kdl::runtime {

// Whether the dimensions of a launch's tensors are those of the caller, or have already been merged to packs.
enum class Shapes { kGiven, kMerged };

// Binds the arguments of a launch. `core_num` may be KDL_CORES_AUTO.
Error Bind(const Function& function, Device& device, std::int64_t core_num,
           std::span<const kdl_arg> args, Shapes shapes, Binding* binding);

// The arguments of a call with pointers to row-major tensors in this process's memory.
struct DenseArguments {
  const std::int64_t* sizes;  // those of the first tensor, then those of the second, and so on
  const kdl_value* values;    // one for each parameter
  std::int64_t core_num = KDL_CORES_AUTO;
};

// Binds the arguments of an already selected variant.
Error BindDense(const Candidate& candidate, Device& device, const DenseArguments& arguments,
                Binding* binding);

// Gives a dense binding the pointers and scalars of another call of the same kernel. Returns false if the sizes differ,
// or if something has to be checked or computed again. The binding is useless then.
bool RebindDense(const DenseArguments& arguments, Binding* binding);

// Checks that the workspace of a bound launch is on the right device, does not overlap any argument, and is
// large enough for the slice of each core.
Error CheckWorkspace(const Binding& binding, const Device& device, const Buffer& workspace);

// Checks that the view of a caller's array is valid and lies inside the array's buffer. Messages start with
// `what`.
Error CheckArray(const kdl_array& array, std::string_view what);

// Returns the byte offset of the view's first element in its buffer.
std::int64_t OffsetInBuffer(const kdl_array& array);

}  // namespace kdl::runtime
