#include "api/bound_call.h"

#include <utility>

#include "system/float_state.h"

namespace kdl::runtime {

void BoundCalls::Add(BoundCall* call) {
  const std::lock_guard lock(mutex_);
  calls_.push_back(call);
}

void BoundCalls::Remove(BoundCall* call) {
  const std::lock_guard lock(mutex_);
  std::erase(calls_, call);
}

void BoundCalls::CloseAll() {
  const std::lock_guard lock(mutex_);
  for (BoundCall* call : calls_) call->Close();
  calls_.clear();
}

BoundCall::BoundCall(BoundCalls& list, std::shared_ptr<Scheduler> scheduler, std::string name)
    : list_(&list), scheduler_(std::move(scheduler)), name_(std::move(name)) {
  list.Add(this);
}

BoundCall::~BoundCall() {
  if (list_ != nullptr) list_->Remove(this);
}

Error BoundCall::Bind(const CallPlace& place, const CalledKernel& kernel, ScratchPool& workspaces,
                      const DenseArguments& arguments) {
  device_ = place.device->shared_from_this();
  if (!place.is_direct) return QueuedCall::Make(place, kernel, arguments, nullptr, &queued_);
  direct_.emplace(*device_, workspaces);
  counter_.emplace(device_->counters());
  KDL_RETURN_IF_ERROR(direct_->Bind(kernel, arguments));
  return direct_->Prepare();
}

Error BoundCall::RunKernel() {
  if (direct_.has_value()) {
    counter_->Count();
    return direct_->RunKernel();
  }
  const FloatScope floats;
  if (queued_ != nullptr) return queued_->RunAndWait();
  return Invalid("call of '", name_, "': its kernels have been closed");
}

void BoundCall::Close() {
  direct_.reset();
  counter_.reset();
  queued_.reset();
  device_.reset();
  list_ = nullptr;
}

}  // namespace kdl::runtime
