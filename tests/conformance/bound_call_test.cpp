// Tests of calls whose arguments are bound once: results, checks, traps, concurrent callers, closed kernels.
#include <cmath>
#include <thread>

#include "conformance/conformance.h"
#include "kdl/calls.hpp"

namespace kdl::conformance {
namespace {

// An empty list of images, because Bench has already registered the images.
constexpr const kdl_image* kNoMore[] = {nullptr};
constexpr const char* kNames[] = {"saxpy", "trap_at", "workspace"};
enum { kSaxpy, kTrapAt, kWorkspace };

kdl_kernels* Open(const Bench& bench) {
  kdl_kernels* kernels = nullptr;
  Check(kdl_kernels_open(bench.context.get(), kNoMore, bench.spec.c_str(), kNames, 3, &kernels));
  return kernels;
}

class Opened {
 public:
  explicit Opened(const Bench& bench) : kernels_(Open(bench)) {}
  ~Opened() { kdl_kernels_close(kernels_); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  Status Bind(std::int32_t kernel, const std::int64_t* sizes, const kdl_value* values,
              BoundCall* bound) const {
    kdl_bound_call* made = nullptr;
    Status status(kdl_kernels_bind(kernels_, kernel, sizes, values, &made));
    CHECK(status.ok() == (made != nullptr));
    *bound = BoundCall(made);
    return status;
  }
  BoundCall Saxpy(std::int64_t n, float a, const float* x, float* y) const {
    const std::int64_t sizes[] = {n, n};
    const kdl_value values[] = {{.f32 = a}, {.data = x}, {.data = y}};
    BoundCall bound;
    CHECK(Bind(kSaxpy, sizes, values, &bound).ok());
    return bound;
  }

 private:
  kdl_kernels* kernels_;
};

std::string MessageOf(const Status& status) { return status.message(); }

CONFORMANCE_TEST(BoundCallsReadThePresentContents) {
  const Opened kernels(bench);
  const std::int64_t before = bench.device.statistics().launches;
  for (std::int64_t n : {0, 1, 65, 5003}) {
    std::vector<float> x(static_cast<std::size_t>(n), 1.0f);
    std::vector<float> y(x.size(), -7.0f);
    const BoundCall call = kernels.Saxpy(n, 2.5f, x.data(), y.data());
    for (int turn = 0; turn < 3; ++turn) {
      const std::vector<float> old = y;
      for (std::size_t i = 0; i < x.size(); ++i) x[i] += static_cast<float>(i) / 3;
      REQUIRE(MessageOf(call()).empty());
      for (std::size_t i = 0; i < x.size(); ++i) REQUIRE(y[i] == std::fma(2.5f, x[i], old[i]));
    }
  }
  CHECK(bench.device.statistics().launches == before + 12);
}

CONFORMANCE_TEST(BoundCallsAreCheckedWhenTheyAreBound) {
  const Opened kernels(bench);
  alignas(4) float memory[8] = {};
  BoundCall bound;
  const auto refusal = [&](std::int32_t kernel, std::int64_t n, const float* x, float* y) {
    const std::int64_t sizes[] = {n, n};
    const kdl_value values[] = {{.f32 = 1}, {.data = x}, {.data = y}};
    return MessageOf(kernels.Bind(kernel, sizes, values, &bound));
  };
  CHECK(refusal(kSaxpy, -1, memory, memory + 4) ==
        "launch of 'saxpy': the tensor for x[N] has size -1 in dimension 0; sizes are 0 or more");
  CHECK(refusal(kSaxpy, 4, nullptr, memory) ==
        "launch of 'saxpy': the tensor for x[N] is f32[4] at a null pointer");
  CHECK(refusal(kSaxpy, 4, memory, memory + 3).find("share memory, but y is inout") !=
        std::string::npos);
  CHECK(refusal(7, 4, memory, memory + 4) == "call of kernel 7 of a handle that has 3");
  CHECK(MessageOf(kernels.Bind(kSaxpy, nullptr, nullptr, &bound)) ==
        "call of 'saxpy': values is NULL");
  CHECK(MessageOf(bound()) == "call of a kernel that is not bound: NULL");
  CHECK(bound().code() == KDL_ERROR_INVALID_ARGUMENT);
}

CONFORMANCE_TEST(BoundCallsRunAgainAfterATrap) {
  const Opened kernels(bench);
  std::int32_t y[10] = {};
  const std::int64_t sizes[] = {10};
  const kdl_value values[] = {{.i64 = 4}, {.data = y}};
  BoundCall traps;
  REQUIRE(kernels.Bind(kTrapAt, sizes, values, &traps).ok());
  const float x[] = {1};
  float z[] = {0};
  const BoundCall runs = kernels.Saxpy(1, 2, x, z);
  for (int turn = 1; turn <= 3; ++turn) {
    const Status status = traps();
    CHECK(status.code() == KDL_ERROR_TRAP);
    CHECK(MessageOf(status).find("suite.kdl:12:9: error: ") == 0);
    REQUIRE(MessageOf(runs()).empty());
    CHECK(z[0] == static_cast<float>(2 * turn));
  }
}

CONFORMANCE_TEST(BoundCallsHaveTheirWorkspaces) {
  const Opened kernels(bench);
  std::int64_t y[] = {-1};
  const std::int64_t sizes[] = {1};
  const kdl_value values[] = {{.data = y}};
  BoundCall call;
  REQUIRE(kernels.Bind(kWorkspace, sizes, values, &call).ok());
  for (int turn = 0; turn < 3; ++turn) {
    y[0] = -1;
    REQUIRE(call().ok());
    REQUIRE(y[0] == 0);
  }
}

CONFORMANCE_TEST(BoundCallsOfThreadsAreApart) {
  const Opened kernels(bench);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      const std::vector<float> x(5000, static_cast<float>(t));
      std::vector<float> y(x.size());
      const BoundCall call = kernels.Saxpy(5000, 3, x.data(), y.data());
      for (int turn = 0; turn < 10; ++turn) {
        std::fill(y.begin(), y.end(), 1.0f);
        if (!call().ok()) ++wrong[t];
        for (std::size_t i = 0; i < x.size(); ++i) wrong[t] += y[i] != std::fma(3.0f, x[i], 1.0f);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4, 0));
}

CONFORMANCE_TEST(BoundCallsFailAfterTheirKernelsAreClosed) {
  const float x[] = {1};
  float y[] = {0};
  BoundCall call;
  {
    const Opened kernels(bench);
    call = kernels.Saxpy(1, 2, x, y);
    CHECK(call().ok());
  }
  const Status closed = call();
  CHECK(closed.code() == KDL_ERROR_INVALID_ARGUMENT);
  CHECK(MessageOf(closed) == "call of 'saxpy': its kernels have been closed");
  CHECK(y[0] == 2);
}

CONFORMANCE_TEST(BoundCallsMayBeFreedAfterTheirContext) {
  const float x[] = {1};
  float y[] = {0};
  const std::int64_t sizes[] = {1, 1};
  const kdl_value values[] = {{.f32 = 2}, {.data = x}, {.data = y}};
  for (const bool closes_first : {false, true}) {
    kdl_bound_call* bound = nullptr;
    kdl_kernels* kernels = nullptr;
    {
      const Bench own(DeviceUnderTest{bench.spec, bench.sibling_spec, bench.prepare, {}});
      kernels = Open(own);
      Check(kdl_kernels_bind(kernels, kSaxpy, sizes, values, &bound));
      Check(kdl_bound_call_run(bound));
    }
    if (closes_first) kdl_kernels_close(kernels);
    kdl_bound_call_free(bound);
    if (!closes_first) kdl_kernels_close(kernels);
  }
  kdl_bound_call_free(nullptr);
}

}  // namespace
}  // namespace kdl::conformance
