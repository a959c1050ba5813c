// Tests memory and threads that the application provides.
#include <atomic>
#include <cfenv>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "conformance/conformance.h"
#include "conformance/kernels.h"

namespace kdl::conformance {
namespace {

// An application that provides memory and threads, and counts them.
struct Lender {
  std::atomic<std::int64_t> bytes = 0;  // in use now
  std::atomic<std::int64_t> allocations = 0;
  std::atomic<std::int64_t> runs = 0;
  std::atomic<bool> is_empty = false;

  static void* Allocate(void* user, std::size_t bytes, std::size_t alignment) {
    auto& self = *static_cast<Lender*>(user);
    if (self.is_empty) return nullptr;
    self.bytes += static_cast<std::int64_t>(bytes);
    ++self.allocations;
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  static void Release(void* user, void* memory, std::size_t bytes) {
    static_cast<Lender*>(user)->bytes -= static_cast<std::int64_t>(bytes);
    std::free(memory);
  }
  static void RunOnThreads(void* user, std::int32_t workers, void (*work)(void*, std::int32_t),
                           void* argument) {
    ++static_cast<Lender*>(user)->runs;
    std::vector<std::thread> threads;
    for (std::int32_t n = 1; n < workers; ++n) threads.emplace_back(work, argument, n);
    work(argument, 0);
    for (std::thread& thread : threads) thread.join();
  }
  static void RunInTurn(void* user, std::int32_t workers, void (*work)(void*, std::int32_t),
                        void* argument) {
    ++static_cast<Lender*>(user)->runs;
    for (std::int32_t n = workers; n-- > 0;) work(argument, n);
  }

  kdl_hooks Hooks() {
    return {sizeof(kdl_hooks), KDL_HOOKS_VERSION, this, Allocate, Release, RunOnThreads};
  }
};

TEST_CASE("Hooks: a device uses memory and threads of the application, and returns both") {
  for (const auto& run : {Lender::RunOnThreads, Lender::RunInTurn}) {
    Lender lender;
    {
      kdl_hooks hooks = lender.Hooks();
      hooks.run = run;
      Context context(hooks);
      context.Register(kImages);
      const Device host = context.Select("host?threads=3");
      const Device debug = context.Select("debug");
      constexpr std::int64_t kMany = 100'000;
      const Tensor x = context.Allocate(host, i64, {kMany}, "x");
      const Tensor away = context.Allocate(debug, i64, {kMany}, "away");
      host.queue().Fill(x, std::int64_t{1}).Wait();
      CHECK(lender.bytes >= kMany * 8);
      host.queue().Run("mark", kMany, {x});
      CHECK(lender.runs == 1);
      const Tensor y = context.Allocate(host, i64, {kMany}, "y");
      const Tensor z = context.Allocate(host, i64, {kMany}, "z");
      host.queue().Launch("exchange", 7, {y, z}).Wait();
      CHECK(lender.runs > 2);  // the barrier divides the launch into several runs
      host.queue().Copy(away, x, "out").Wait();
      const auto there = Bench::Download<std::int64_t>(away);  // copied through application memory
      CHECK(there.back() == kMany + 1);
      CHECK(lender.allocations >= 3);
    }
    CHECK(lender.bytes == 0);
  }
}

TEST_CASE("Hooks: threads of the application compute in the default floating-point state") {
  Lender lender;
  kdl_hooks hooks = lender.Hooks();
  hooks.run = [](void* user, std::int32_t workers, void (*work)(void*, std::int32_t),
                 void* argument) {
    std::thread([&] {
      const int before = std::fegetround();
      std::fesetround(FE_UPWARD);
      Lender::RunInTurn(user, workers, work, argument);
      CHECK(std::fegetround() == FE_UPWARD);
      std::fesetround(before);
    }).join();
  };
  Context context(hooks);
  context.Register(kImages);
  const Device host = context.Select("host?threads=3");
  constexpr std::int64_t kMany = 100'000;
  const Tensor x = context.Allocate(host, f32, {kMany}, "x");
  const Tensor y = context.Allocate(host, f32, {kMany}, "y");
  host.queue().Fill(x, 1.0f).Wait();
  host.queue().Fill(y, 0x1p-24f).Wait();
  host.queue().Run("saxpy", 9, {1.0f, x, y});
  CHECK(lender.runs == 1);
  for (const float sum : Bench::Download<float>(y)) REQUIRE(sum == 1.0f);  // ties round to even
}

// Returns the error of a launch, or of an allocation for it.
std::string FailureWith(const kdl_hooks& hooks) {
  Context context(hooks);
  context.Register(kImages);
  const Device host = context.Select("host?threads=3");
  try {
    const Tensor x = context.Allocate(host, f32, {100'000}, "x");
    const Tensor y = context.Allocate(host, f32, {100'000}, "y");
    host.queue().Fill(x, 1.0f).Wait();
    host.queue().Fill(y, 1.0f).Wait();
    host.queue().Run("saxpy", 9, {1.0f, x, y});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("Hooks: threads that leave out a part of the work are an error") {
  const std::string message =
      "kdl_hooks.run must call `work` once for each n from 0 to 2 before it returns";
  using Run = decltype(kdl_hooks::run);
  const Run none = [](void*, std::int32_t, void (*)(void*, std::int32_t), void*) {};
  const Run first = [](void*, std::int32_t, void (*work)(void*, std::int32_t), void* argument) {
    work(argument, 0);
  };
  const Run beyond = [](void*, std::int32_t workers, void (*work)(void*, std::int32_t),
                        void* argument) {
    for (std::int32_t n = 1; n <= workers; ++n) work(argument, n);
  };
  for (const Run run : {none, first, beyond}) {
    Lender lender;
    kdl_hooks hooks = lender.Hooks();
    hooks.run = run;
    CHECK(FailureWith(hooks).find(message) != std::string::npos);
  }
}

TEST_CASE("Hooks: memory that is not aligned is an error, and is released") {
  static int lent = 0;
  kdl_hooks hooks = {sizeof(kdl_hooks), KDL_HOOKS_VERSION, nullptr, nullptr, nullptr, nullptr};
  hooks.allocate = [](void*, std::size_t bytes, std::size_t) -> void* {
    ++lent;
    return static_cast<char*>(::operator new(bytes + 64, std::align_val_t{64})) + 4;
  };
  hooks.release = [](void*, void* memory, std::size_t) {
    --lent;
    ::operator delete(static_cast<char*>(memory) - 4, std::align_val_t{64});
  };
  CHECK(FailureWith(hooks).find(
            "kdl_hooks.allocate returned memory that is not aligned to 64 bytes") !=
        std::string::npos);
  CHECK(lent == 0);
}

TEST_CASE("Hooks: a hook may change the floating-point state, but only for itself") {
  Context context;
  context.Register(kImages);
  const Device host = context.Select("host?threads=1");
  const Tensor x = context.Allocate(host, f32, {1}, "x");
  const Tensor y = context.Allocate(host, f32, {1}, "y");
  host.queue().Fill(x, 1.0f).Wait();
  const auto change = [](void*) -> kdl_error* {
    std::fesetround(FE_UPWARD);
    return nullptr;
  };
  // With the first timeout, the waiting thread runs the call; with the second, a thread of the runtime runs
  // it.
  for (const std::int64_t timeout : {std::int64_t{-1}, std::int64_t{1'000'000'000}}) {
    host.queue().Fill(y, 0x1p-24f).Wait();
    kdl_event* changed = nullptr;
    Check(kdl_host_call(host.queue().get(), change, nullptr, nullptr, nullptr, 0, &changed));
    const Event last = host.queue().Launch("saxpy", 1, {1.0f, x, y});
    while (kdl_event_is_done(changed) == 0) Check(kdl_event_wait(changed, timeout));
    kdl_event_free(changed);
    last.Wait();
    volatile float tie = 1.0f;
    tie = tie + 0x1p-24f;
    CHECK(tie == 1.0f);
    CHECK(Bench::Download<float>(y)[0] == 1.0f);
  }
  std::fesetround(FE_TONEAREST);  // also sets the x87, which our code does not use
}

// A kind of device with its own memory. It records which functions were called in a floating-point state
// other than the default.
class FloatWatcher {
 public:
  FloatWatcher() {
    memory_.size = sizeof memory_;
    memory_.version = KDL_PLUGIN_VERSION;
    memory_.allocate = [](void* self, std::int64_t bytes, const char*, kdl_memory* memory) {
      Note(self, "allocate");
      *memory = {std::aligned_alloc(64, static_cast<std::size_t>((bytes + 63) / 64 * 64)), 0};
      return static_cast<kdl_error*>(nullptr);
    };
    memory_.release = [](void* self, kdl_memory memory) {
      Note(self, "release");
      std::free(memory.handle);
    };
    memory_.write = [](void*, kdl_memory, const void*, const kdl_region*, kdl_completion) {};
    memory_.read = [](void*, void*, kdl_memory, const kdl_region*, kdl_completion) {};
    memory_.copy = [](void*, kdl_memory, kdl_memory, const kdl_region*, kdl_completion) {};
    memory_.fill = [](void*, kdl_memory, const kdl_region*, std::uint64_t, std::int32_t,
                      kdl_completion) {};
    ops_.size = sizeof ops_;
    ops_.version = KDL_PLUGIN_VERSION;
    ops_.kind = "watcher";
    ops_.memory = &memory_;
    ops_.open = [](void* self, std::int64_t, const kdl_option*, std::int32_t, void** device) {
      Note(self, "open");
      *device = self;
      return static_cast<kdl_error*>(nullptr);
    };
    ops_.close = [](void* self) { Note(self, "close"); };
    ops_.facts = [](void* self, kdl_device_facts* facts) {
      Note(self, "facts");
      facts->cores = 1;
    };
    ops_.launch = [](void*, const kdl_launch_request*, kdl_completion) {};
    ops_.counts = [](void* self, kdl_count*, std::int64_t) {
      Note(self, "counts");
      return std::int64_t{1};
    };
    ops_.properties = [](void* self, kdl_property*, std::int64_t) {
      Note(self, "properties");
      return std::int64_t{1};
    };
  }
  FloatWatcher(const FloatWatcher&) = delete;
  FloatWatcher& operator=(const FloatWatcher&) = delete;

  static bool IsUpward() {
    volatile float sum = 1.0f;
    sum = sum + 0x1p-30f;
    return sum != 1.0f;
  }

  const kdl_device_ops& ops() const { return ops_; }
  const std::vector<std::string>& called() const { return called_; }
  const std::vector<std::string>& wrong() const { return wrong_; }

 private:
  static void Note(void* self, const char* function) {
    auto& watcher = *static_cast<FloatWatcher*>(self);
    watcher.called_.emplace_back(function);
    if (IsUpward()) watcher.wrong_.emplace_back(function);
  }

  kdl_memory_ops memory_ = {};
  kdl_device_ops ops_ = {};
  std::vector<std::string> called_;
  std::vector<std::string> wrong_;
};

TEST_CASE(
    "Hooks: functions that free or query objects run in the default floating-point state, too") {
  FloatWatcher watcher;
  std::fesetround(FE_UPWARD);
  kdl_context* context = nullptr;
  kdl_device* device = nullptr;
  kdl_buffer* buffer = nullptr;
  kdl_array array = {};
  kdl_count count = {};
  kdl_property property = {};
  const std::int64_t size = 3;
  std::vector<kdl_error*> errors = {
      kdl_context_create(&context),
      kdl_context_add_device_kind(context, &watcher.ops(), &watcher),
      kdl_select_device(context, "watcher", &device),
      kdl_buffer_allocate(device, 10, "x", &buffer),
      kdl_array_allocate(device, f32, 1, &size, "y", &array),
  };
  const std::int64_t counts = kdl_device_get_counts(device, &count, 1);
  const std::int64_t properties = kdl_device_get_properties(device, &property, 1);
  kdl_buffer_free(buffer);
  kdl_array_free(&array);
  kdl_context_destroy(context);
  const bool keeps_state = FloatWatcher::IsUpward();
  std::fesetround(FE_TONEAREST);
  CHECK(keeps_state);
  for (const kdl_error* error : errors) CHECK(error == nullptr);
  CHECK(counts + properties == 2);
  CHECK(watcher.called() == std::vector<std::string>{"open", "facts", "allocate", "allocate",
                                                     "counts", "properties", "release", "release",
                                                     "close"});
  CHECK(watcher.wrong() == std::vector<std::string>());
}

TEST_CASE("Hooks: memory that the application cannot provide is an error") {
  Lender lender;
  const Context context(lender.Hooks());
  const Device host = context.Select("host");
  lender.is_empty = true;
  std::string message;
  CHECK(CodeOf([&] { context.Allocate(host, f32, {16}, "x"); }, &message) ==
        KDL_ERROR_OUT_OF_MEMORY);
  CHECK(message == "allocation of 64 bytes on host: not enough memory for 64 bytes");
  lender.is_empty = false;
  context.Allocate(host, f32, {16}, "x");
}

TEST_CASE("Hooks: a buffer may outlive its context") {
  Lender lender;
  kdl_buffer* buffer = nullptr;
  {
    const Context context(lender.Hooks());
    Check(kdl_buffer_allocate(context.Select("host").get(), 100, "x", &buffer));
  }
  CHECK(lender.bytes == 100);
  kdl_buffer_free(buffer);
  CHECK(lender.bytes == 0);
}

TEST_CASE("Hooks: tables of other sizes, and tables with only one hook of a pair") {
  Lender lender;
  kdl_context* context = nullptr;
  const auto refusal = [&](const kdl_hooks& hooks) {
    kdl_error* error = kdl_context_create_with(&hooks, &context);
    const std::string message = kdl_error_message(error);
    kdl_error_free(error);
    return message;
  };
  kdl_hooks hooks = lender.Hooks();
  hooks.size = 0;
  CHECK(refusal(hooks) == "kdl_context_create_with: hooks->size is 0; set it to sizeof(kdl_hooks)");
  hooks = lender.Hooks();
  hooks.version = 7;
  CHECK(refusal(hooks) ==
        "kdl_context_create_with: hooks->version is 7; set it to KDL_HOOKS_VERSION, 1");
  hooks = lender.Hooks();
  hooks.release = nullptr;
  CHECK(refusal(hooks) ==
        "kdl_context_create_with: one of allocate and release is NULL; give both or neither");
  hooks = lender.Hooks();
  hooks.size = offsetof(kdl_hooks, run);  // an older caller, which only provides memory
  CHECK(refusal(hooks).empty());
  kdl_context_destroy(context);
}

}  // namespace
}  // namespace kdl::conformance
