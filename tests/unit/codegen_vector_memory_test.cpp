#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <random>

#include "codegen_case.h"
#include "codegen_run.h"

// Tests vector loads and stores with masks of every kind, at the edge of accessible memory.

namespace kdl::codegen {

namespace {

constexpr int64_t kLanes[] = {4, 8, 16, 64};

/// A buffer of elements between two inaccessible pages. It ends at the second page, or starts after the first
/// page if `at_start`.
class Fenced {
 public:
  Fenced(Scalar scalar, const std::vector<uint64_t>& patterns, bool at_start = false)
      : scalar_(scalar), count_(patterns.size()) {
    constexpr size_t kPage = 4096;
    size_t bytes = count_ * static_cast<size_t>(Bytes(scalar));
    size_t inside = (bytes + kPage - 1) / kPage * kPage;
    size_ = inside + 2 * kPage;
    base_ = static_cast<char*>(mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(base_ != MAP_FAILED);
    REQUIRE(mprotect(base_ + kPage, inside, PROT_READ | PROT_WRITE) == 0);
    data_ = base_ + kPage + (at_start ? 0 : inside - bytes);
    std::memcpy(data_, Packed(scalar, patterns).data(), bytes);
  }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;
  ~Fenced() { munmap(base_, size_); }

  kdl_tensor tensor() const { return TensorOf(data_, {static_cast<int64_t>(count_)}); }
  std::vector<uint64_t> patterns() const { return Unpacked(scalar_, data_, count_); }

 private:
  Scalar scalar_;
  size_t count_;
  size_t size_ = 0;
  char* base_ = nullptr;
  char* data_ = nullptr;
};

/// Returns `count` random bit patterns of the scalar type. They are likely to be different if the type is wide.
std::vector<uint64_t> Different(Scalar scalar, int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> patterns;
  for (int64_t n = 0; n < count; ++n)
    patterns.push_back(random() & (scalar == Scalar::Bool ? 1 : MaskOf(scalar)));
  return patterns;
}

std::string KernelName(std::string_view stem, Scalar scalar, int64_t lanes) {
  return fmt::format("{}_{}_{}", stem, Spelling(scalar), lanes);
}

/// Returns a kernel for each scalar type and number of lanes. In `text`, {0} is replaced by the kernel's
/// name, {1} by the scalar type, and {2} by the number of lanes.
std::string ForAll(std::string_view stem, std::string_view text) {
  std::string all;
  for (Scalar scalar : kScalars) {
    for (int64_t lanes : kLanes)
      all +=
          fmt::format(fmt::runtime(text), KernelName(stem, scalar, lanes), Spelling(scalar), lanes);
  }
  return all;
}

/// y = x in the lanes of each vector that are in bounds; z = x where m is true, for a mask m of any pattern.
constexpr std::string_view kMasked =
    R"(kernel @{0} dims(%N) (%x: tensor<{1},[N]> in, %m: tensor<bool,[N]> in, %y: tensor<{1},[N]> out, %z: tensor<{1},[N]> inout) {{
  %0 = const 0 : i64
  %l = const {2} : i64
  loop %n in %0 .. %N step %l {{
    %c = sub %N, %n : i64
    %k = lane_mask %c : vec<bool x {2}>
    %v = load %x[%n] where %k {{bounds = proven}} : vec<{1} x {2}>
    store %v to %y[%n] where %k {{bounds = proven}}
    %f = load %m[%n] where %k {{bounds = proven}} : vec<bool x {2}>
    %g = and %f, %k : vec<bool x {2}>
    %w = load %x[%n] where %g {{bounds = proven}} : vec<{1} x {2}>
    store %w to %z[%n] where %g {{bounds = proven}}
    yield
  }}
  return
}}
)";

/// Copies x to y with a vector whose first two lanes are before both tensors, then with a vector that is far
/// out of bounds and has no active lane.
constexpr std::string_view kBefore =
    R"(kernel @{0} dims(%N) (%x: tensor<{1},[N]> in, %y: tensor<{1},[N]> out) {{
  %0 = const 0 : i64
  %2 = const 2 : i64
  %l = lane_numbers : vec<i64 x {2}>
  %k = ge %l, %2 : vec<bool x {2}>
  %v = load %x[%0 - 2] where %k {{bounds = proven}} : vec<{1} x {2}>
  store %v to %y[%0 - 2] where %k {{bounds = proven}}
  %off = lane_mask %0 : vec<bool x {2}>
  %far = const 1073741824 : i64
  %w = load %x[%far] where %off {{bounds = proven}} : vec<{1} x {2}>
  store %w to %y[%far] where %off {{bounds = proven}}
  return
}}
)";

/// Copies through a buffer: y = x; z and q are u where m is true, else x. z uses a masked store, and q a
/// masked load.
constexpr std::string_view kScratch =
    R"(kernel @{0} dims(%N) (%x: tensor<{1},[N]> in, %u: tensor<{1},[N]> in, %m: tensor<bool,[N]> in, %y: tensor<{1},[N]> out, %z: tensor<{1},[N]> out, %q: tensor<{1},[N]> out) {{
  %0 = const 0 : i64
  %1 = const 1 : i64
  %3 = const 3 : i64
  %b = buffer_new : buffer<{1},[2,68]>
  %v = load %x[0] {{bounds = proven}} : vec<{1} x {2}>
  %w = load %u[0] {{bounds = proven}} : vec<{1} x {2}>
  %k = load %m[0] {{bounds = proven}} : vec<bool x {2}>
  buffer_store %v to %b[%0, %1]
  buffer_store %v to %b[%1, %3]
  %r = buffer_load %b[%1, %3] : vec<{1} x {2}>
  store %r to %y[0] {{bounds = proven}}
  buffer_store %w to %b[%0, %1] where %k
  %s = buffer_load %b[%0, %1] : vec<{1} x {2}>
  store %s to %z[0] {{bounds = proven}}
  buffer_store %w to %b[%1, %3]
  %t = buffer_load %b[%1, %3] where %k : vec<{1} x {2}>
  %p = select %k, %t, %v : vec<{1} x {2}>
  store %p to %q[0] {{bounds = proven}}
  return
}}
)";

