// The result of binding a launch, and functions that the ways of binding share.
#pragma once

#include <string>
#include <string_view>

#include "core/device.h"
#include "core/registry.h"
#include "core/small_array.h"

namespace kdl::runtime {

// A bound launch. It must not move, because `args` points into it. It allocates no memory if there are few
// arguments.
struct Binding {
  Candidate candidate = {};
  std::int64_t core_num = 0;
  std::int64_t busy_cores = 0;  // those that have work to do, at least 1
  SmallArray<std::int64_t, 16> dims;
  SmallArray<kdl_tensor, 8> tensors;  // by tensor parameter
  SmallArray<kdl_memory, 8> memories;
  SmallArray<Buffer*, 8> buffers;
  bool keeps_buffers = false;  // whether it has a reference to each buffer
  SmallArray<std::uint64_t, 8> scalars;
  kdl_args args = {};
  std::int64_t instances = 0;
  std::int64_t slice_bytes = 0;
  std::int64_t shared_bytes = 0;
  std::int64_t workspace_bytes = 0;  // the shared tensors, then the slices

  Binding() = default;
  ~Binding() { DropBuffers(); }
  Binding(const Binding&) = delete;
  Binding& operator=(const Binding&) = delete;

  // For a launch that the caller does not wait for.
  void KeepBuffers();
  void DropBuffers();
};

// Returns a parameter's spelling, such as "a[M, K]".
std::string Spelling(const kdl_param_desc& param);

// Returns a scalar in the form that kernels take, from the low bytes of `bits`.
std::uint64_t TakeScalar(std::uint8_t element, std::uint64_t bits);

// Binds and checks what depends on the variant, the tensors and the scalars, which the binding already
// contains.
Error Settle(Device& device, std::int64_t core_num, Binding* binding);

// Returns the number of slices of workspace for a launch on `core_num` cores: one for each core that may run
// concurrently; 0 for an invalid number.
std::int64_t InstancesOf(const Device& device, std::int64_t core_num);

// Returns the distance between slices of workspace.
std::int64_t SliceBytes(const kdl_variant& variant);

// Adds the launch's name to its error; traps already contain their position.
Error OfLaunch(std::string_view name, Error error);

}  // namespace kdl::runtime
