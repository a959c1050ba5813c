// A program whose allocations fail one by one. Included once in an executable that wraps malloc and
// aligned_alloc.
#pragma once

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <new>
#include <string>

#include "kdl/runtime.hpp"

namespace {

std::atomic<long> g_until_failure = -1;  // number of allocations before one fails; negative: none
std::atomic<bool> g_all_after = false;   // all later allocations fail, too
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

// The linker replaces the program's direct calls of malloc and aligned_alloc with calls of these functions.
extern "C" {
void* __real_malloc(std::size_t bytes);
void* __real_aligned_alloc(std::size_t alignment, std::size_t bytes);
void* __wrap_malloc(std::size_t bytes) { return Fails() ? nullptr : __real_malloc(bytes); }
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return Fails() ? nullptr : __real_aligned_alloc(alignment, bytes);
}
}

// Not inlined, because otherwise the compiler would report a mismatch with free.
__attribute__((noinline)) void* operator new(std::size_t bytes) {
  void* memory = Fails() ? nullptr : __real_malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return Fails() ? nullptr : __real_malloc(bytes == 0 ? 1 : bytes);
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace {

// While this object exists, no allocation fails.
class NoFailures {
 public:
  NoFailures() : until_(g_until_failure.exchange(-1)) {}
  ~NoFailures() { g_until_failure = until_; }
  NoFailures(const NoFailures&) = delete;
  NoFailures& operator=(const NoFailures&) = delete;

 private:
  long until_;
};

// The environment of a program. `prepare` registers the kind of device and the kernel "double", which doubles
// an f32[N].
struct Machine {
  const char* spec;
  std::function<kdl_error*(kdl_context*)> prepare;
};

// The code of the first error, and one element of the result.
struct Outcome {
  kdl_code code = KDL_OK;
  float result = 0;
};

// A program in C. After an error it enqueues nothing more, but waits for the operations that it has enqueued.
class CProgram {
 public:
  explicit CProgram(const Machine& machine) : machine_(machine) {}

  Outcome RunAndWait() {
    kdl_context* context = nullptr;
    if (Passes(kdl_context_create(&context))) {
      if (Passes(machine_.prepare(context))) UseDevice(context);
    }
    kdl_context_destroy(context);
    return {first_, result_};
  }

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
    if (!Passes(kdl_select_device(context, machine_.spec, &device)) ||
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
    if (first_ == KDL_OK) UsePointers(context);
  }

  void UsePointers(kdl_context* context) {
    const kdl_image* const none[] = {nullptr};
    const char* const name = "double";
    kdl_kernels* kernels = nullptr;
    kdl_event* done = nullptr;
    float x[64] = {0.25f};
    const std::int64_t sizes[] = {64};
    kdl_value value = {};
    value.data = x;
    if (Passes(kdl_kernels_open(context, none, machine_.spec, &name, 1, &kernels)) &&
        Passes(kdl_kernels_call(kernels, 0, sizes, &value)) &&
        Passes(kdl_kernels_call_async(kernels, 0, sizes, &value, nullptr, 0, &done)) &&
        Passes(kdl_event_wait(done, -1))) {
      result_ *= x[0];
    }
    kdl_event_free(done);
    kdl_kernels_close(kernels);
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
      result_ = *static_cast<float*>(data);
      Passes(kdl_buffer_unmap(y.buffer));
    }
    kdl_event_free(filled);
    kdl_event_free(launched);
    kdl_event_free(copied);
  }

  const Machine& machine_;
  kdl_code first_ = KDL_OK;
  float result_ = 0;
};

// The same program in C++, where an exception ends it.
Outcome RunCpp(const Machine& machine) {
  try {
    const kdl::Context context;
    kdl::Check(machine.prepare(context.get()));
    const kdl::Device device = context.Select(machine.spec);
    const kdl::Queue queue = device.queue(0);
    const kdl::Queue other = device.queue(1);
    const kdl::Tensor x = context.Allocate(device, kdl::f32, {64}, "x");
    const kdl::Tensor y = context.Allocate(device, kdl::f32, {64}, "y");
    const kdl::Event filled = queue.Fill(x, 1.0f);
    const kdl::Event launched = other.Launch("double", 1, {x}, {filled});
    const kdl::Event copied = queue.Copy(y, x, "result", {launched});
    queue.Call([] {});
    other.Run("double", 1, {x}, {copied});
    queue.Wait();
    const auto mapping = y.Map<const float>(KDL_MAP_READ);
    return {KDL_OK, mapping[0]};
  } catch (const kdl::Error& error) {
    return {error.code(), 0};
  } catch (const std::bad_alloc&) {
    return {KDL_ERROR_OUT_OF_MEMORY, 0};
  }
}

#ifdef KDL_SANITIZED
constexpr long kOneIn = 3;  // tests every third allocation, from one that depends on the day
#else
constexpr long kOneIn = 1;
#endif

// Makes each allocation of `run` fail in turn: by itself, or together with all later allocations. With
// sanitizers, only some allocations fail.
template <class Run>
void FailEachAllocation(const Machine& machine, const char* language, bool all_after, Run run) {
  constexpr long kSecondsPerDay = 86400;
  for (long point = std::time(nullptr) / kSecondsPerDay % kOneIn;; point += kOneIn) {
    g_all_after = all_after;
    g_has_failed = false;
    g_until_failure = point;
    const Outcome outcome = run();
    g_until_failure = -1;
    const bool has_failed = g_has_failed;
    // Some failures have no effect, such as that of an additional thread, or of a list that can grow later.
    const bool is_right = outcome.code == KDL_OK
                              ? outcome.result == 2.0f
                              : has_failed && outcome.code == KDL_ERROR_OUT_OF_MEMORY;
    if (!is_right) {
      FAIL_CHECK("allocation " << point << " in " << std::string(language) << " on "
                               << std::string(machine.spec) << ": code " << outcome.code);
    }
    if (has_failed) continue;
    CHECK(point > 50);
    return;
  }
}

void FailEachAllocation(const Machine& machine) {
  for (const bool all_after : {false, true}) {
    FailEachAllocation(machine, "C", all_after, [&] { return CProgram(machine).RunAndWait(); });
    FailEachAllocation(machine, "C++", all_after, [&] { return RunCpp(machine); });
  }
}

}  // namespace
