#include "api/queued_call.h"

#include <algorithm>
#include <utility>

#include "api/api.h"
#include "core/view.h"

namespace kdl::runtime {

Error QueuedCall::Make(const CallPlace& place, const CalledKernel& kernel,
                       const DenseArguments& arguments, const std::int64_t* strides,
                       std::unique_ptr<QueuedCall>* call) {
  if (strides == nullptr) {
    // Performs all checks of the launch, so that a failed check has no effects.
    Binding checked;
    KDL_RETURN_IF_ERROR(BindDense(kernel.candidate, *place.device, arguments, &checked));
  }
  std::unique_ptr<QueuedCall> made(new QueuedCall);
  made->function_ = kernel.function;
  made->core_num_ = arguments.core_num;
  KDL_RETURN_IF_ERROR(Error(kdl_queue_own(place.queue, &made->queue_)));
  const kdl_variant& variant = *kernel.candidate.variant;
  made->pairs_.reserve(static_cast<std::size_t>(variant.param_count));
  std::size_t first = 0;  // among the sizes
  for (std::int32_t p = 0; p < variant.param_count; ++p) {
    const kdl_param_desc& param = variant.params[p];
    if (param.is_tensor == 0) continue;
    KDL_RETURN_IF_ERROR(made->AddTensor(place, param, arguments.sizes + first,
                                        strides == nullptr ? nullptr : strides + first,
                                        arguments.values[p].data));
    first += static_cast<std::size_t>(param.rank);
  }
  KDL_RETURN_IF_ERROR(made->CheckOwners(kernel.candidate));
  made->AddArguments(variant, arguments.values);
  *call = std::move(made);
  return nullptr;
}

QueuedCall::~QueuedCall() {
  for (Pair& pair : pairs_) {
    kdl_array_free(&pair.owner);
    kdl_array_free(&pair.there);
  }
  kdl_queue_free(queue_);
}

Error QueuedCall::AddTensor(const CallPlace& place, const kdl_param_desc& param,
                            const std::int64_t* sizes, const std::int64_t* strides,
                            const void* data) {
  const bool is_written = param.direction != KDL_IN;
  Pair& pair = pairs_.emplace_back(Pair{{}, {}, param.direction});
  KDL_RETURN_IF_ERROR(
      Error(is_written ? kdl_array_wrap(place.owner, const_cast<void*>(data), param.element,
                                        param.rank, sizes, strides, param.name, &pair.owner)
                       : kdl_array_wrap_constant(place.owner, data, param.element, param.rank,
                                                 sizes, strides, param.name, &pair.owner)));
  kdl_device* device = Wrap(place.device);
  if (place.owner == device) return nullptr;
  return Error(
      kdl_array_allocate(device, param.element, param.rank, sizes, param.name, &pair.there));
}

// The launch checks the tensors on the device. Copies there are always apart, even if the caller's tensors are not.
Error QueuedCall::CheckOwners(const Candidate& candidate) const {
  if (std::ranges::none_of(pairs_, &Pair::is_copied)) return nullptr;
  Binding owners;
  owners.candidate = candidate;
  owners.tensors.Reserve(pairs_.size());
  owners.spans.Reserve(pairs_.size());
  for (const Pair& pair : pairs_) {
    owners.tensors.Add() = pair.owner.view;
    owners.spans.Add(SpanBytes(pair.owner.view));
  }
  return OfLaunch(candidate.kernel->name, CheckWrittenApart(owners));
}

void QueuedCall::AddArguments(const kdl_variant& variant, const kdl_value* values) {
  auto pair = pairs_.begin();
  for (std::int32_t p = 0; p < variant.param_count; ++p) {
    const kdl_param_desc& param = variant.params[p];
    args_.push_back(param.is_tensor != 0 ? kdl_arg{pair++->on_device(), 0, 0, {}}
                                         : kdl_arg{nullptr, values[p].u64, param.element, {}});
  }
}

LaunchCall QueuedCall::LaunchAfter(kdl_event* const* after, std::int32_t after_count) const {
  return {*Unwrap(queue_),
          function_,
          core_num_,
          args_.data(),
          static_cast<std::int32_t>(args_.size()),
          nullptr,
          after,
          after_count,
          Shapes::kMerged};
}

Error QueuedCall::Enqueue(kdl_event* const* after, std::int32_t after_count,
                          kdl_event** done) const {
  Error error = EnqueueAll(after, after_count, done);
  // Wait on failure, because operations that were already enqueued still use the caller's memory.
  if (error != nullptr) kdl_error_free(kdl_queue_wait(queue_));
  return error;
}

// It must not throw, because the first copy already uses the caller's memory.
Error QueuedCall::EnqueueAll(kdl_event* const* after, std::int32_t after_count,
                             kdl_event** done) const {
  bool copies_back = false;
  for (const Pair& pair : pairs_) {
    copies_back |= pair.is_copied() && pair.direction != KDL_IN;
    if (!pair.is_copied() || pair.direction == KDL_OUT) continue;
    KDL_RETURN_IF_ERROR(Error(kdl_copy(queue_, &pair.there, &pair.owner, "a call reads it", after,
                                       after_count, nullptr)));
  }
  KDL_RETURN_IF_ERROR(Error(Guard(
      [&] { return Launch(LaunchAfter(after, after_count), copies_back ? nullptr : done); })));
  if (!copies_back) return nullptr;
  for (const Pair& one : pairs_) {
    if (!one.is_copied() || one.direction == KDL_IN) continue;
    KDL_RETURN_IF_ERROR(
        Error(kdl_copy(queue_, &one.owner, &one.there, "a call wrote it", nullptr, 0, nullptr)));
  }
  if (done == nullptr) return nullptr;
  return Error(kdl_host_call(queue_, nullptr, nullptr, nullptr, nullptr, 0, done));
}

Error QueuedCall::RunAndWait() const {
  if (std::ranges::none_of(pairs_, &Pair::is_copied)) {
    return RunLaunch(LaunchAfter(nullptr, 0));
  }
  KDL_RETURN_IF_ERROR(Enqueue(nullptr, 0, nullptr));
  return Error(kdl_queue_wait(queue_));
}

}  // namespace kdl::runtime
