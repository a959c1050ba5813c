// From a caller's arguments to what a kernel is handed: picks the variant, binds the sizes, and
// checks everything that a launch promises to check, before any effect.
#pragma once

#include <span>

#include "core/device.h"
#include "core/registry.h"
#include "core/small_array.h"

namespace kdl::runtime {

// What a launch is bound to. Stays where it is: `args` points into it. Without any memory of its own where the
// arguments are few.
struct Binding {
  Candidate candidate = {};
  std::int64_t core_num = 0;
  std::int64_t busy_cores = 0;  // those of them that have something to do, at least 1
  SmallArray<std::int64_t, 16> dims;
  SmallArray<kdl_tensor, 8> tensors;  // by tensor parameter
  SmallArray<kdl_memory, 8> memories;
  SmallArray<Buffer*, 8> buffers;
  bool keeps_buffers = false;  // has a reference to each
  SmallArray<std::uint64_t, 8> scalars;
  kdl_args args = {};
  std::int64_t instances = 0;
  std::int64_t slice_bytes = 0;
  std::int64_t shared_bytes = 0;
  std::int64_t workspace_bytes = 0;  // shared, then the slices

  Binding() = default;
  ~Binding() { DropBuffers(); }
  Binding(const Binding&) = delete;
  Binding& operator=(const Binding&) = delete;

  // For a launch that the caller does not wait for.
  void KeepBuffers();
  void DropBuffers();
};

// `core_num` may be KDL_CORES_AUTO.
Error Bind(const Function& function, Device& device, std::int64_t core_num,
           std::span<const kdl_arg> args, Binding* binding);

// The same for a variant that was picked before, over memory of this process: `sizes` are those of all dimensions of its
// tensors, one behind the other, and `values` those of its parameters, of which tensors are row-major. On as many cores
// as the device holds.
Error BindDense(const Candidate& candidate, Device& device, const std::int64_t* sizes,
                const kdl_value* values, Binding* binding);

// Checks memory that a caller hands to a bound launch as its workspace: where it lives, that no
// argument lies in it, that it holds the slices.
Error CheckWorkspace(const Binding& binding, const Device& device, const Buffer& workspace);

// The slices of workspace that a launch has of which `core_num` cores are run: one for each that may
// run at once. 0 for what is no number of cores.
std::int64_t InstancesOf(const Device& device, std::int64_t core_num);

// From one slice of workspace to the next.
std::int64_t SliceBytes(const kdl_variant& variant);

// Checks a caller's array: the view, that it lies inside its buffer. Messages start with `what`.
Error CheckArray(const kdl_array& array, std::string_view what);

// Byte offset of the view's first element in its buffer.
std::int64_t OffsetInBuffer(const kdl_array& array);

}  // namespace kdl::runtime
