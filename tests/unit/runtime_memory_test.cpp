// Each allocation of a program fails in turn: every call gives an error of the right code or works, and all ends.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>

#include "kdl/runtime.h"

namespace {

std::atomic<long> g_until_failure = -1;  // allocations that succeed before; negative: all do
std::atomic<bool> g_all_after = false;   // all that come after it fail too
std::atomic<bool> g_has_failed = false;

bool Fails() {
  const long left = g_until_failure.load();
  if (left < 0) return false;
  if (left > 0) {
    --g_until_failure;
    return false;
  }
  if (!g_all_after && g_has_failed) return false;
  g_has_failed = true;
  return true;
}

}  // namespace

// Linked in the place of malloc and aligned_alloc, where the program calls them itself.
extern "C" {
void* __real_malloc(std::size_t bytes);
void* __real_aligned_alloc(std::size_t alignment, std::size_t bytes);
void* __wrap_malloc(std::size_t bytes) { return Fails() ? nullptr : __real_malloc(bytes); }
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return Fails() ? nullptr : __real_aligned_alloc(alignment, bytes);
}
}

void* operator new(std::size_t bytes) {
  void* memory = Fails() ? nullptr : __real_malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return Fails() ? nullptr : __real_malloc(bytes == 0 ? 1 : bytes);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

std::int32_t Double(const kdl_args* args, kdl_core*) {
  auto* x = static_cast<float*>(args->tensors[0].data);
  for (std::int64_t i = 0; i < args->dims[0]; ++i) x[i] *= 2;
  return KDL_DONE;
}

constexpr kdl_param_desc kParams[] = {{"x", "[N]", 1, KDL_INOUT, KDL_F32, 0, 1, {0}, {}}};
constexpr const char* kDims[] = {"N"};
constexpr kdl_variant kVariant = [] {
  kdl_variant variant = {};
  variant.entry = Double;
  variant.symbol = "double";
  variant.constants = "";
  variant.params = kParams;
  variant.dims = kDims;
  variant.param_count = 1;
  variant.dim_count = 1;
  return variant;
}();
constexpr kdl_kernel kKernel = {"double", &kVariant, 1, 0};
#if defined(__aarch64__)
constexpr const char* kArch = "aarch64";
#else
constexpr const char* kArch = "x86-64";
#endif
const kdl_image kImage = {sizeof(kdl_image),
                          KDL_ABI_VERSION,
                          KDL_ABI_HASH,
                          "memory",
                          "host",
                          kArch,
                          &kKernel,
                          nullptr,
                          0,
                          1,
                          0};

// A C program, which gives no more operations after an error, but waits for those that it gave.
class Program {
 public:
  explicit Program(const char* spec) : spec_(spec) {}

  // The first error's code.
  kdl_code Run() {
    kdl_context* context = nullptr;
    if (Passes(kdl_context_create(&context))) {
      if (Passes(kdl_context_register(context, &kImage))) UseDevice(context);
    }
    kdl_context_destroy(context);
    return first_;
  }

  float result = 0;

 private:
  bool Passes(kdl_error* error) {
    const kdl_code code = kdl_error_code(error);
    kdl_error_free(error);
    if (code != KDL_OK && first_ == KDL_OK) first_ = code;
    return code == KDL_OK;
  }

  void UseDevice(kdl_context* context) {
    kdl_device* device = nullptr;
    kdl_queue* queue = nullptr;
    kdl_queue* other = nullptr;
    const kdl_function* function = nullptr;
    if (!Passes(kdl_select_device(context, spec_, &device)) ||
        !Passes(kdl_device_queue(device, 0, &queue)) ||
        !Passes(kdl_device_queue(device, 1, &other)) ||
        !Passes(kdl_context_find_kernel(context, "double", &function))) {
      return;
    }
    const std::int64_t sizes[] = {64};
    kdl_array x = {};
    kdl_array y = {};
    if (Passes(kdl_array_allocate(device, KDL_F32, 1, sizes, "x", &x)) &&
        Passes(kdl_array_allocate(device, KDL_F32, 1, sizes, "y", &y))) {
      UseQueues(queue, other, function, x, y);
    }
    kdl_array_free(&x);
    kdl_array_free(&y);
  }

  void UseQueues(kdl_queue* queue, kdl_queue* other, const kdl_function* function,
                 const kdl_array& x, const kdl_array& y) {
    const kdl_arg arg = {&x, 0, 0, {}};
    kdl_event* filled = nullptr;
    kdl_event* launched = nullptr;
    kdl_event* copied = nullptr;
    bool all =
        Passes(kdl_fill(queue, &x, 0x3f800000, nullptr, 0, &filled)) &&
        Passes(kdl_launch_kernel(other, function, 1, &arg, 1, nullptr, &filled, 1, &launched)) &&
        Passes(kdl_copy(queue, &y, &x, "result", &launched, 1, &copied)) &&
        Passes(kdl_host_call(
            queue, [](void*) -> kdl_error* { return nullptr; }, nullptr, nullptr, nullptr, 0,
            nullptr)) &&
        Passes(kdl_run_kernel(other, function, 1, &arg, 1, nullptr, &copied, 1));
    all &= Passes(kdl_event_wait(launched, -1));
    all &= Passes(kdl_queue_wait(queue));
    all &= Passes(kdl_queue_wait(other));
    void* data = nullptr;
    if (all && Passes(kdl_buffer_map(y.buffer, KDL_MAP_READ, &data))) {
      result = *static_cast<float*>(data);
      Passes(kdl_buffer_unmap(y.buffer));
    }
    kdl_event_free(filled);
    kdl_event_free(launched);
    kdl_event_free(copied);
  }

  const char* spec_;
  kdl_code first_ = KDL_OK;
};

TEST_CASE("memory: every allocation fails in turn, alone and with all that follow") {
  for (const char* spec : {"host?threads=2", "debug"}) {
    for (const bool all_after : {false, true}) {
      long point = 0;
      for (;; ++point) {
        Program program(spec);
        g_all_after = all_after;
        g_has_failed = false;
        g_until_failure = point;
        const kdl_code code = program.Run();
        g_until_failure = -1;
        if (!g_has_failed) {
          CHECK(code == KDL_OK);
          CHECK(program.result == 2.0f);
          break;
        }
        // Some failures are made up for: a thread more that is not there, a list that grows later.
        if (code != KDL_OK && code != KDL_ERROR_OUT_OF_MEMORY) {
          FAIL_CHECK("allocation " << point << " on " << std::string(spec) << ": code " << code);
        }
        if (code == KDL_OK && program.result != 2.0f) FAIL_CHECK("allocation " << point);
      }
      CHECK(point > 50);
    }
  }
}

TEST_CASE("fork: a child gets a clear error, frees, and makes a context of its own") {
  kdl_context* context = nullptr;
  kdl_device* device = nullptr;
  kdl_queue* queue = nullptr;
  REQUIRE(kdl_context_create(&context) == nullptr);
  REQUIRE(kdl_select_device(context, "host?threads=2", &device) == nullptr);
  REQUIRE(kdl_device_queue(device, 0, &queue) == nullptr);
  kdl_buffer* buffer = nullptr;
  REQUIRE(kdl_buffer_allocate(device, 64, "x", &buffer) == nullptr);
  REQUIRE(kdl_host_call(queue, nullptr, nullptr, nullptr, nullptr, 0, nullptr) == nullptr);
  REQUIRE(kdl_queue_wait(queue) == nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const auto refuses = [](kdl_error* error) {
      const bool right = kdl_error_code(error) == KDL_ERROR_UNSUPPORTED;
      kdl_error_free(error);
      return right;
    };
    int wrong = 0;
    wrong += refuses(kdl_host_call(queue, nullptr, nullptr, nullptr, nullptr, 0, nullptr)) ? 0 : 1;
    wrong += refuses(kdl_queue_wait(queue)) ? 0 : 1;
    wrong += refuses(kdl_select_device(context, "debug", &device)) ? 0 : 1;
    kdl_buffer_free(buffer);
    kdl_context_destroy(context);
    kdl_context* own = nullptr;
    wrong += kdl_context_create(&own) == nullptr ? 0 : 1;
    wrong += kdl_select_device(own, "host?threads=1", &device) == nullptr ? 0 : 1;
    kdl_context_destroy(own);
    _exit(wrong);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  kdl_buffer_free(buffer);
  kdl_context_destroy(context);
}

}  // namespace
