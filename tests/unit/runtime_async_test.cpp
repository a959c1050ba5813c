// Tests launches that return at once: which thread runs them, how they are cancelled, and what it costs to
// run a launch on the caller's thread.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <thread>

#include "kdl/kernel_abi.h"
#include "kdl/runtime.hpp"

namespace kdl {
namespace {

// The state of `kMbarrierImage`'s kernel, which signals that it has started and waits until it may end.
struct Mbarrier {
  std::atomic<bool> begun = false;
  std::atomic<bool> open = false;
  std::atomic<std::thread::id> thread;
};
Mbarrier* g_mbarrier = nullptr;

std::int32_t WaitAtMbarrier(const kdl_args*, kdl_core* core) {
  g_mbarrier->thread = std::this_thread::get_id();
  g_mbarrier->begun = true;
  while (!g_mbarrier->open) {
    if (std::atomic_ref(core->launch->stop).load() != 0) return KDL_TRAPPED;
    std::this_thread::yield();
  }
  return KDL_DONE;
}

std::int32_t Nothing(const kdl_args*, kdl_core*) { return KDL_DONE; }

constexpr kdl_param_desc kParams[] = {{"x", "[N]", 1, KDL_INOUT, KDL_F32, 0, 1, {0}, {}}};
constexpr const char* kDims[] = {"N"};

constexpr kdl_variant VariantOf(kdl_kernel_fn entry, const char* symbol) {
  kdl_variant variant = {};
  variant.entry = entry;
  variant.symbol = symbol;
  variant.constants = "";
  variant.params = kParams;
  variant.dims = kDims;
  variant.param_count = 1;
  variant.dim_count = 1;
  return variant;
}
constexpr kdl_variant kMbarrierVariant = VariantOf(WaitAtMbarrier, "gate");
constexpr kdl_variant kNothingVariant = VariantOf(Nothing, "nothing");
constexpr kdl_kernel kMbarrierKernels[] = {{"gate", &kMbarrierVariant, 1, 0},
                                           {"nothing", &kNothingVariant, 1, 0}};
#if defined(__aarch64__)
constexpr const char* kArch = "aarch64";
#else
constexpr const char* kArch = "x86-64";
#endif
const kdl_image kMbarrierImage = {sizeof(kdl_image),
                                  KDL_ABI_VERSION,
                                  KDL_ABI_HASH,
                                  "async",
                                  "the test",
                                  "host",
                                  kArch,
                                  kMbarrierKernels,
                                  nullptr,
                                  0,
                                  2,
                                  0};
const kdl_image* const kMbarrierImages[] = {&kMbarrierImage, nullptr};

struct MbarrierSetup {
  explicit MbarrierSetup(const char* spec) : device(context.Select(spec)), queue(device.queue()) {
    context.Register(kMbarrierImages);
    x = context.Allocate(device, f32, {4}, "x");
    g_mbarrier = &mbarrier;
  }
  ~MbarrierSetup() { mbarrier.open = true; }

  void AwaitBegin() const {
    while (!mbarrier.begun) std::this_thread::yield();
  }
  kdl_error* RunKernel(const char* kernel) const {
    const kdl_function* function = nullptr;
    Check(kdl_context_find_kernel(context.get(), kernel, &function));
    const kdl_arg arg = {&x.array(), 0, 0, {}};
    return kdl_run_kernel(queue.get(), function, 1, &arg, 1, nullptr, nullptr, 0);
  }

