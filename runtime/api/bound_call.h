// A kernel with its arguments, which were checked once for many calls.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "api/direct_call.h"
#include "api/queued_call.h"

namespace kdl::runtime {

class BoundCall;

// The bound calls of some kernels, which are closed together with the kernels.
class BoundCalls {
 public:
  void Add(BoundCall* call);
  void Remove(BoundCall* call);
  void CloseAll();

 private:
  std::mutex mutex_;
  std::vector<BoundCall*> calls_;  // guarded by the mutex
};

class BoundCall : public Handle {
 public:
  // Adds itself to `list`, which closes it when the kernels are closed.
  BoundCall(BoundCalls& list, std::shared_ptr<Scheduler> scheduler, std::string name);
  ~BoundCall() override;

  // Performs all checks and reserves all memory that calls need. Called once.
  Error Bind(const CallPlace& place, const CalledKernel& kernel, ScratchPool& workspaces,
             const DenseArguments& arguments);
  // Runs the kernel. Not called by several threads at once.
  Error RunKernel();
  // Releases everything that calls need. Afterwards, calls fail.
  void Close();

  bool in_child() const { return scheduler_->in_child(); }

 private:
  BoundCalls* list_;  // null if closed
  // Shared, because the object may be closed after its context is destroyed.
  const std::shared_ptr<Scheduler> scheduler_;
  const std::string name_;
  std::shared_ptr<Device> device_;
  // One of these is set while the object is open.
  std::optional<DirectCall> direct_;
  std::optional<CallCounter> counter_;  // set together with `direct_`
  std::unique_ptr<QueuedCall> queued_;
};

}  // namespace kdl::runtime
