// The result of binding a launch, and functions that are shared by the two ways of binding.
#pragma once

#include <string>
#include <string_view>

#include "core/device.h"
#include "core/registry.h"
#include "core/small_array.h"

namespace kdl::runtime {

// A bound launch. It must not be moved, because `args` points into it. If there are few arguments, it
// allocates no memory.
struct Binding {
  Candidate candidate = {};
  std::int64_t core_num = 0;
  std::int64_t busy_cores = 0;  // cores that have work to do; at least 1
  SmallArray<std::int64_t, 16> dims;
  SmallArray<kdl_tensor, 8> tensors;  // one for each tensor parameter
  SmallArray<std::int64_t, 8> spans;  // the bytes from the first to the last element of each tensor
  SmallArray<kdl_memory, 8> memories;
  SmallArray<Buffer*, 8> buffers;  // null for an optional tensor that is absent
  bool keeps_buffers = false;      // whether the binding has a reference to each buffer
  SmallArray<std::uint64_t, 8> scalars;
  kdl_args args = {};
  std::int64_t instances = 0;
  std::int64_t slice_bytes = 0;
  std::int64_t shared_bytes = 0;
  // The size of the shared tensors and of the cores' slices, which come after them.
  std::int64_t workspace_bytes = 0;

  Binding() = default;
  ~Binding() { DropBuffers(); }
  Binding(const Binding&) = delete;
  Binding& operator=(const Binding&) = delete;

  // Takes references to the buffers. Needed for a launch that the caller does not wait for.
  void KeepBuffers();
  void DropBuffers();
};

// Returns a parameter's spelling, such as "a[M, K]".
std::string Spelling(const kdl_param_desc& param);
// Returns a parameter's declaration, such as "a: f32[M, K]".
std::string ParameterType(const kdl_param_desc& param);
// Whether one of the variant's constants, such as "rank_A=0", only says which shapes and strides its tensors have. Callers
// do not know of these constants.
bool IsShapeMark(const kdl_variant& variant, std::string_view constant);

// Returns the declarations of all parameters, and the variant's constants: "(a: f32[M, K]) with BM=64".
std::string Signature(const kdl_variant& variant);

// Whether calls of the kernel may pass nothing for this parameter.
bool IsOptional(const kdl_variant& variant, const kdl_param_desc& param);
// Whether the parameter is optional, and the variant is for calls that pass nothing for it.
bool IsAbsent(const kdl_variant& variant, const kdl_param_desc& param);

// Converts a scalar, given in the low bytes of `bits`, to the form that kernels expect.
std::uint64_t TakeScalar(std::uint8_t element, std::uint64_t bits);

// Completes a binding that already contains the variant, the tensors and the scalars. Binds and checks
// everything that depends on these. `core_num` may be KDL_CORES_AUTO.
Error Settle(Device& device, std::int64_t core_num, Binding* binding);

// Parts of Settle: bind the sizes of tensors; perform the checks that are part of the variant, for bound sizes.
Error FindSizes(Binding* binding);
Error RunLaunchCheck(Binding* binding);

// Whether the byte range of a written tensor meets that of another tensor. Tensors whose ranges are apart do not overlap.
bool DoWrittenRangesMeet(const Binding& binding);

// Checks that no two elements of a written tensor, and no elements of it and of another tensor, share memory. Needs only
// the variant, the tensors and their spans.
Error CheckWrittenApart(const Binding& binding);

// Checks this for a single tensor that is written.
Error CheckOwnElements(const kdl_param_desc& param, const kdl_tensor& view);

// Checks the number of cores of a launch, which is not KDL_CORES_AUTO.
Error CheckCores(std::int64_t core_num);

// Returns the number of cores that have work to do, for a variant that computes it.
std::int64_t BusyCores(const kdl_variant& variant, const Binding& binding);

// Returns the number of workspace slices for a launch on `core_num` cores: one for each core that may run
// concurrently. Returns 0 if `core_num` is invalid.
std::int64_t InstancesOf(const Device& device, std::int64_t core_num);

// Returns the distance in bytes between consecutive slices of a workspace.
std::int64_t SliceBytes(const kdl_variant& variant);

// Adds the name of the launch to its error. Traps are not changed, because their messages already contain a
// position in the source.
Error OfLaunch(std::string_view name, Error error);

}  // namespace kdl::runtime
