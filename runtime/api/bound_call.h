// A kernel with its arguments, which were checked once for many calls.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/direct_call.h"
#include "api/queued_call.h"

namespace kdl::runtime {

class Calls;

class BoundCall : public Handle {
 public:
  // `calls` closes the object when it is itself destroyed first.
  BoundCall(Calls& calls, std::string name);
  ~BoundCall() override;

  // Performs all checks and reserves all memory that calls need. Called once.
  Error Bind(const CallPlace& place, const CalledKernel& kernel, ScratchPool& workspaces,
             const std::int64_t* sizes, const kdl_value* values);
  // Runs the kernel. Not called by several threads at once.
  Error Run();
  // Releases everything that calls need. Afterwards, calls fail.
  void Close();

  bool in_child() const { return scheduler_->in_child(); }

 private:
  Calls* calls_;  // null if closed
  const std::string name_;
  // Shared, because the object may be closed after its context is destroyed.
  const std::shared_ptr<Scheduler> scheduler_;
  std::shared_ptr<Device> device_;
  // One of these is set while the object is open.
  std::optional<DirectCall> direct_;
  std::unique_ptr<QueuedCall> queued_;
};

}  // namespace kdl::runtime
