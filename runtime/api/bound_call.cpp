#include "api/bound_call.h"

#include <utility>

#include "api/calls.h"

namespace kdl::runtime {

BoundCall::BoundCall(Calls& calls, std::string name)
    : calls_(&calls), name_(std::move(name)), scheduler_(calls.scheduler()) {
  calls.Remember(this);
}

BoundCall::~BoundCall() {
  if (calls_ != nullptr) calls_->Forget(this);
}

Error BoundCall::Bind(const CallPlace& place, const CalledKernel& kernel, ScratchPool& workspaces,
                      const std::int64_t* sizes, const kdl_value* values) {
  device_ = place.device->shared_from_this();
  if (!place.is_direct) return QueuedCall::Make(place, kernel, sizes, values, &queued_);
  direct_.emplace(*device_, workspaces);
  KDL_RETURN_IF_ERROR(direct_->Bind(kernel, sizes, values));
  return direct_->Prepare();
}

Error BoundCall::Run() {
  if (direct_.has_value()) return direct_->Run();
  if (queued_ != nullptr) return queued_->Run();
  return Invalid("call of '", name_, "': its kernels have been closed");
}

void BoundCall::Close() {
  direct_.reset();
  queued_.reset();
  device_.reset();
  calls_ = nullptr;
}

}  // namespace kdl::runtime
