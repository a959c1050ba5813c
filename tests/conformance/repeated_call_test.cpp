// Tests of calls that follow others of the same kernel: they use their own arguments, and are checked like the first.
#include <cmath>

#include "conformance/conformance.h"
#include "kdl/status.hpp"

namespace kdl::conformance {
namespace {

// An empty list of images, because Bench has already registered the images.
constexpr const kdl_image* kNoMore[] = {nullptr};
constexpr const char* kNames[] = {"saxpy", "trap_at"};
enum { kSaxpy, kTrapAt };

class Opened {
 public:
  explicit Opened(const Bench& bench) {
    Check(kdl_kernels_open(bench.context.get(), kNoMore, bench.spec.c_str(), kNames, 2, &kernels_));
  }
  ~Opened() { kdl_kernels_close(kernels_); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  // Returns the message of the call's error, or nothing if it succeeds.
  std::string Saxpy(std::int64_t n, float a, const float* x, float* y) const {
    return Saxpy(n, kdl_value{.f32 = a}, x, y);
  }
  std::string Saxpy(std::int64_t n, kdl_value a, const float* x, float* y) const {
    const std::int64_t sizes[] = {n, n};
    const kdl_value values[] = {a, {.data = x}, {.data = y}};
    return std::string(Status(kdl_kernels_call(kernels_, kSaxpy, sizes, values)).message());
  }
  std::string TrapAt(std::int64_t at, std::int32_t* y, std::int64_t n) const {
    const kdl_value values[] = {{.i64 = at}, {.data = y}};
    return std::string(Status(kdl_kernels_call(kernels_, kTrapAt, &n, values)).message());
  }

 private:
  kdl_kernels* kernels_ = nullptr;
};

CONFORMANCE_TEST(RepeatedCallsUseTheirArguments) {
  const Opened kernels(bench);
  const std::int64_t before = bench.device.statistics().launches;
  std::vector<std::vector<float>> rows(6, std::vector<float>(70, 1.0f));
  std::vector<std::vector<float>> expected = rows;
  std::int64_t calls = 0;
  for (std::int64_t n : {70, 70, 70, 3, 3, 70, 3, 70, 70}) {
    const auto turn = static_cast<std::size_t>(calls++);
    const std::vector<float>& x = rows[turn % 3];
    std::vector<float>& y = rows[3 + turn % 2];
    const float a = turn % 4 == 3 ? -0.5f : 2.0f;
    REQUIRE(kernels.Saxpy(n, a, x.data(), y.data()).empty());
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
      float& element = expected[3 + turn % 2][i];
      element = std::fma(a, expected[turn % 3][i], element);
    }
    REQUIRE(rows == expected);
  }
  CHECK(bench.device.statistics().launches == before + calls);
}

// Each call differs from the one before in at most one argument.
CONFORMANCE_TEST(RepeatedCallsMayHaveEqualArguments) {
  const Opened kernels(bench);
  std::vector<float> rows[2] = {std::vector<float>(70, 1.0f), std::vector<float>(70, 3.0f)};
  std::vector<float> sums[2] = {std::vector<float>(70), std::vector<float>(70)};
  std::vector<float> expected[2] = {sums[0], sums[1]};
  struct Arguments {
    std::int64_t n;
    float a;
    int x, y;
  };
  for (const Arguments& given : {Arguments{70, 2, 0, 0},
                                 {70, 2, 0, 0},
                                 {70, 2, 0, 0},
                                 {70, 4, 0, 0},
                                 {70, 4, 1, 0},
                                 {70, 4, 1, 0},
                                 {70, 4, 1, 1},
                                 {69, 4, 1, 1},
                                 {69, 4, 1, 1},
                                 {70, 4, 1, 1},
                                 {70, -1, 1, 1}}) {
    for (float& element : rows[given.x]) element += 1;
    REQUIRE(kernels.Saxpy(given.n, given.a, rows[given.x].data(), sums[given.y].data()).empty());
    for (std::size_t i = 0; i < static_cast<std::size_t>(given.n); ++i)
      expected[given.y][i] += given.a * rows[given.x][i];
    REQUIRE(sums[0] == expected[0]);
    REQUIRE(sums[1] == expected[1]);
  }
}

// The bytes of a value after a short scalar may differ from call to call.
CONFORMANCE_TEST(RepeatedCallsIgnoreBytesAfterScalars) {
  const Opened kernels(bench);
  float x[4] = {1, 2, 3, 4};
  float y[4] = {};
  for (std::uint64_t rest : {0, 1, 1, -1, 0}) {
    kdl_value a = {.u64 = rest << 32};
    a.f32 = 1;
    REQUIRE(kernels.Saxpy(4, a, x, y).empty());
  }
  CHECK(y[0] == 5);
  CHECK(y[3] == 20);
}

CONFORMANCE_TEST(RepeatedCallsAreChecked) {
  const Opened kernels(bench);
  alignas(4) float memory[12] = {};
  auto* odd = reinterpret_cast<float*>(reinterpret_cast<char*>(memory) + 2);
  const auto runs = [&] {
    for (float& element : memory) element = 1;
    REQUIRE(kernels.Saxpy(4, 1, memory, memory + 4).empty());
    REQUIRE(memory[7] == 2);
  };
  for (int turn = 0; turn < 2; ++turn) {
    runs();
    runs();
    CHECK(kernels.Saxpy(4, 1, nullptr, memory) ==
          "launch of 'saxpy': the tensor for x[N] is f32[4] at a null pointer");
    runs();
    CHECK(kernels.Saxpy(4, 1, memory + 4, odd) ==
          "launch of 'saxpy': the tensor for y[N] is f32[4] at an address that is not a multiple "
          "of 4, the size of f32");
    CHECK(kernels.Saxpy(4, 1, memory, memory + 3) ==
          "launch of 'saxpy': the tensors for y[N] and x[N] share memory, but y is inout; a "
          "written tensor must not overlap another parameter");
    runs();
    CHECK(kernels.Saxpy(-1, 1, memory, memory + 4) ==
          "launch of 'saxpy': the tensor for x[N] has size -1 in dimension 0; sizes are 0 or more");
  }
  CHECK(memory[3] == 1);
  CHECK(memory[8] == 1);
}

CONFORMANCE_TEST(RepeatedCallsTrap) {
  const Opened kernels(bench);
  std::int32_t y[10] = {};
  for (int turn = 0; turn < 3; ++turn) {
    CHECK(kernels.TrapAt(4, y, 10).find("suite.kdl:12:9: error: ") == 0);
    CHECK(kernels.TrapAt(40, y, 10).empty());
    CHECK(kernels.TrapAt(40, y, 10).empty());
  }
}

}  // namespace
}  // namespace kdl::conformance
