// Kernels on one device that are called with pointers to the caller's memory.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "api/bound_call.h"
#include "api/repeated_calls.h"
#include "core/device.h"
#include "core/schedule.h"
#include "core/scratch_pool.h"

namespace kdl::runtime {

class Context;
struct DynamicArguments;

class Calls : public Handle {
 public:
  // Finds the kernels. If `context` is null, creates a context for them.
  static Error Open(kdl_context* context, const kdl_image* const* images, const char* device,
                    std::span<const char* const> names, std::unique_ptr<Calls>* calls);
  ~Calls() override;

  Error Call(std::int32_t kernel, const DenseArguments& arguments) const;
  // Does so for a kernel of which the last call had these arguments of the TVM FFI, so that nothing needs to be checked. Returns false, without
  // any effect, if that is not known.
  bool CallAgain(std::int32_t kernel, const kdl_ffi_any* arguments, std::int32_t count,
                 Error* error) const;
  Error CallAsync(std::int32_t kernel, const DenseArguments& arguments, kdl_event* const* after,
                  std::int32_t after_count, kdl_event** done) const;
  // Calls one of `count` kernels from `first`, chosen by the types of the arguments. See kdl_kernels_call_dynamic. If the call is
  // enqueued, it is on the device's queue with the given number.
  Error CallDynamic(std::int32_t first, std::int32_t count, const DynamicArguments& arguments,
                    kdl_event** done, std::int32_t queue = 0) const;
  Error Bind(std::int32_t kernel, const DenseArguments& arguments,
             std::unique_ptr<BoundCall>* bound) const;

  // Returns the variant of the kernel with this number, or null if there is none.
  const kdl_variant* FindVariant(std::int32_t kernel) const {
    return kernel >= 0 && kernel < std::ssize(kernels_)
               ? kernels_[static_cast<std::size_t>(kernel)].candidate.variant
               : nullptr;
  }
  Device& device() const { return *place_.device; }
  bool in_child() const { return scheduler_->in_child(); }

 private:
  struct Destroy {
    void operator()(kdl_context* context) const { kdl_context_destroy(context); }
  };

  Calls(std::shared_ptr<Scheduler> scheduler, Device& device)
      : scheduler_(std::move(scheduler)), workspaces_(device.host_memory()) {
    place_.device = &device;
  }
  Error Find(kdl_context* context, const char* name);
  // Finds out whether the tensors are in the device's own memory. Returns an error if only some are.
  Error CheckPlaces(const CalledKernel& kernel, std::span<const kdl_dynamic_arg> given,
                    bool* is_on_device) const;
  // Returns an error if there is no kernel with this number, or if a required list is null.
  Error FindCalled(std::int32_t kernel, const DenseArguments& arguments,
                   const CalledKernel** called) const;

  std::unique_ptr<kdl_context, Destroy> own_context_;
  // Shared, because kernels may be closed after their context is destroyed.
  std::shared_ptr<Scheduler> scheduler_;
  CallPlace place_;
  std::vector<CalledKernel> kernels_;
  mutable ScratchPool workspaces_;
  std::vector<std::unique_ptr<RepeatedCalls>> repeated_;  // one for each kernel
  mutable BoundCalls bound_;
};

}  // namespace kdl::runtime
