// A call of a kernel that goes through a queue.
#pragma once

#include <memory>
#include <vector>

#include "api/called_kernel.h"
#include "api/launch_call.h"
#include "core/binding.h"

namespace kdl::runtime {

// A call that goes through a queue. It owns the call's tensors, both on the device and in the caller's
// memory. The operations on them keep alive what they use, so the object may be destroyed before they end.
class QueuedCall {
 public:
  // Performs all checks. Creates a call with its own queue handle, so that failures of its operations are
  // reported only to it. Allocates memory on the device if the caller's memory is not there. `strides` has
  // one entry for each size, in elements; if it is null, the tensors are row-major.
  static Error Make(const CallPlace& place, const CalledKernel& kernel,
                    const DenseArguments& arguments, const std::int64_t* strides,
                    std::unique_ptr<QueuedCall>* call);
  ~QueuedCall();
  QueuedCall(const QueuedCall&) = delete;
  QueuedCall& operator=(const QueuedCall&) = delete;

  // Enqueues the copies to the device, the launch and the copies back. `done` may be null.
  Error Enqueue(kdl_event* const* after, std::int32_t after_count, kdl_event** done) const;
  // Does the same and waits. Does not run at the same time as another call of this function.
  Error RunAndWait() const;

 private:
  struct Pair {
    kdl_array owner;
    kdl_array there;  // has no buffer if `owner` is on the device
    std::uint8_t direction;

    bool is_copied() const { return there.buffer != nullptr; }
    const kdl_array* on_device() const { return is_copied() ? &there : &owner; }
  };

  QueuedCall() = default;
  Error AddTensor(const CallPlace& place, const kdl_param_desc& param, const std::int64_t* sizes,
                  const std::int64_t* strides, const void* data);
  Error CheckOwners(const Candidate& candidate) const;
  void AddArguments(const kdl_variant& variant, const kdl_value* values);
  // The launch with the call's arguments, whose dimensions have already been merged to packs.
  LaunchCall LaunchAfter(kdl_event* const* after, std::int32_t after_count) const;
  Error EnqueueAll(kdl_event* const* after, std::int32_t after_count, kdl_event** done) const;

  const kdl_function* function_ = nullptr;
  kdl_queue* queue_ = nullptr;
  std::int64_t core_num_ = KDL_CORES_AUTO;
  std::vector<Pair> pairs_;
  std::vector<kdl_arg> args_;  // contains pointers to the pairs
};

}  // namespace kdl::runtime