/// y = v in the first `count` lanes.
constexpr std::string_view kCount =
    R"(kernel @{0} dims(%N) (%count: i64, %v: {1}, %y: tensor<{1},[N]> inout) {{
  %k = lane_mask %count : vec<bool x {2}>
  %s = splat %v : vec<{1} x {2}>
  store %s to %y[0] where %k {{bounds = proven}}
  return
}}
)";

void CheckMasked(const LoadedModule& module, Scalar scalar, int64_t lanes) {
  for (int64_t count : {int64_t{1}, lanes - 1, lanes, lanes + 1, 3 * lanes + lanes / 2}) {
    CAPTURE(count);
    std::vector<uint64_t> patterns = Different(scalar, count, 1);
    std::vector<uint64_t> flags = Different(Scalar::Bool, count, 2);
    std::vector<uint64_t> old = Different(scalar, count, 3);
    Fenced x(scalar, patterns);
    Fenced m(Scalar::Bool, flags);
    Fenced y(scalar, old);
    Fenced z(scalar, old);
    Call call{{count}, {x.tensor(), m.tensor(), y.tensor(), z.tensor()}, {}};
    REQUIRE(module.LaunchKernel(KernelName("masked", scalar, lanes), call).code == KDL_DONE);
    CHECK(y.patterns() == patterns);
    std::vector<uint64_t> expected = old;
    for (size_t n = 0; n < expected.size(); ++n)
      if (flags[n] != 0) expected[n] = patterns[n];
    CHECK(z.patterns() == expected);
  }
}

void CheckBefore(const LoadedModule& module, Scalar scalar, int64_t lanes) {
  std::vector<uint64_t> patterns = Different(scalar, lanes - 2, 4);
  Fenced x(scalar, patterns, true);
  Fenced y(scalar, Different(scalar, lanes - 2, 5), true);
  Call call{{lanes - 2}, {x.tensor(), y.tensor()}, {}};
  REQUIRE(module.LaunchKernel(KernelName("before", scalar, lanes), call).code == KDL_DONE);
  CHECK(y.patterns() == patterns);
}

void CheckScratch(const LoadedModule& module, Scalar scalar, int64_t lanes) {
  std::vector<uint64_t> a = Different(scalar, lanes, 6);
  std::vector<uint64_t> b = Different(scalar, lanes, 7);
  std::vector<uint64_t> flags = Different(Scalar::Bool, lanes, 8);
  std::vector<uint64_t> merged = a;
  for (size_t n = 0; n < merged.size(); ++n)
    if (flags[n] != 0) merged[n] = b[n];
  Fenced x(scalar, a);
  Fenced u(scalar, b);
  Fenced m(Scalar::Bool, flags);
  Fenced y(scalar, b);
  Fenced z(scalar, b);
  Fenced q(scalar, b);
  Call call{{lanes}, {x.tensor(), u.tensor(), m.tensor(), y.tensor(), z.tensor(), q.tensor()}, {}};
  REQUIRE(module.LaunchKernel(KernelName("scratch", scalar, lanes), call).code == KDL_DONE);
  CHECK(y.patterns() == a);
  CHECK(z.patterns() == merged);
  CHECK(q.patterns() == merged);
}

void CheckCount(const LoadedModule& module, Scalar scalar, int64_t lanes) {
  for (int64_t count :
       {INT64_MIN, INT64_C(-1), INT64_C(0), INT64_C(1), lanes - 1, lanes, lanes + 1, INT64_C(127),
        INT64_C(128), INT64_C(256), INT64_C(1) << 32, (INT64_C(1) << 32) + 1, INT64_MAX}) {
    CAPTURE(count);
    std::vector<uint64_t> expected = Different(scalar, lanes, 9);
    Fenced y(scalar, expected);
    uint64_t value = expected[0] ^ 1;
    Call call{{lanes}, {y.tensor()}, {static_cast<uint64_t>(count), value}};
    REQUIRE(module.LaunchKernel(KernelName("count", scalar, lanes), call).code == KDL_DONE);
    auto on = static_cast<size_t>(std::clamp<int64_t>(count, 0, lanes));
    std::fill_n(expected.begin(), on, value);
    CHECK(y.patterns() == expected);
  }
}

void CheckAll(int opt_level, const Processor& processor) {
  CAPTURE(opt_level);
  CAPTURE(processor.level);
  LoadedModule module(ForAll("masked", kMasked) + ForAll("before", kBefore) +
                          ForAll("scratch", kScratch) + ForAll("count", kCount),
                      opt_level, processor);
  for (Scalar scalar : kScalars) {
    for (int64_t lanes : kLanes) {
      CAPTURE(Spelling(scalar));
      CAPTURE(lanes);
      CheckMasked(module, scalar, lanes);
      CheckBefore(module, scalar, lanes);
      CheckScratch(module, scalar, lanes);
      CheckCount(module, scalar, lanes);
    }
  }
}

}  // namespace

TEST_CASE("masked accesses only touch the memory of active lanes") {
  for (int opt_level : {0, 1, 3}) CheckAll(opt_level, X86Processor());
  if (!__builtin_cpu_supports("x86-64-v4")) {
    MESSAGE("this processor does not support x86-64-v4: its code was not run");
    return;
  }
  for (int opt_level : {0, 3}) CheckAll(opt_level, Avx512Processor());
}

}  // namespace kdl::codegen
