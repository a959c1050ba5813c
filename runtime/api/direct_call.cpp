#include "api/direct_call.h"

#include <utility>

namespace kdl::runtime {

DirectCall::~DirectCall() {
  if (prepared_ != nullptr) device_.ops().discard(device_.state(), prepared_);
  if (workspace_.data != nullptr) workspaces_.GiveBack(workspace_);
}

Error DirectCall::Bind(const CalledKernel& kernel, const DenseArguments& arguments) {
  KDL_RETURN_IF_ERROR(BindDense(kernel.candidate, device_, arguments, &binding_));
  char* shared = nullptr;
  if (binding_.workspace_bytes > 0) {
    workspace_ = workspaces_.Acquire(binding_.workspace_bytes);
    shared = workspace_.data;
    if (shared == nullptr) {
      return Fail(KDL_ERROR_OUT_OF_MEMORY, "call of '", kernel.candidate.kernel->name,
                  "': not enough memory for a workspace of ", binding_.workspace_bytes, " bytes");
    }
  }
  frame_.Fill(binding_, kernel.module, 0,
              shared == nullptr ? nullptr : shared + binding_.shared_bytes, shared);
  return nullptr;
}

Error DirectCall::Prepare() {
  if (device_.ops().prepare == nullptr || device_.ops().discard == nullptr) return nullptr;
  KDL_RETURN_IF_ERROR(Error(device_.ops().prepare(device_.state(), &frame_.request, &prepared_)));
  frame_.request.prepared = prepared_;
  return nullptr;
}

Error DirectCall::RunKernel() {
  frame_.Rearm();
  Error failed;
  const kdl_completion done = {
      [](void* context, kdl_error* error) { static_cast<Error*>(context)->reset(error); }, &failed};
  device_.ops().launch(device_.state(), &frame_.request, done);
  return frame_.host.EndPrints(std::move(failed));
}

}  // namespace kdl::runtime
