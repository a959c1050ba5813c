#include "api/calls.h"

#include <algorithm>
#include <utility>

#include "api/dynamic_call.h"
#include "core/context.h"
#include "core/packs.h"
#include "kdl/own_device.h"
#include "system/float_state.h"

namespace kdl::runtime {

Error Calls::Open(kdl_context* context, const kdl_image* const* images, const char* device,
                  std::span<const char* const> names, std::unique_ptr<Calls>* calls) {
  std::unique_ptr<kdl_context, Destroy> own;
  if (context == nullptr) {
    KDL_RETURN_IF_ERROR(Error(kdl_context_create(&context)));
    own.reset(context);
  }
  KDL_RETURN_IF_ERROR(Error(kdl_context_register_all(context, images)));
  kdl_device* selected = nullptr;
  KDL_RETURN_IF_ERROR(Error(kdl_select_device(context, device, &selected)));
  std::unique_ptr<Calls> made(new Calls(Unwrap(context)->scheduler(), *Unwrap(selected)));
  made->own_context_ = std::move(own);
  CallPlace& place = made->place_;
  KDL_RETURN_IF_ERROR(Error(kdl_device_queue(selected, 0, &place.queue)));
  place.owner = selected;
  if (!place.device->works_in_host_memory())
    KDL_RETURN_IF_ERROR(Error(kdl_select_device(context, KDL_OWN_DEVICE, &place.owner)));
  // Calls that bypass queues would not appear in a trace, so they are not used if the context has a trace.
  place.is_direct = (place.device->facts().capabilities & KDL_CAN_CALL) != 0 &&
                    place.device->scheduler().trace() == nullptr;
  for (const char* name : names) KDL_RETURN_IF_ERROR(made->Find(context, name));
  *calls = std::move(made);
  return nullptr;
}

// The context of the handle itself is destroyed afterwards.
Calls::~Calls() { bound_.CloseAll(); }

namespace {

// Whether the candidates are in one image and their scalars and tensors have the same types, so that they differ only in
// the strides of the tensors.
bool BelongTogether(const Candidate& a, const Candidate& b) {
  for (std::int32_t p = 0; p < a.variant->param_count; ++p)
    if (IsAbsent(*a.variant, a.variant->params[p]) != IsAbsent(*b.variant, b.variant->params[p]))
      return false;
  return a.image == b.image &&
         std::equal(a.variant->params, a.variant->params + a.variant->param_count,
                    b.variant->params, b.variant->params + b.variant->param_count,
                    [](const kdl_param_desc& x, const kdl_param_desc& y) {
                      return x.element == y.element;
                    });
}

Error OfOpening(const char* name, Error error) {
  return error == nullptr ? nullptr : Prefixed(Concat("kernel '", name, "': "), std::move(error));
}

}  // namespace

Error Calls::Find(kdl_context* context, const char* name) {
  if (name == nullptr) return Invalid("the name of kernel ", kernels_.size(), " is NULL");
  CalledKernel kernel = {};
  KDL_RETURN_IF_ERROR(Error(kdl_context_find_kernel(context, name, &kernel.function)));
  std::span<const Candidate> candidates;
  KDL_RETURN_IF_ERROR(Unwrap(kernel.function)->FindCandidates(*place_.device, &candidates));
  kernel.candidate = candidates[0];
  const kdl_variant& variant = *kernel.candidate.variant;
  for (std::int32_t p = 0; p < variant.param_count; ++p)
    kernel.has_sizes |= variant.params[p].rank > 0;
  KDL_RETURN_IF_ERROR(
      OfOpening(name, FindRanks(variant, Unwrap(kernel.function)->name(), &kernel.ranks)));
  KDL_RETURN_IF_ERROR(place_.device->FindModule(*kernel.candidate.image, &kernel.module));
  for (const Candidate& candidate : candidates) {
    if (!IsForStrides(*candidate.variant) || !BelongTogether(candidate, candidates[0])) continue;
    auto strided = std::make_shared<CalledKernel>(kernel);
    strided->candidate = candidate;
    kernel.strided = std::move(strided);
    break;
  }
  kernels_.push_back(kernel);
  repeated_.push_back(std::make_unique<RepeatedCalls>(*place_.device, workspaces_));
  return nullptr;
}

Error Calls::FindCalled(std::int32_t kernel, const DenseArguments& arguments,
                        const CalledKernel** called) const {
  if (kernel < 0 || kernel >= std::ssize(kernels_)) {
    return Invalid("call of kernel ", kernel, " of a handle that has ", kernels_.size());
  }
  const CalledKernel& found = kernels_[static_cast<std::size_t>(kernel)];
  *called = &found;
  const bool lacks_values = arguments.values == nullptr && found.candidate.variant->param_count > 0;
  if (!lacks_values && (arguments.sizes != nullptr || !found.has_sizes)) return nullptr;
  return Invalid("call of '", found.candidate.kernel->name,
                 "': ", lacks_values ? "values" : "sizes", " is NULL");
}

Error Calls::Call(std::int32_t kernel, const DenseArguments& arguments) const {
  if (place_.is_direct) {
    const CalledKernel* called = nullptr;
    KDL_RETURN_IF_ERROR(FindCalled(kernel, arguments, &called));
    return repeated_[static_cast<std::size_t>(kernel)]->Call(*called, arguments);
  }
  const FloatScope floats;
  kdl_event* done = nullptr;
  KDL_RETURN_IF_ERROR(CallAsync(kernel, arguments, nullptr, 0, &done));
  Error error(kdl_event_wait(done, -1));
  kdl_event_free(done);
  return error;
}

bool Calls::CallAgain(std::int32_t kernel, const kdl_ffi_any* arguments, std::int32_t count,
                      Error* error) const {
  if (kernel < 0 || kernel >= std::ssize(repeated_)) return false;
  return repeated_[static_cast<std::size_t>(kernel)]->CallAgain(arguments, count, error);
}

Error Calls::CallAsync(std::int32_t kernel, const DenseArguments& arguments,
                       kdl_event* const* after, std::int32_t after_count, kdl_event** done) const {
  const CalledKernel* called = nullptr;
  KDL_RETURN_IF_ERROR(FindCalled(kernel, arguments, &called));
  std::unique_ptr<QueuedCall> call;
  KDL_RETURN_IF_ERROR(QueuedCall::Make(place_, *called, arguments, nullptr, &call));
  return call->Enqueue(after, after_count, done);
}

Error Calls::CheckPlaces(const CalledKernel& kernel, std::span<const kdl_dynamic_arg> given,
                         bool* is_on_device) const {
  const auto params = std::span(kernel.candidate.variant->params,
                                static_cast<std::size_t>(kernel.candidate.variant->param_count));
  const char* there = nullptr;
  const char* here = nullptr;
  for (std::size_t p = 0; p < std::min(given.size(), params.size()); ++p) {
    if (given[p].kind == KDL_DYNAMIC_DEVICE_TENSOR) there = params[p].name;
    const bool is_given = given[p].kind == KDL_DYNAMIC_TENSOR && given[p].value.tensor != nullptr;
    if (is_given) here = params[p].name;
  }
  *is_on_device = there != nullptr;
  if (there == nullptr) return nullptr;
  if (place_.device->works_in_host_memory())
    return Invalid("'", there, "' is in the memory of a device, but ",
                   kernel.candidate.kernel->name, " runs on ", place_.device->uri(),
                   "; pass a copy in the host's memory");
  if (here == nullptr) return nullptr;
  return Invalid("'", there, "' is in the memory of ", place_.device->uri(), ", but '", here,
                 "' is in the host's memory; copy one of them to the other's memory");
}

Error Calls::CallDynamic(std::int32_t first, std::int32_t count, const DynamicArguments& passed,
                         kdl_event** done, std::int32_t queue) const {
  const std::int64_t end = std::int64_t{first} + count;
  if (first < 0 || count < 1 || end > std::ssize(kernels_)) {
    return Invalid("call of one of ", count, " kernels from kernel ", first,
                   " of a handle that has ", kernels_.size());
  }
  bool is_on_device = false;
  KDL_RETURN_IF_ERROR(
      CheckPlaces(kernels_[static_cast<std::size_t>(first)], passed.given, &is_on_device));
  DynamicCall call;
  const auto kernels =
      std::span(kernels_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
  const CalledKernel* chosen = nullptr;
  KDL_RETURN_IF_ERROR(call.Choose(kernels, passed, &chosen));
  const DenseArguments arguments = call.arguments(passed.core_num);
  const bool is_direct = call.is_dense() && done == nullptr && queue == 0 && !is_on_device;
  for (std::int32_t k = 0; k < count && is_direct; ++k)
    if (chosen == &kernels[static_cast<std::size_t>(k)]) return Call(first + k, arguments);
  const FloatScope floats;
  CallPlace place = place_;
  if (is_on_device) place.owner = Wrap(place.device);
  if (queue != 0)
    KDL_RETURN_IF_ERROR(Error(kdl_device_queue(Wrap(place.device), queue, &place.queue)));
  std::unique_ptr<QueuedCall> queued;
  KDL_RETURN_IF_ERROR(QueuedCall::Make(place, *chosen, arguments,
                                       call.is_dense() ? nullptr : call.strides(), &queued));
  return done == nullptr ? queued->RunAndWait() : queued->Enqueue(nullptr, 0, done);
}

Error Calls::Bind(std::int32_t kernel, const DenseArguments& arguments,
                  std::unique_ptr<BoundCall>* bound) const {
  const CalledKernel* called = nullptr;
  KDL_RETURN_IF_ERROR(FindCalled(kernel, arguments, &called));
  auto made = std::make_unique<BoundCall>(bound_, scheduler_, called->candidate.kernel->name);
  KDL_RETURN_IF_ERROR(made->Bind(place_, *called, workspaces_, arguments));
  *bound = std::move(made);
  return nullptr;
}

}  // namespace kdl::runtime
