// Memory and threads that the application lends.
#include <atomic>
#include <cfenv>
#include <cstddef>
#include <cstdlib>
#include <thread>
#include <vector>

#include "conformance/conformance.h"
#include "conformance/kernels.h"

namespace kdl::conformance {
namespace {

// An application that counts what it lends.
struct Lender {
  std::atomic<std::int64_t> bytes = 0;  // now
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
  static void Run(void* user, std::int32_t workers, void (*work)(void*, std::int32_t),
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

  kdl_hooks Hooks() { return {sizeof(kdl_hooks), KDL_HOOKS_VERSION, this, Allocate, Release, Run}; }
};

TEST_CASE("Hooks: a device works in memory and on threads that are lent, and gives both back") {
  for (const auto& run : {Lender::Run, Lender::RunInTurn}) {
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
      CHECK(lender.runs > 2);  // once a barrier
      host.queue().Copy(away, x, "out").Wait();
      const auto there = Bench::Download<std::int64_t>(away);  // staged in lent memory
      CHECK(there.back() == kMany + 1);
      CHECK(lender.allocations >= 3);
    }
    CHECK(lender.bytes == 0);
  }
}

TEST_CASE("Hooks: threads that are lent compute in the default floating-point state") {
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
  for (const float sum : Bench::Download<float>(y)) REQUIRE(sum == 1.0f);  // a tie, to even
}

TEST_CASE(
    "Hooks: a function of the application's may change the floating-point state, but for itself "
    "alone") {
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
  // Here by who waits, there by a thread of the runtime.
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
  std::fesetround(FE_TONEAREST);  // of the x87, which nothing of ours computes with
}

TEST_CASE("Hooks: memory that the application has not is an error") {
  Lender lender;
  const Context context(lender.Hooks());
  const Device host = context.Select("host");
  lender.is_empty = true;
  std::string message;
  CHECK(CodeOf([&] { context.Allocate(host, f32, {16}, "x"); }, &message) ==
        KDL_ERROR_OUT_OF_MEMORY);
  CHECK(message == "allocation of 64 bytes on host: the system has no 64 bytes of memory left");
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

TEST_CASE("Hooks: tables of other sizes, and half of a pair") {
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
        "kdl_context_create_with: of allocate and release one is NULL; give both or none");
  hooks = lender.Hooks();
  hooks.size = offsetof(kdl_hooks, run);  // an older caller, who lends memory alone
  CHECK(refusal(hooks).empty());
  kdl_context_destroy(context);
}

}  // namespace
}  // namespace kdl::conformance
