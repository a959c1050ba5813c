// Calls of kernels through the TVM FFI.
#include "kdl/ffi.h"

#include <atomic>
#include <cstdio>
#include <string>
#include <string_view>

#include "api/api.h"
#include "api/calls.h"
#include "api/dynamic_call.h"
#include "api/ffi_arguments.h"
#include "core/dlpack.h"
#include "core/small_array.h"
#include "system/library.h"

using namespace kdl::runtime;

namespace {

constexpr std::size_t kUsualArguments = 8;

struct Arguments {
  SmallArray<kdl_tensor, kUsualArguments> views;
  SmallArray<kdl_dynamic_arg, kUsualArguments> given;
};

// Objects of the TVM FFI that callers may pass by mistake, by their type index.
struct ObjectKind {
  std::int32_t type;
  std::string_view words;
};
constexpr ObjectKind kObjectKinds[] = {{5, "a data type"}, {6, "a device"},
                                       {8, "a string"},    {11, "a string"},
                                       {12, "bytes"},      {65, "a string"},
                                       {66, "bytes"},      {68, "a function"},
                                       {69, "a shape"},    {71, "an array of objects"},
                                       {72, "a map"},      {74, "an object of Python"}};

std::string DescribeObject(std::int32_t type) {
  for (const ObjectKind& kind : kObjectKinds) {
    if (kind.type == type) return std::string(kind.words);
  }
  return Concat("an object of type index ", type);
}

Error AddArgument(const kdl_ffi_any& any, std::int32_t number, Arguments* arguments) {
  if (any.type == kFfiInteger || any.type == kFfiBool) {
    arguments->given.Add({KDL_DYNAMIC_INTEGER, 0, {.integer = any.value.integer}});
    return nullptr;
  }
  if (any.type == kFfiFloat) {
    arguments->given.Add({KDL_DYNAMIC_FLOAT, 0, {.number = any.value.number}});
    return nullptr;
  }
  if (any.type == kFfiNone) {
    arguments->given.Add({KDL_DYNAMIC_TENSOR, 0, {.tensor = nullptr}});
    return nullptr;
  }
  const dlpack::Tensor* tensor = TensorOf(any);
  if (tensor == nullptr) {
    return Invalid("argument ", number, " must be a number or a tensor, not ",
                   DescribeObject(any.type));
  }
  kdl_tensor& view = arguments->views.Add();
  if (dlpack::ViewOf(*tensor, "", &view) != nullptr)
    return dlpack::ViewOf(*tensor, Concat("argument ", number), &view);  // with its number
  arguments->given.Add({KDL_DYNAMIC_TENSOR, 0, {.tensor = &view}});
  return nullptr;
}

Error CallDynamic(const Calls& kernels, std::int32_t first, std::int32_t kernel_count,
                  const kdl_ffi_any* args, std::int32_t arg_count) {
  Arguments arguments;
  arguments.views.Reserve(static_cast<std::size_t>(arg_count));
  arguments.given.Reserve(static_cast<std::size_t>(arg_count));
  for (std::int32_t a = 0; a < arg_count; ++a)
    KDL_RETURN_IF_ERROR(AddArgument(args[a], a, &arguments));
  return kernels.CallDynamic(first, kernel_count,
                             {{arguments.given.data(), arguments.given.size()}}, nullptr);
}

// Returns the open kernels, and opens them if this process has not done so. If several threads open them at once, the
// handle of the first one is used. There is no lock, which a process that is forked meanwhile could not get.
Error OpenLibrary(kdl_ffi_library& library, kdl_kernels** kernels) {
  const std::atomic_ref<kdl_kernels*> shared(library.kernels);
  *kernels = shared.load(std::memory_order_acquire);
  if (*kernels != nullptr && !Unwrap(*kernels)->in_child()) return nullptr;
  kdl_kernels* opened = nullptr;
  KDL_RETURN_IF_ERROR(Error(kdl_kernels_open(nullptr, library.images, library.device, library.names,
                                             library.count, &opened)));
  if (shared.compare_exchange_strong(*kernels, opened, std::memory_order_acq_rel)) {
    *kernels = opened;
  } else {
    kdl_kernels_close(opened);
  }
  return nullptr;
}

// Calls the kernel that has been called last with these arguments. Returns false, without any effect, if there is none, or if the
// floating-point state is not the default. Kernels do not change that state, so it need not be read again.
bool CallAgain(kdl_ffi_library& library, std::int32_t first, std::int32_t kernel_count,
               const kdl_ffi_any* args, std::int32_t arg_count, Error* error) {
  const std::atomic_ref<kdl_kernels*> shared(library.kernels);
  kdl_kernels* const kernels = shared.load(std::memory_order_acquire);
  if (kernels == nullptr) return false;
  const Calls& calls = *Unwrap(kernels);
  if (calls.in_child() || !IsFloatDefault(FloatState())) return false;
  for (std::int32_t k = 0; k < kernel_count; ++k) {
    if (calls.CallAgain(first + k, args, arg_count, error)) return true;
  }
  return false;
}

// Calls one of the kernels after all checks.
Error CallChecked(kdl_ffi_library& library, std::int32_t first, std::int32_t kernel_count,
                  const kdl_ffi_any* args, std::int32_t arg_count) {
  kdl_kernels* kernels = nullptr;
  KDL_RETURN_IF_ERROR(OpenLibrary(library, &kernels));
  const Calls& calls = *Unwrap(kernels);
  const kdl_variant* only = kernel_count == 1 ? calls.FindVariant(first) : nullptr;
  FfiArguments usual;
  if (only != nullptr && usual.Take(*only, args, arg_count))
    return calls.Call(first, usual.dense());
  return CallDynamic(calls, first, kernel_count, args, arg_count);
}

// Raises an error with the function of the FFI's library, which has loaded this code.
void Raise(const kdl_error* error) {
  using Set = void (*)(const char* kind, const char* message);
  static const auto set = reinterpret_cast<Set>(SymbolOfProcess("TVMFFIErrorSetRaisedFromCStr"));
  const kdl_code code = kdl_error_code(error);
  const char* kind = code == KDL_ERROR_INVALID_ARGUMENT ? "ValueError"
                     : code == KDL_ERROR_OUT_OF_MEMORY  ? "MemoryError"
                                                        : "RuntimeError";
  if (set != nullptr) {
    set(kind, kdl_error_message(error));
  } else {
    std::fprintf(stderr, "%s: %s\n", kind, kdl_error_message(error));
  }
}

}  // namespace

int kdl_ffi_call(kdl_ffi_library* library, int32_t first, int32_t kernel_count,
                 const kdl_ffi_any* args, int32_t arg_count, kdl_ffi_any* result) {
  Error error;
  if (!CallAgain(*library, first, kernel_count, args, arg_count, &error)) {
    error.reset(Guard([&] { return CallChecked(*library, first, kernel_count, args, arg_count); }));
  }
  if (error == nullptr) {
    *result = {};
    return 0;
  }
  Raise(error.get());
  return -1;
}
