// The C interface: kernels called with pointers.
#include "core/api.h"
#include "core/calls.h"

using namespace kdl::runtime;

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
  if (kernels != nullptr && !Unwrap(kernels)->scheduler().in_child()) delete Unwrap(kernels);
}

kdl_error* kdl_kernels_call(const kdl_kernels* kernels, int32_t kernel, const int64_t* sizes,
                            const kdl_value* values) {
  KDL_RETURN_IF_UNUSABLE(kernels);
  return Guard(Unwrap(kernels)->scheduler(),
               [&] { return Unwrap(kernels)->Call(kernel, sizes, values); });
}

kdl_error* kdl_kernels_call_async(const kdl_kernels* kernels, int32_t kernel, const int64_t* sizes,
                                  const kdl_value* values, kdl_event* const* after,
                                  int32_t after_count, kdl_event** done) {
  KDL_RETURN_IF_UNUSABLE(kernels, done);
  return Guard(Unwrap(kernels)->scheduler(), [&] {
    return Unwrap(kernels)->CallAsync(kernel, sizes, values, after, after_count, done);
  });
}
