// Turns a caller's arguments into a kernel's: selects the variant, binds the sizes, and makes all promised
// launch checks before any effect.
#pragma once

#include <span>

#include "core/binding_parts.h"

namespace kdl::runtime {

// `core_num` may be KDL_CORES_AUTO.
Error Bind(const Function& function, Device& device, std::int64_t core_num,
           std::span<const kdl_arg> args, Binding* binding);

// The same for a selected variant and memory of this process. `sizes` has the sizes of all dimensions of all
// tensors in order, and `values` one entry for each parameter. Tensors are row-major. The launch runs on as
// many cores as the device runs at once.
Error BindDense(const Candidate& candidate, Device& device, const std::int64_t* sizes,
                const kdl_value* values, Binding* binding);

// Checks that the workspace of a bound launch is on the right device, overlaps no argument, and is large
// enough for the slices.
Error CheckWorkspace(const Binding& binding, const Device& device, const Buffer& workspace);

// Checks a caller's array: that its view is valid and inside its buffer. Messages start with `what`.
Error CheckArray(const kdl_array& array, std::string_view what);

// Returns the byte offset of the view's first element in its buffer.
std::int64_t OffsetInBuffer(const kdl_array& array);

}  // namespace kdl::runtime