  Mbarrier mbarrier;
  Context context;
  Device device;
  Queue queue;
  Tensor x;
};

kdl_code CodeOf(const Event& event, std::int64_t timeout_ns = -1) {
  kdl_error* error = kdl_event_wait(event.get(), timeout_ns);
  const kdl_code code = kdl_error_code(error);
  kdl_error_free(error);
  return code;
}

TEST_CASE(
    "async: a launch returns while its kernel runs, also on one thread, and needs no waiter") {
  for (const char* spec : {"host?threads=1", "host?threads=2", "debug"}) {
    const MbarrierSetup s(spec);
    const Event done = s.queue.Launch("gate", 1, {s.x});
    s.AwaitBegin();
    CHECK(s.mbarrier.thread.load() != std::this_thread::get_id());
    CHECK_FALSE(done.is_done());
    CHECK(CodeOf(done, 1000000) == KDL_ERROR_TIMEOUT);
    const_cast<MbarrierSetup&>(s).mbarrier.open = true;
    while (!done.is_done()) std::this_thread::yield();
  }
}

TEST_CASE("async: a queue that is stuck does not block other queues") {
  const MbarrierSetup s("host?threads=1");
  const Event stuck = s.queue.Launch("gate", 1, {s.x});
  s.AwaitBegin();
  std::atomic<bool> called = false;
  const Event call = s.device.queue(1).Call([&] { called = true; });
  while (!call.is_done()) std::this_thread::yield();
  CHECK(called);
  CHECK_FALSE(stuck.is_done());
}

TEST_CASE("async: a waiting thread runs operations that have not begun") {
  const MbarrierSetup s("host?threads=2");
  const Timeline mbarrier = s.context.MakeTimeline();
  std::atomic<int> here = 0;
  const auto self = std::this_thread::get_id();
  for (int round = 0; round < 200; ++round) {
    s.queue.Call([&] { here += std::this_thread::get_id() == self ? 1 : 0; }).Wait();
  }
  // The device's thread may run some of the calls, but not all.
  CHECK(here > 0);
}

TEST_CASE("async: run works on the calling thread") {
  MbarrierSetup s("host?threads=2");
  s.mbarrier.open = true;
  CHECK(s.RunKernel("gate") == nullptr);
  CHECK(s.mbarrier.thread.load() == std::this_thread::get_id());
}

TEST_CASE("async: run waits for the operations before it, and fails if they fail") {
  const MbarrierSetup s("host?threads=2");
  const Timeline mbarrier = s.context.MakeTimeline();
  s.queue.Call([] {}, {mbarrier.At(1)});
  std::thread opens([&] { mbarrier.Signal(1); });
  CHECK(s.RunKernel("nothing") == nullptr);
  opens.join();
  s.queue.Call([] { throw Error(KDL_ERROR_DEVICE, "the first cause"); });
  kdl_error* error = s.RunKernel("nothing");
  CHECK(std::string(kdl_error_message(error)) == "the first cause");
  kdl_error_free(error);
  CHECK(s.RunKernel("nothing") == nullptr);
}

TEST_CASE("cancel: an operation that has not begun is dropped, with all that wait for it") {
  for (const char* spec : {"host?threads=1", "debug"}) {
    const MbarrierSetup s(spec);
    const Timeline mbarrier = s.context.MakeTimeline();
    bool ran = false;
    const Event first = s.queue.Call([&] { ran = true; }, {mbarrier.At(1)});
    const Event behind = s.queue.Call([&] { ran = true; });
    const Event after = s.device.queue(1).Call([&] { ran = true; }, {first});
    Check(kdl_event_cancel(first.get()));
    for (const Event& event : {after, behind, first}) {
      CHECK(CodeOf(event) == KDL_ERROR_CANCELLED);
    }
    CHECK_FALSE(ran);
    s.queue.Call([&] { ran = true; }).Wait();
    CHECK(ran);
    Check(kdl_event_cancel(first.get()));  // the launch has ended, so this has no effect
  }
}

TEST_CASE("cancel: a running kernel stops") {
  for (const char* spec : {"host?threads=1", "host?threads=2", "debug"}) {
    const MbarrierSetup s(spec);
    const Event running = s.queue.Launch("gate", 1, {s.x});
    s.AwaitBegin();
    const Event behind = s.queue.Launch("nothing", 1, {s.x});
    Check(kdl_event_cancel(running.get()));
    std::string message;
    kdl_error* error = kdl_event_wait(running.get(), -1);
    CHECK(kdl_error_code(error) == KDL_ERROR_CANCELLED);
    CHECK(std::string(kdl_error_message(error)) == "the operation was cancelled");
    kdl_error_free(error);
    CHECK(CodeOf(behind) == KDL_ERROR_CANCELLED);
    CHECK(CodeOf(s.queue.Launch("nothing", 1, {s.x})) == KDL_OK);
  }
}

TEST_CASE("cancel: the runtime does not cancel a caller's timeline") {
  const Context context;
  const Timeline timeline = context.MakeTimeline();
  kdl_error* error = kdl_event_cancel(timeline.At(1).get());
  CHECK(kdl_error_code(error) == KDL_ERROR_INVALID_ARGUMENT);
  kdl_error_free(error);
}

}  // namespace
}  // namespace kdl
