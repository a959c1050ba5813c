// From a caller's arguments to what a kernel is handed: picks the variant, binds the sizes, and
// checks everything that a launch promises to check, before any effect.
#pragma once

#include <span>

#include "core/binding_parts.h"

namespace kdl::runtime {

// `core_num` may be KDL_CORES_AUTO.
Error Bind(const Function& function, Device& device, std::int64_t core_num,
           std::span<const kdl_arg> args, Binding* binding);

// The same for a variant that was picked before, over memory of this process: `sizes` are those of all dimensions of its
// tensors, one after the other, and `values` those of its parameters, of which tensors are row-major. On as many cores
// as the device holds.
Error BindDense(const Candidate& candidate, Device& device, const std::int64_t* sizes,
                const kdl_value* values, Binding* binding);

// Checks memory that a caller hands to a bound launch as its workspace: where it lives, that no
// argument lies in it, that it holds the slices.
Error CheckWorkspace(const Binding& binding, const Device& device, const Buffer& workspace);

// Checks a caller's array: the view, that it lies inside its buffer. Messages start with `what`.
Error CheckArray(const kdl_array& array, std::string_view what);

// Byte offset of the view's first element in its buffer.
std::int64_t OffsetInBuffer(const kdl_array& array);

}  // namespace kdl::runtime
