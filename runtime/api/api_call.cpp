// The part of the C interface that calls kernels with plain pointers to data.
#include "api/api.h"
#include "api/bound_call.h"
#include "api/calls.h"
#include "api/dynamic_call.h"

using namespace kdl::runtime;

namespace {

// Like Guard in api.h, but first checks that the handle is valid and that its context was not created before a
// fork. The called function need not check this again. `what` describes a handle that is NULL.
template <class Floats = FloatScope, class Kernels, class Call>
kdl_error* GuardCall(const Kernels* kernels, const char* what, Call call) noexcept {
  return Guard<Floats>([&]() -> Error {
    if (kernels == nullptr) return Invalid("call of ", what, ": NULL");
    if (!IsOurs(kernels)) return Invalid("call of kernels: the handle", kForeign);
    if (Unwrap(kernels)->in_child()) {
      return Fail(KDL_ERROR_UNSUPPORTED,
                  "call of kernels that were opened by the process from which this one was forked; "
                  "open them here");
    }
    return call();
  });
}

constexpr const char* kNotOpen = "kernels that are not open";

}  // namespace

kdl_error* kdl_kernels_open(kdl_context* context, const kdl_image* const* images,
                            const char* device, const char* const* names, int32_t count,
                            kdl_kernels** kernels) {
  KDL_RETURN_IF_UNUSABLE(images, device, kernels);
  if (context != nullptr) KDL_RETURN_IF_UNUSABLE(context);
  return Guard([&]() -> Error {
    if (count < 0 || (names == nullptr && count > 0)) {
      return Invalid("kdl_kernels_open: count is ", count,
                     names == nullptr ? " without names" : "");
    }
    std::unique_ptr<Calls> calls;
    KDL_RETURN_IF_ERROR(
        Calls::Open(context, images, device, {names, static_cast<std::size_t>(count)}, &calls));
    *kernels = Wrap(calls.release());
    return nullptr;
  });
}

void kdl_kernels_close(kdl_kernels* kernels) {
  GuardQuiet([&] {
    if (kernels != nullptr && !Unwrap(kernels)->in_child()) delete Unwrap(kernels);
  });
}

kdl_device* kdl_kernels_device(const kdl_kernels* kernels) {
  return kernels == nullptr ? nullptr : Wrap(&Unwrap(kernels)->device());
}

kdl_error* kdl_kernels_call(const kdl_kernels* kernels, int32_t kernel, const int64_t* sizes,
                            const kdl_value* values) {
  return GuardCall<FloatEntry>(kernels, kNotOpen,
                               [&] { return Unwrap(kernels)->Call(kernel, {sizes, values}); });
}

kdl_error* kdl_kernels_call_async(const kdl_kernels* kernels, int32_t kernel, const int64_t* sizes,
                                  const kdl_value* values, kdl_event* const* after,
                                  int32_t after_count, kdl_event** done) {
  return GuardCall(kernels, kNotOpen, [&]() -> Error {
    if (done == nullptr) return Invalid("kdl_kernels_call_async: done is NULL");
    return Unwrap(kernels)->CallAsync(kernel, {sizes, values}, after, after_count, done);
  });
}

kdl_error* kdl_kernels_call_dynamic(const kdl_kernels* kernels, int32_t first, int32_t count,
                                    int64_t core_num, const kdl_dynamic_arg* args,
                                    int32_t arg_count, kdl_event** done) {
  return GuardCall<FloatEntry>(kernels, kNotOpen, [&]() -> Error {
    if (arg_count < 0 || (args == nullptr && arg_count > 0)) {
      return Invalid("kdl_kernels_call_dynamic: arg_count is ", arg_count,
                     args == nullptr ? ", but args is NULL" : "");
    }
    return Unwrap(kernels)->CallDynamic(
        first, count, {{args, static_cast<std::size_t>(arg_count)}, core_num}, done);
  });
}

kdl_error* kdl::runtime::EnqueueDynamic(const kdl_kernels* kernels, std::int32_t first,
                                        std::int32_t count, const DynamicArguments& arguments,
                                        std::int32_t queue, kdl_event** done) {
  return GuardCall(kernels, kNotOpen, [&] {
    return Unwrap(kernels)->CallDynamic(first, count, arguments, done, queue);
  });
}

kdl_error* kdl_kernels_bind(const kdl_kernels* kernels, int32_t kernel, const int64_t* sizes,
                            const kdl_value* values, kdl_bound_call** bound) {
  return GuardCall(kernels, kNotOpen, [&]() -> Error {
    if (bound == nullptr) return Invalid("kdl_kernels_bind: bound is NULL");
    std::unique_ptr<BoundCall> made;
    KDL_RETURN_IF_ERROR(Unwrap(kernels)->Bind(kernel, {sizes, values}, &made));
    *bound = Wrap(made.release());
    return nullptr;
  });
}

kdl_error* kdl_bound_call_run(kdl_bound_call* bound) {
  return GuardCall<FloatEntry>(bound, "a kernel that is not bound",
                               [&] { return Unwrap(bound)->RunKernel(); });
}

void kdl_bound_call_free(kdl_bound_call* bound) {
  GuardQuiet([&] {
    if (bound != nullptr && !Unwrap(bound)->in_child()) delete Unwrap(bound);
  });
}
