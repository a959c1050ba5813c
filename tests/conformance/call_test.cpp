// Tests of kernels that are called with pointers: results, launch checks, concurrent callers, events.
#include <cmath>
#include <thread>

#include "conformance/conformance.h"
#include "kdl/status.hpp"

namespace kdl::conformance {
namespace {

// An empty list of images, because Bench has already registered the images.
constexpr const kdl_image* kNoMore[] = {nullptr};
constexpr const char* kNames[] = {"saxpy", "quads", "trap_at", "workspace"};
enum { kSaxpy, kQuads, kTrapAt, kWorkspace };

class Opened {
 public:
  explicit Opened(const Bench& bench) {
    Check(kdl_kernels_open(bench.context.get(), kNoMore, bench.spec.c_str(), kNames, 4, &kernels_));
  }
  ~Opened() { kdl_kernels_close(kernels_); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  const kdl_kernels* get() const { return kernels_; }

  Status Saxpy(std::int64_t n, float a, const float* x, float* y) const {
    const std::int64_t sizes[] = {n, n};
    const kdl_value values[] = {{.f32 = a}, {.data = x}, {.data = y}};
    return Status(kdl_kernels_call(kernels_, kSaxpy, sizes, values));
  }

 private:
  kdl_kernels* kernels_ = nullptr;
};

std::vector<float> Numbers(std::int64_t count, float first) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(first + static_cast<float>(i) / 3);
  return values;
}

CONFORMANCE_TEST(CallsTakePointers) {
  const Opened kernels(bench);
  for (std::int64_t n : {0, 1, 65, 1009}) {
    const std::vector<float> x = Numbers(n, 1);
    const std::vector<float> before = Numbers(n, -7);
    std::vector<float> y = before;
    REQUIRE(std::string(kernels.Saxpy(n, 2.5f, x.data(), y.data()).message()).empty());
    for (std::size_t i = 0; i < x.size(); ++i) REQUIRE(y[i] == std::fma(2.5f, x[i], before[i]));
  }
  CHECK(kernels.Saxpy(0, 1, nullptr, nullptr).ok());
  CHECK(bench.device.statistics().launches >= 5);
}

CONFORMANCE_TEST(CallsAreChecked) {
  const Opened kernels(bench);
  alignas(4) float memory[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  const auto refusal = [&](std::int64_t n, const float* x, float* y) {
    const Status status = kernels.Saxpy(n, 1, x, y);
    CHECK(status.code() == KDL_ERROR_INVALID_ARGUMENT);
    return std::string(status.message());
  };
  CHECK(refusal(-1, memory, memory + 4) ==
        "launch of 'saxpy': the tensor for x[N] has size -1 in dimension 0; sizes are 0 or more");
  CHECK(refusal(4, nullptr, memory) ==
        "launch of 'saxpy': the tensor for x[N] is f32[4] at a null pointer");
  auto* odd = reinterpret_cast<float*>(reinterpret_cast<char*>(memory) + 2);
  CHECK(
      refusal(3, memory + 4, odd) ==
      "launch of 'saxpy': the tensor for y[N] is f32[3] at an address that is not a multiple of 4, "
      "the size of f32");
  CHECK(refusal(4, memory, memory + 3) ==
        "launch of 'saxpy': the tensors for y[N] and x[N] share memory, but y is inout; a written "
        "tensor must not overlap another parameter");
  CHECK(refusal(INT64_MAX, memory, memory + 4) ==
        "launch of 'saxpy': the tensor for x[N] is f32[9223372036854775807], which is 2^63 bytes "
        "or more");
  CHECK(refusal(KDL_LARGEST_SIZE + 1, memory, memory) ==
        "launch of 'saxpy': size N is 8796093022208; the maximum is 8796093022207");
  CHECK(memory[4] == 5);
  const auto other = [&](std::int32_t kernel, const std::int64_t* sizes, const kdl_value* values) {
    const Status status(kdl_kernels_call(kernels.get(), kernel, sizes, values));
    CHECK(!status.ok());
    return std::string(status.message());
  };
  const std::int64_t three[] = {4, 3, 4};
  const kdl_value values[] = {{.data = memory}, {.data = memory + 4}};
  CHECK(other(kQuads, three, values) ==
        "launch of 'quads': dimension 1 of x[N, 4] is 4, but the tensor given is i32[4, 3]");
  CHECK(other(kSaxpy, nullptr, values) == "call of 'saxpy': sizes is NULL");
  CHECK(other(kSaxpy, three, nullptr) == "call of 'saxpy': values is NULL");
  CHECK(other(9, three, values) == "call of kernel 9 of a handle that has 4");
  const Status null(kdl_kernels_call(nullptr, 0, three, values));
  CHECK(std::string(null.message()) == "call of kernels that are not open: NULL");
}

CONFORMANCE_TEST(CallsTrap) {
  const Opened kernels(bench);
  std::int32_t y[10] = {};
  const std::int64_t sizes[] = {10};
  const kdl_value values[] = {{.i64 = 4}, {.data = y}};
  const Status status(kdl_kernels_call(kernels.get(), kTrapAt, sizes, values));
  CHECK(status.code() == KDL_ERROR_TRAP);
  CHECK(std::string(status.message()).find("suite.kdl:12:9: error: ") == 0);
  const kdl_value beyond[] = {{.i64 = 40}, {.data = y}};
  CHECK(Status(kdl_kernels_call(kernels.get(), kTrapAt, sizes, beyond)).ok());
}

CONFORMANCE_TEST(CallsHaveTheirWorkspaces) {
  const Opened kernels(bench);
  for (int turn = 0; turn < 3; ++turn) {
    std::int64_t y[] = {-1};
    const std::int64_t sizes[] = {1};
    const kdl_value values[] = {{.data = y}};
    REQUIRE(Status(kdl_kernels_call(kernels.get(), kWorkspace, sizes, values)).ok());
    REQUIRE(y[0] == 0);
  }
}

CONFORMANCE_TEST(CallsComeFromThreadsAtOnce) {
  const Opened kernels(bench);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      const std::vector<float> x = Numbers(300, static_cast<float>(t));
      for (int turn = 0; turn < 20; ++turn) {
        std::vector<float> y(300, 1.0f);
        if (!kernels.Saxpy(300, 3, x.data(), y.data()).ok()) ++wrong[t];
        for (std::size_t i = 0; i < x.size(); ++i) wrong[t] += y[i] != std::fma(3.0f, x[i], 1.0f);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4, 0));
}

CONFORMANCE_TEST(CallsOfEventsFollowEachOther) {
  const Opened kernels(bench);
  std::vector<float> x = Numbers(100, 1);
  std::vector<float> y(100, 0.0f);
  const std::int64_t sizes[] = {100, 100};
  const kdl_value values[] = {{.f32 = 2}, {.data = x.data()}, {.data = y.data()}};
  const auto call = [&](kdl_event* after) {
    kdl_event* done = nullptr;
    Check(kdl_kernels_call_async(kernels.get(), kSaxpy, sizes, values, &after, 1, &done));
    return Event(done);
  };
  const Timeline timeline = bench.context.MakeTimeline();
  const Event first = call(timeline.At(1).get());
  const Event second = call(first.get());
  CHECK(!second.is_done());
  timeline.Signal(1);
  second.Wait();
  CHECK(y[99] == 4 * x[99]);
  const kdl_value wrong[] = {{.f32 = 2}, {.data = nullptr}, {.data = y.data()}};
  kdl_event* done = nullptr;
  CHECK(
      !Status(kdl_kernels_call_async(kernels.get(), kSaxpy, sizes, wrong, nullptr, 0, &done)).ok());
  CHECK(done == nullptr);
}

TEST_CASE("Calls: a handle has its own context and reports what it cannot open") {
  kdl_kernels* kernels = nullptr;
  const auto refusal = [&](const char* device, const char* name) {
    const Status status(kdl_kernels_open(nullptr, kNoMore, device, &name, 1, &kernels));
    return std::string(status.message());
  };
  CHECK(refusal("host", "saxpy") ==
        "unknown kernel 'saxpy'; no module is registered: give the context its kdl_images_… "
        "first");
  CHECK(refusal("hots", "saxpy").find("hots") != std::string::npos);
  CHECK(refusal("host", nullptr) == "the name of kernel 0 is NULL");
  CHECK(kernels == nullptr);
  kdl_kernels_close(nullptr);
}

TEST_CASE("Calls: kernels may be closed after their context is destroyed") {
  kdl_context* context = nullptr;
  Check(kdl_context_create(&context));
  kdl_kernels* kernels = nullptr;
  Check(kdl_kernels_open(context, kNoMore, "host", nullptr, 0, &kernels));
  kdl_context_destroy(context);
  kdl_kernels_close(kernels);
}

}  // namespace
}  // namespace kdl::conformance
