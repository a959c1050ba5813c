// Launches that wait for nothing on the host. Each queue of the runtime has a stream, to which a launch is given
// with one call of the driver as soon as it is enqueued. Nobody is told when it ends: whoever waits for it waits
// for the stream, and then all launches that were given before have ended.
//
// This is how kernels are launched that neither print nor have parts (see workgroup_launch.h). A kernel that
// may trap writes the reason into the record of its queue, which is in host memory. It is read when somebody
// waits, so nothing may follow such a launch before.
//
// The stream also waits for the application's streams, and these for it, by events of the driver.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "cuda/cuda_blocks.h"
#include "cuda/cuda_context.h"
#include "kdl/device_plugin.h"
#include "workgroup/launch_arguments.h"

namespace kdl::runtime {

class CudaQueue final : public CudaQueueState {
 public:
  explicit CudaQueue(CudaDevice& cuda) : cuda_(cuda) {}
  // The context must be current, and everything that was given must have ended.
  ~CudaQueue() override;
  CudaQueue(const CudaQueue&) = delete;
  CudaQueue& operator=(const CudaQueue&) = delete;

  // Reserves what every launch needs, and scratch memory.
  cu::Status Reserve(std::int64_t scratch_bytes);
  // Gives a launch, or a wait for another stream, to the stream. If this fails, completes it at once.
  void Submit(const kdl_submission& submission);
  // Waits until operation `number`, and all before it, have ended, and completes them.
  void Wait(std::uint64_t number);
  // Makes what `other` gets later start after everything that has been given to the stream.
  cu::Status Lead(cu::StreamId other);

 private:
  struct Given {
    std::uint64_t number;
    kdl_completion done;
    const kdl_launch_request* request;  // null for a wait
    bool may_trap;
  };

  cu::Status MakeStream();
  Error Launch(Given* given);
  Error Follow(cu::EventId event);
  // Returns why a launch has failed. `status` is what the driver returned for the stream.
  Error OutcomeOf(const Given& given, cu::Status status);
  // Takes the first operation with at most this number. Returns false if there is none.
  bool TakeUpTo(std::uint64_t number, Given* given);
  void FreeReplaced();

  CudaDevice& cuda_;
  std::mutex waits_;  // held by the thread that waits for the stream and completes launches
  std::mutex mutex_;  // guards the members below
  cu::StreamId stream_ = nullptr;
  cu::EventId lead_ = nullptr;      // recorded whenever another stream has to wait
  std::int64_t* record_ = nullptr;  // in host memory that the device can access
  void* scratch_ = nullptr;
  std::int64_t scratch_bytes_ = 0;
  std::vector<void*> replaced_;  // scratch that launches may still use, but later ones will not
  std::deque<Given> given_;
  // Kept from launch to launch, so that none allocates memory.
  LaunchArguments arguments_;
  LaunchMaps maps_;
  PassedArguments passed_;
};

// Functions of the plugin interface (see kdl/device_plugin.h).
std::int32_t CudaAccepts(void* device, const kdl_launch_request* request);
void SubmitCuda(void* device, const kdl_submission* submission);
void WaitCuda(void* device, std::int32_t queue, std::uint64_t number);
kdl_error* LeadCudaStream(void* device, std::int32_t queue, void* stream);

}  // namespace kdl::runtime
