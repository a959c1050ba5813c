// A call of a kernel on the calling thread.
#pragma once

#include "api/called_kernel.h"
#include "core/binding.h"
#include "core/operations.h"
#include "core/scratch_pool.h"

namespace kdl::runtime {

// A call that runs on the calling thread, bypassing all queues, with everything that its launch needs.
class DirectCall {
 public:
  // `workspaces` must outlive the call.
  DirectCall(Device& device, ScratchPool& workspaces)
      : device_(device), workspaces_(workspaces), frame_(device.prints()) {}
  ~DirectCall();
  DirectCall(const DirectCall&) = delete;
  DirectCall& operator=(const DirectCall&) = delete;

  // Performs all checks and borrows a workspace. Called once.
  Error Bind(const CalledKernel& kernel, const DenseArguments& arguments);
  // Replaces the pointers and scalars by those of a later call. Returns false if that call has to be bound anew. This
  // object must not run then.
  bool Rebind(const DenseArguments& arguments) { return RebindDense(arguments, &binding_); }
  // Lets the device reserve what it would otherwise borrow for each run. Called at most once, after Bind.
  Error Prepare();
  // Runs the kernel. May be called several times, but not by several threads at once.
  Error RunKernel();

 private:
  Device& device_;
  ScratchPool& workspaces_;
  ScratchPool::Block workspace_;
  Binding binding_;
  LaunchFrame frame_;
  void* prepared_ = nullptr;  // what the device has reserved
};

}  // namespace kdl::runtime
