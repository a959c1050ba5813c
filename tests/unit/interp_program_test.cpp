#include <doctest/doctest.h>

#include "interp/memory_host.h"
#include "interp_run.h"

namespace kdl::interp {

namespace {

constexpr const char* kKernels = R"(
kernel @scale dims(%N) (%a: f32, %x: tensor<f32,[N]> in, %y: tensor<f32,[N]> out) {
  axis i = N by 4
  %0 = const 0 : i64
  spmd (%i: block<i> in %0 .. %N) {distribute = static} {
    %t = load %x[%i] {bounds = clip} : tile<f32; i>
    %u = mul %t, %a : tile<f32; i>
    store %u to %y[%i] {bounds = clip}
    yield
  }
  return
}

kernel @pick dims(%N) (%n: i64, %x: tensor<f32,[N]> in, %y: tensor<f32,[1]> out) {
  %v = load %x[%n] {bounds = guard, text = "x[n]"} : f32 loc("p.kdl":2:5+4)
  store %v to %y[0] {bounds = proven}
  return
}
)";

struct ProgramRun {
  TestModule test;
  MemoryHost host;

  explicit ProgramRun(const std::string& program)
      : test(std::string("device @cpu = \"host\"\n") + kKernels + program),
        host(test.module(), 3, {1}) {}

  Status RunAndFinish(std::vector<TensorArgument> tensors, std::vector<uint64_t> scalars) {
    ProgramArguments arguments;
    for (TensorArgument& tensor : tensors) {
      arguments.tensors.push_back({host.Wrap(tensor), tensor.scalar, tensor.sizes});
    }
    arguments.scalars = std::move(scalars);
    const ir::Function& program = *test.module().functions().back();
    Status status = RunProgram(test.module(), program, arguments, host);
    return status.ok() ? host.Finish() : status;
  }
};

constexpr const char* kChain = R"(
program @chain dims(%N) (%times: i64, %x: tensor<f32,[N]> in, %y: tensor<f32,[N]> out, %z: tensor<f32,[1]> out) {
  %h = alloc "h" on @cpu : tensor<f32,[N]>
  %two = const 2.0 : f32
  %0 = const 0 : i64
  %1 = const 1 : i64
  %x1, %e0 = transfer %x to @cpu queue 0 after() {cause = "scale reads x"} : tensor<f32,[N]>, event
  %e1 = launch @scale on @cpu queue 0 cores(%times) (%two, %x1, %h) after(%e0) : event
  loop %n in %0 .. %times step %1 {
    %e2 = launch @scale on @cpu queue 1 cores(%1) (%two, %h, %y) after() : event
    %e3 = launch @scale on @cpu queue 0 (%two, %y, %h) after(%e2) : event
    yield
  }
  %last = sub %N, %1 : i64
  %e4 = launch @pick on @cpu queue 0 (%last, %y, %z) after(%e1) : event
  free %h after(%e4)
  return
}
)";

}  // namespace

TEST_CASE("a program launches, loops and frees") {
  ProgramRun run(kChain);
  Array<float> x({6});
  for (int i = 0; i < 6; ++i) x(i) = static_cast<float>(i);
  Array<float> y({6});
  Array<float> z({1});
  Status status = run.RunAndFinish({Argument(x), Argument(y), Argument(z)}, {2});
  REQUIRE_MESSAGE(status.ok(), status.failure().message);
  for (int i = 0; i < 6; ++i) CHECK(y(i) == 16.0F * x(i));
  CHECK(z(0) == 80.0F);
  CHECK(run.host.launch_count() == 6);
}

TEST_CASE("an invalid number of cores is reported with its launch and value") {
  ProgramRun run(kChain);
  Array<float> x({6});
  Array<float> y({6});
  Array<float> z({1});
  Status status =
      run.RunAndFinish({Argument(x), Argument(y), Argument(z)}, {static_cast<uint64_t>(-2)});
  REQUIRE(!status.ok());
  CHECK(status.failure().message.find("launch of 'scale': core_num is -2") != std::string::npos);
}

TEST_CASE("the sizes of a launch are checked") {
  ProgramRun run(R"(
program @p dims(%N, %M) (%x: tensor<f32,[N]> in, %y: tensor<f32,[M]> out) {
  %two = const 2.0 : f32
  %e = launch @scale on @cpu queue 0 (%two, %x, %y) after() : event loc("p.kdl":9:5+7)
  return
}
)");
  Array<float> x({6});
  Array<float> y({5});
  Status status = run.RunAndFinish({Argument(x), Argument(y)}, {});
  REQUIRE(!status.ok());
  CHECK(status.failure().message ==
        "p.kdl:9:5: error: launch of 'scale': size N is 6 from x[N] dimension 0, but y[N] "
        "dimension 0 is 5");
}

TEST_CASE("a trap ends the program's work and is reported at the end") {
  ProgramRun run(R"(
program @p dims(%N) (%x: tensor<f32,[N]> in, %y: tensor<f32,[1]> out, %z: tensor<f32,[N]> out) {
  %two = const 2.0 : f32
  %e = launch @pick on @cpu queue 0 (%N, %x, %y) after() : event
  %f = launch @scale on @cpu queue 0 (%two, %x, %z) after(%e) : event
  return
}
)");
  Array<float> x({6}, 1.0F);
  Array<float> y({1});
  Array<float> z({6});
  Status status = run.RunAndFinish({Argument(x), Argument(y), Argument(z)}, {});
  REQUIRE(!status.ok());
  CHECK(status.failure().message ==
        "p.kdl:2:5: error: index 6 is outside dimension 0 of size 6 in 'x[n]'");
  CHECK(z(0) == 0.0F);
}

TEST_CASE("sizes of local tensors are checked") {
  ProgramRun run(R"(
program @p dims(%N) (%x: tensor<f32,[N]> in) {
  %h = alloc "h" on @cpu : tensor<f32,[(N - 8),4]>
  free %h after()
  return
}
)");
  Array<float> x({6});
  Status status = run.RunAndFinish({Argument(x)}, {});
  REQUIRE(!status.ok());
  CHECK(status.failure().message.find("tensor 'h' would be f32[-2, 4]") != std::string::npos);
  Array<float> nine({9});
  CHECK(run.RunAndFinish({Argument(nine)}, {}).ok());
}

TEST_CASE("constants are parsed from their text") {
  CHECK(ParseConstants("BM=64, T=f32, BN = 32") == Constants{{"BM", 64}, {"BN", 32}});
  CHECK(ParseConstants("").empty());
}

}  // namespace kdl::interp
