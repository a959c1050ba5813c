#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <thread>
#include <vector>

#include "claims_text.h"
#include "codegen_run.h"
#include "ir/op_info.h"

namespace kdl::codegen {

namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

/// Writes the number of iterations, and the wrapping sum of the indices.
constexpr std::string_view kLoop =
    R"(kernel @count (%lo: i64, %hi: i64, %step: i64, %y: tensor<i64,[2]> out) {
  %0 = const 0 : i64
  %1 = const 1 : i64
  %n, %sum = loop %i in %lo .. %hi step %step carry(%a = %0, %b = %0) {
    %2 = add %a, %1 : i64
    %3 = add %b, %i : i64
    yield %2, %3
  } : i64, i64
  store %n to %y[0] {bounds = proven}
  store %sum to %y[1] {bounds = proven}
  return
}
kernel @count_by_7 (%lo: i64, %hi: i64, %y: tensor<i64,[2]> out) {
  %0 = const 0 : i64
  %1 = const 1 : i64
  %7 = const 7 : i64
  %n, %sum = loop %i in %lo .. %hi step %7 carry(%a = %0, %b = %0) {
    %2 = add %a, %1 : i64
    %3 = add %b, %i : i64
    yield %2, %3
  } : i64, i64
  store %n to %y[0] {bounds = proven}
  store %sum to %y[1] {bounds = proven}
  return
}
)";

struct Range {
  int64_t lo;
  int64_t hi;
  int64_t step;
};

std::array<int64_t, 2> ExpectedCount(const Range& range) {
  std::array<int64_t, 2> result = {0, 0};
  for (__int128 i = range.lo; i < range.hi; i += range.step) {
    ++result[0];
    result[1] = static_cast<int64_t>(static_cast<uint64_t>(result[1]) + static_cast<uint64_t>(i));
  }
  return result;
}

constexpr std::string_view kChoose =
    R"(kernel @choose dims(%N) (%x: tensor<i32,[N]> in, %y: tensor<i32,[N]> out) {
  %0 = const 0 : i64
  %1 = const 1 : i64
  %zero = const 0 : i32
  %ten = const 10 : i32
  %neg = const -1 : i32
  loop %i in %0 .. %N step %1 {
    %v = load %x[%i] {bounds = proven} : i32
    %small = lt %v, %ten : bool
    %r, %s = if %small {
      %minus = lt %v, %zero : bool
      %t = if %minus {
        yield %neg
      } else {
        yield %v
      } : i32
      yield %t, %v
    } else {
      %u = mul %v, %ten : i32
      yield %u, %ten
    } : i32, i32
    %w = add %r, %s : i32
    store %w to %y[%i] {bounds = proven}
    yield
  }
  return
}
)";

constexpr std::string_view kBlocksDistributed =
    R"(kernel @dealt dims(%N) (%y: tensor<i64,[N]> inout) {
  %0 = const 0 : i64
  %1 = const 1 : i64
  %id = core_id : i64
  %num = core_num : i64
  loop %i in %id .. %N step %num {
    %v = load %y[%i] {bounds = proven} : i64
    %w = add %v, %1 : i64
    %h = const 100 : i64
    %p = mul %id, %h : i64
    %q = add %w, %p : i64
    store %q to %y[%i] {bounds = proven}
    yield
  }
  return
}
)";

constexpr std::string_view kTraps = R"(kernel @traps dims(%N) (%d: i64, %y: tensor<i64,[N]> inout) {
  %0 = const 0 : i64
  %1 = const 1 : i64
  loop %b in %0 .. %N step %1 {
    loop %i in %b .. %N step %1 {
      %v = load %y[%i] {bounds = proven} : i64
      %q = div %v, %d {text = "y[i] / d"} : i64 loc("t.kdl":7:9+5)
      check %q in %N {dimension = 2, text = "y[q]"} loc("t.kdl":8:3+4)
      store %q to %y[%i] {bounds = proven}
      yield
    }
    yield
  }
  return
}
)";

