// What a launch is bound to, and what the ways to bind it share.
#pragma once

#include <string>
#include <string_view>

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

// "a[M, K]".
std::string Spelling(const kdl_param_desc& param);

// A scalar as kernels take it, from the low bytes of `bits`.
std::uint64_t TakeScalar(std::uint8_t element, std::uint64_t bits);

// Binds and checks what follows from the variant, the tensors and the scalars, which the binding has.
Error Settle(Device& device, std::int64_t core_num, Binding* binding);

// The slices of workspace that a launch has of which `core_num` cores are run: one for each that may
// run at once. 0 for what is no number of cores.
std::int64_t InstancesOf(const Device& device, std::int64_t core_num);

// From one slice of workspace to the next.
std::int64_t SliceBytes(const kdl_variant& variant);

// The error of a launch, named; traps say themselves where they come from.
Error OfLaunch(std::string_view name, Error error);

}  // namespace kdl::runtime
