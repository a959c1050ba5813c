#include <doctest/doctest.h>

#include <array>
#include <numeric>
#include <vector>

#include "codegen_run.h"

namespace kdl::codegen {

namespace {

/// y = x + 1 with tiles of 64, in two stages. The second stage traps on an element that is not below `bad`.
constexpr std::string_view kTwoStages =
    R"kir(kernel @k dims(%M) (%x: tensor<i64,[M]> in, %bad: i64, %y: tensor<i64,[M]> out, %ws: workspace) {
  %q = pipe in %ws {name = "q", depth = 2, from = "make", to = "use", header = 64, slot = 576, offset = 128} : pipe<i64,[64]>
  %0 = const 0 : i64
  %1 = const 1 : i64
  %64 = const 64 : i64
  %id = core_id : i64
  %num = core_num : i64
  %stride = mul %num, %64 : i64
  %start = mul %id, %64 : i64
  stage {name = "make"} {
    loop %b in %start .. %M step %stride {
      %left = sub %M, %b : i64
      %n = min %left, %64 : i64
      %s = acquire %q {text = "q.push(x[i], i)"} : tensor<i64,[64]> loc("p.kdl":5:9+5)
      loop %i in %0 .. %n step %1 {
        %at = add %b, %i : i64
        %v = load %x[%at] {bounds = proven} : i64
        store %v to %s[%i] {bounds = proven}
        yield
      }
      commit %s to %q sizes(%n)
      yield
    }
    yield
  }
  stage {name = "use"} {
    loop %c in %start .. %M step %stride {
      %s.1, %m = wait %q {text = "q.pop(i)"} : tensor<i64,[64]>, i64 loc("p.kdl":9:9+5)
      loop %j in %0 .. %m step %1 {
        %to = add %c, %j : i64
        %w = load %s.1[%j] {bounds = proven} : i64
        check %w in %bad {dimension = 0, text = "t[w]"} loc("p.kdl":10:9+5)
        %sum = add %w, %1 : i64
        store %sum to %y[%to] {bounds = proven}
        yield
      }
      release %s.1 to %q
      yield
    }
    yield
  }
  return
}
)kir";

/// Has two stages, each with a large buffer, and with a small buffer that lives across the stage's waits. The
/// first stage writes both of its buffers before the second stage runs. A third stage has no pipe.
constexpr std::string_view kStagesWithScratch =
    R"(kernel @k (%y: tensor<i64,[3]> out, %ws: workspace) {
  %q = pipe in %ws {name = "q", depth = 1, from = "a", to = "b", header = 64, slot = 128, offset = 0} : pipe<i64,[1]>
  %0 = const 0 : i64
  %1 = const 1 : i64
  %5 = const 5 : i64
  %7 = const 7 : i64
  %999 = const 999 : i64
  stage {name = "a"} {
    %small = buffer_new : buffer<i64,[1]>
    %large = buffer_new : buffer<i64,[1000]>
    buffer_store %5 to %small[%0]
    buffer_store %5 to %large[%999]
    loop %i in %0 .. %5 step %1 {
      %s = acquire %q : tensor<i64,[1]>
      store %i to %s[0] {bounds = proven}
      commit %s to %q sizes(%1)
      yield
    }
    %v = buffer_load %small[%0] : i64
    %w = buffer_load %large[%999] : i64
    %sum = add %v, %w : i64
    store %sum to %y[0] {bounds = proven}
    yield
  }
  stage {name = "b"} {
    %small.1 = buffer_new : buffer<i64,[1]>
    %large.1 = buffer_new : buffer<i64,[1000]>
    buffer_store %7 to %small.1[%0]
    buffer_store %7 to %large.1[%999]
    loop %i.1 in %0 .. %5 step %1 {
      %s.1, %n = wait %q : tensor<i64,[1]>, i64
      %t = load %s.1[0] {bounds = proven} : i64
      %old = buffer_load %small.1[%0] : i64
      %new = add %old, %t : i64
      buffer_store %new to %small.1[%0]
      release %s.1 to %q
      yield
    }
    %v.1 = buffer_load %small.1[%0] : i64
    %w.1 = buffer_load %large.1[%999] : i64
    %sum.1 = add %v.1, %w.1 : i64
    store %sum.1 to %y[1] {bounds = proven}
    yield
  }
  stage {name = "c"} {
    store %7 to %y[2] {bounds = proven}
    yield
  }
  return
}
)";