/// Calls a kernel once per core, each core on its own thread.
void RunOnThreads(const kdl_variant& variant, const Call& call) {
  std::vector<int64_t> dynamic_counters(static_cast<size_t>(variant.dynamic_counter_count));
  kdl_launch launch = {};
  launch.dynamic_counters = dynamic_counters.data();
  kdl_args args = {sizeof(kdl_args), KDL_ABI_VERSION, call.dims.data(), call.tensors.data(),
                   call.scalars.data()};
  std::vector<std::thread> threads;
  for (int64_t id = 0; id < call.core_num; ++id) {
    threads.emplace_back([&variant, &launch, &args, &call, id] {
      kdl_core core = {};
      core.core_id = id;
      core.core_num = call.core_num;
      core.launch = &launch;
      CHECK(variant.entry(&args, &core) == KDL_DONE);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// Returns what kDynamicCountersKernel writes to y.
std::vector<int64_t> ClaimedOnce(int64_t turns, int64_t n) {
  std::vector<int64_t> y;
  for (int64_t t = 0; t < turns; ++t) {
    for (int64_t i = 0; i < n; ++i) y.push_back(i < t ? 1 : 0);
  }
  return y;
}

}  // namespace

TEST_CASE("each index of a dynamically scheduled loop runs on one core, whenever the loop runs") {
  constexpr int64_t kTurns = 60;
  constexpr int64_t kN = 45;
  for (int opt_level : {0, 2}) {
    LoadedModule module(std::string(kDynamicCountersKernel), opt_level);
    REQUIRE(module.variant("claims").dynamic_counter_count == 2);
    for (int64_t core_num : {1, 2, 7}) {
      for (bool at_once : {false, true}) {
        CAPTURE(core_num);
        std::vector<int64_t> y(kTurns * kN);
        std::vector<int64_t> z(kN);
        Call call{{kTurns, kN},
                  {TensorOf(y.data(), {kTurns, kN}), TensorOf(z.data(), {kN})},
                  {},
                  core_num};
        if (at_once) {
          RunOnThreads(module.variant("claims"), call);
        } else {
          CHECK(module.LaunchKernel("claims", call).code == KDL_DONE);
        }
        CHECK(y == ClaimedOnce(kTurns, kN));
        CHECK(z == std::vector<int64_t>(kN, 1));
      }
    }
  }
}

TEST_CASE("a dynamically scheduled core exits before its next block after another core trapped") {
  LoadedModule module(std::string(kDynamicCountersKernel), 2);
  std::vector<int64_t> y(6);
  std::vector<int64_t> z(3);
  Call call{{2, 3}, {TensorOf(y.data(), {2, 3}), TensorOf(z.data(), {3})}, {}, 1, true};
  CHECK(module.LaunchKernel("claims", call).code == KDL_DONE);
  CHECK(z == std::vector<int64_t>(3, 0));
}

TEST_CASE("a loop runs for lo, lo + step, ... below hi, even if lo + step overflows 64 bits") {
  const Range ranges[] = {{0, 10, 1},          {0, 10, 3},          {3, 3, 1},
                          {5, -5, 2},          {kMax - 5, kMax, 1}, {kMax - 5, kMax, 7},
                          {kMax - 5, kMax, 2}, {kMin, kMin + 9, 2}, {kMin, kMax, kMax},
                          {-7, 8, 5},          {kMax, kMax, 1}};
  for (int opt_level : {0, 1, 2, 3}) {
    CAPTURE(opt_level);
    LoadedModule module(std::string(kLoop), opt_level);
    for (const Range& range : ranges) {
      CAPTURE(range.lo);
      CAPTURE(range.hi);
      CAPTURE(range.step);
      std::array<int64_t, 2> y = {-1, -1};
      Call call{{}, {TensorOf(y.data(), {2})}, {}, 1, false};
      call.scalars = {static_cast<uint64_t>(range.lo), static_cast<uint64_t>(range.hi),
                      static_cast<uint64_t>(range.step)};
      CHECK(module.LaunchKernel("count", call).code == KDL_DONE);
      CHECK(y == ExpectedCount(range));
      if (range.step != 7) continue;
      y = {-1, -1};
      CHECK(module.LaunchKernel("count_by_7", call).code == KDL_DONE);
      CHECK(y == ExpectedCount(range));
    }
  }
}

TEST_CASE("an if returns the values of the branch that ran") {
  for (int opt_level : {0, 2}) {
    LoadedModule module(std::string(kChoose), opt_level);
    std::array<int32_t, 5> x = {-3, 0, 9, 10, 25};
    std::array<int32_t, 5> y = {};
    CHECK(
        module.LaunchKernel("choose", {{5}, {TensorOf(x.data(), {5}), TensorOf(y.data(), {5})}, {}})
            .code == KDL_DONE);
    CHECK(y == std::array<int32_t, 5>{-4, 0, 18, 110, 260});
  }
}

TEST_CASE("cores read their number, and a distributed loop visits every index once") {
  for (int64_t core_num : {1, 3, 1000}) {
    CAPTURE(core_num);
    LoadedModule module(std::string(kBlocksDistributed), 2);
    std::array<int64_t, 10> y = {};
    CHECK(module.LaunchKernel("dealt", {{10}, {TensorOf(y.data(), {10})}, {}, core_num}).code ==
          KDL_DONE);
    for (int64_t i = 0; i < 10; ++i) CHECK(y[static_cast<size_t>(i)] == 1 + 100 * (i % core_num));
  }
}

TEST_CASE("a trap reports its location and values, and stops the launch") {
  for (int opt_level : {0, 1, 2, 3}) {
    CAPTURE(opt_level);
    LoadedModule module(std::string(kTraps), opt_level);
    const kdl_variant& variant = module.variant("traps");
    REQUIRE(variant.location_count == 2);

    std::array<int64_t, 4> y = {0, 1, 2, 12};
    Outcome zero = module.LaunchKernel("traps", {{4}, {TensorOf(y.data(), {4})}, {0}});
    CHECK(zero.code == KDL_TRAPPED);
    CHECK(zero.stopped);
    CHECK(zero.trap.code == KDL_TRAP_DIVISION);
    const kdl_location& division = variant.locations[zero.trap.location];
    CHECK(division.code == KDL_TRAP_DIVISION);
    CHECK(std::string(division.file) == "t.kdl");
    CHECK(division.line == 7);
    CHECK(division.column == 9);
    CHECK(std::string(division.text) == "y[i] / d");
    CHECK(division.dimension == -1);

    Outcome outside = module.LaunchKernel("traps", {{4}, {TensorOf(y.data(), {4})}, {1}});
    CHECK(outside.code == KDL_TRAPPED);
    CHECK(outside.trap.code == KDL_TRAP_INDEX);
    CHECK(outside.trap.index == 12);
    CHECK(outside.trap.bound == 4);
    CHECK(variant.locations[outside.trap.location].dimension == 2);
    CHECK(y == std::array<int64_t, 4>{0, 1, 2, 12});

    std::array<int64_t, 1> negative = {-5};
    Outcome below = module.LaunchKernel("traps", {{1}, {TensorOf(negative.data(), {1})}, {5}});
    CHECK(below.trap.code == KDL_TRAP_INDEX);
    CHECK(below.trap.index == -1);
  }
}

TEST_CASE("a core exits before its next block after another core has trapped") {
  LoadedModule module(std::string(kTraps), 2);
  std::array<int64_t, 4> y = {0, 1, 2, 3};
  Call call{{4}, {TensorOf(y.data(), {4})}, {static_cast<uint64_t>(-1)}, 1, true};
  CHECK(module.LaunchKernel("traps", call).code == KDL_DONE);
  CHECK(y == std::array<int64_t, 4>{0, 1, 2, 3});
}

}  // namespace kdl::codegen