struct AddOne {
  std::vector<int64_t> x;
  std::vector<int64_t> y;
  explicit AddOne(int64_t size) : x(static_cast<size_t>(size)), y(static_cast<size_t>(size), -1) {
    std::iota(x.begin(), x.end(), 0);
  }
  Call At(int64_t core_num, int64_t bad) {
    auto size = static_cast<int64_t>(x.size());
    return {{size},
            {TensorOf(x.data(), {size}), TensorOf(y.data(), {size})},
            {static_cast<uint64_t>(bad)},
            core_num};
  }
};

}  // namespace

TEST_CASE("an image describes a kernel with stages") {
  for (int opt_level : {0, 3}) {
    LoadedModule module(std::string(kTwoStages), opt_level);
    const kdl_variant& variant = module.variant("k");
    CHECK(variant.footprint_bytes == 128 + 64 + 2 * 576);
    CHECK(variant.param_count == 3);  // the runtime provides the workspace
    CHECK(variant.scratch_bytes >= 128);
    if (opt_level > 0) CHECK(variant.scratch_bytes <= 256);  // only scalars, in two frames
    CHECK(UndefinedSymbols(module.compiled().object).empty());
  }
}

TEST_CASE("the stages of a core run alternately, on any number of cores") {
  for (int opt_level : {0, 1, 2, 3}) {
    LoadedModule module(std::string(kTwoStages), opt_level);
    for (int64_t size : {0, 1, 64, 65, 700}) {
      for (int64_t cores : {1, 3, 20}) {
        AddOne data(size);
        CHECK(module.LaunchKernel("k", data.At(cores, 1000)).code == KDL_DONE);
        for (size_t i = 0; i < data.y.size(); ++i) CHECK(data.y[i] == static_cast<int64_t>(i) + 1);
      }
    }
  }
}

TEST_CASE("a trap in a stage stops its core") {
  LoadedModule module(std::string(kTwoStages), 3);
  AddOne data(700);
  Outcome outcome = module.LaunchKernel("k", data.At(1, 100));
  CHECK(outcome.code == KDL_TRAPPED);
  CHECK(outcome.stopped);
  CHECK(outcome.trap.code == KDL_TRAP_INDEX);
  CHECK(outcome.trap.index == 100);
  CHECK(module.variant("k").locations[outcome.trap.location].line == 10);
  CHECK(data.y[99] == 100);
  CHECK(data.y[100] == -1);
}

TEST_CASE("a core whose launch has stopped abandons its stages, and is not reported as stuck") {
  LoadedModule module(std::string(kTwoStages), 3);
  AddOne data(700);
  Call call = data.At(1, 1000);
  call.already_stopped = true;
  CHECK(module.LaunchKernel("k", call).code == KDL_DONE);
  CHECK(data.y[0] == -1);
}

TEST_CASE("each stage of a core has its own scratch") {
  for (int opt_level : {0, 2}) {
    LoadedModule module(std::string(kStagesWithScratch), opt_level);
    CHECK(module.variant("k").scratch_bytes >= 2 * 8000);
    std::array<int64_t, 3> y = {};
    CHECK(module.LaunchKernel("k", {{}, {TensorOf(y.data(), {3})}, {}}).code == KDL_DONE);
    CHECK(y == std::array<int64_t, 3>{10, 7 + 10 + 7, 7});
  }
}

TEST_CASE("stages compile for every processor without undefined symbols") {
  for (const Processor& processor : {X86Processor(), Avx512Processor(), Arm64Processor()}) {
    for (int opt_level : {0, 3}) {
      ir::ReadText read{std::string(kTwoStages)};
      REQUIRE_MESSAGE(read.module, read.Errors());
      Result<Backend> backend = Backend::Create(processor, opt_level);
      REQUIRE(backend.ok());
      Result<CompiledModule> compiled = CompileKernels(*backend, *read.module, {});
      REQUIRE(compiled.ok());
      CHECK(UndefinedSymbols(compiled->object).empty());
    }
  }
}

}  // namespace kdl::codegen
