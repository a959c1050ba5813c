#include "ir/op_kind.h"
#include "lowering_run.h"

// Tests stages and pipes in the lowering, both with buffered pipes and with fused stages. After every pass,
// each kernel must behave as before the pass.

namespace kdl::cpu {

namespace {

const std::vector<Dims> kShapes = {{{"M", 0}, {"N", 3}},
                                   {{"M", 1}, {"N", 1}},
                                   {{"M", 4}, {"N", 8}},
                                   {{"M", 5}, {"N", 9}},
                                   {{"M", 13}, {"N", 31}}};

/// Returns a kernel over blocks of 4 x 8. `body` declares its pipes and stages.
std::string Kernel(const std::string& body) {
  return R"(
kernel @k dims(%M, %N) (%x: tensor<f32,[M,N]> in, %y: tensor<f32,[M,N]> out, %z: tensor<f32,[M,N]> out) {
  axis i = M by 4
  axis j = N by 8
  axis i.1 = M by 4
  axis j.1 = N by 8
  axis i.2 = M by 4
  axis j.2 = N by 8
  axis k = 3 by 1
  axis k.1 = 3 by 1
  %0 = const 0 : i64
  %3 = const 3 : i64
  %one = const 1.0 : f32
  %two = const 2.0 : f32
)" + body +
         "  return\n}\n";
}

std::string Stage(const std::string& name, const std::string& number, const std::string& body) {
  std::string i = "i" + number;
  std::string j = "j" + number;
  return "  stage {name = \"" + name + "\"} {\n    spmd (%" + i + ": block<" + i +
         "> in %0 .. %M, %" + j + ": block<" + j +
         "> in %0 .. %N) {distribute = static, domain = \"blocks\"} {\n" + body +
         "      yield\n    }\n    yield\n  }\n";
}

std::string Pipe(const std::string& name, int depth) {
  return "  %" + name + " = pipe {depth = " + std::to_string(depth) + ", name = \"" + name +
         "\"} : pipe<f32,[4,8]>\n";
}

/// Returns a kernel that computes y = 2 x + 1 through one pipe.
std::string OnePipe(int depth) {
  return Kernel(Pipe("q", depth) + Stage("make", "", R"(
      %v = load %x[%i, %j] {bounds = clip} : tile<f32; i j>
      %w = mul %v, %two : tile<f32; i j>
      push %w to %q over i, j
)") + Stage("use", ".1", R"(
      %p = pop %q over i.1, j.1 : tile<f32; i.1 j.1>
      %r = add %p, %one : tile<f32; i.1 j.1>
      store %r to %y[%i.1, %j.1] {bounds = clip}
)"));
}

/// Returns a kernel whose first stage pushes tiles, and pops what the second stage computes from them.
std::string Opposite(int depth) {
  return Kernel(Pipe("q", depth) + Pipe("back", depth) + Stage("first", "", R"(
      %v = load %x[%i, %j] {bounds = clip} : tile<f32; i j>
      push %v to %q over i, j
      %b = pop %back over i, j : tile<f32; i j>
      %s = add %b, %v : tile<f32; i j>
      store %s to %y[%i, %j] {bounds = clip}
)") + Stage("second", ".1", R"(
      %p = pop %q over i.1, j.1 : tile<f32; i.1 j.1>
      %r = mul %p, %two : tile<f32; i.1 j.1>
      push %r to %back over i.1, j.1
      store %r to %z[%i.1, %j.1] {bounds = clip}
)"));
}

/// Returns a kernel with three stages and three pipes. The pipe `far` goes directly from the first stage to
/// the third, and also carries the sums of the rows.
std::string ThreeStages() {
  return Kernel(Pipe("q", 1) + Pipe("r", 2) + Pipe("far", 8) + Stage("a", "", R"(
      %v = load %x[%i, %j] {bounds = clip} : tile<f32; i j>
      push %v to %q over i, j
      %n = reduce sum %v over j {acc = f32, order = lanes64} : tile<f32; i>
      push %n to %far over i, j
)") + Stage("b", ".1", R"(
      %p = pop %q over i.1, j.1 : tile<f32; i.1 j.1>
      %r.1 = mul %p, %p : tile<f32; i.1 j.1>
      push %r.1 to %r over i.1, j.1
)") + Stage("c", ".2", R"(
      %s = pop %far over i.2, j.2 : tile<f32; i.2 j.2>
      %t = pop %r over i.2, j.2 : tile<f32; i.2 j.2>
      %u = add %s, %t : tile<f32; i.2 j.2>
      store %u to %y[%i.2, %j.2] {bounds = clip}
)"));
}

/// Returns a kernel in which both stages contain a loop. One of these loops carries a sum.
std::string InnerLoops() {
  return Kernel(Pipe("q", 2) + Stage("a", "", R"(
      %v = load %x[%i, %j] {bounds = clip} : tile<f32; i j>
      %last = for %k: block<k> in %0 .. %3 carry(%c = %v) {
        %d = mul %c, %two : tile<f32; i j>
        push %d to %q over i, j
        yield %d
      } : tile<f32; i j>
      store %last to %z[%i, %j] {bounds = clip}
)") + Stage("b", ".1", R"(
      %zero = broadcast %one : tile<f32; i.1 j.1>
      %sum = for %k.1: block<k.1> in %0 .. %3 carry(%acc = %zero) {
        %p = pop %q over i.1, j.1 : tile<f32; i.1 j.1>
        %e = add %acc, %p : tile<f32; i.1 j.1>
        yield %e
      } : tile<f32; i.1 j.1>
      store %sum to %y[%i.1, %j.1] {bounds = clip}
)"));
}

/// Returns a kernel whose stages have equal rates but different loops: one stage pushes three times in a row,
/// and the other pops in a loop.
std::string OutOfStep() {
  return Kernel(Pipe("q", 2) + Stage("a", "", R"(
      %v = load %x[%i, %j] {bounds = clip} : tile<f32; i j>
      push %v to %q over i, j
      push %v to %q over i, j
      %w = add %v, %one : tile<f32; i j>
      push %w to %q over i, j
)") + Stage("b", ".1", R"(
      %zero = broadcast %one : tile<f32; i.1 j.1>
      %sum = for %k: block<k> in %0 .. %3 carry(%acc = %zero) {
        %p = pop %q over i.1, j.1 : tile<f32; i.1 j.1>
        %e = add %acc, %p : tile<f32; i.1 j.1>
        yield %e
      } : tile<f32; i.1 j.1>
      store %sum to %y[%i.1, %j.1] {bounds = clip}
)"));
}

int CountOps(const TestKernel& test, ir::OpKind kind) {
  int count = 0;
  ir::Walk(test.kernel().body, [&](const ir::Op* op) { count += op->kind() == kind ? 1 : 0; });
  return count;
}

bool Fuses(const std::string& text) {
  TestKernel test(text);
  test.Apply(kLayOutPipes);
  test.Apply(kInjectPipeBuffers);
  test.Apply(kFuseStages);
  return CountOps(test, ir::OpKind::Stage) == 0;
}

void CheckBothWays(const std::string& text) {
  for (PipeMode mode : {PipeMode::Buffered, PipeMode::Auto}) {
    LoweringRuns runs = CheckLowering(text, kShapes, kLoweringPipeline, mode);
    CHECK(runs.ended > 0);
    CHECK(runs.trapped == 0);
  }
}

}  // namespace

TEST_CASE("one pipe, with several depths") {
  for (int depth : {1, 2, 8}) CheckBothWays(OnePipe(depth));
  CHECK(Fuses(OnePipe(2)));
}

TEST_CASE("positions in the other order, with ops that may trap") {
  std::string text =
      Kernel("  %p = pipe {depth = 1, name = \"p\"} : pipe<f32,[8,4]>\n" + Stage("make", "", R"(
      %v = load %x[%i, %j] {bounds = guard, text = "x[i, j]"} : tile<f32; i j>
      push %v to %p over j, i
)") + Stage("use", ".1", R"(
      %w = pop %p over j.1, i.1 : tile<f32; i.1 j.1>
      store %w to %y[%i.1, %j.1] {bounds = clip}
)"));
  CheckBothWays(text);
}

TEST_CASE("two opposite pipes") {
  for (int depth : {1, 2, 8}) CheckBothWays(Opposite(depth));
  CHECK(Fuses(Opposite(1)));
}

TEST_CASE("three stages, three pipes") {
  CheckBothWays(ThreeStages());
  CHECK(Fuses(ThreeStages()));
}

TEST_CASE("loops in step, inside of blocks") {
  CheckBothWays(InnerLoops());
  CHECK(Fuses(InnerLoops()));
}

TEST_CASE("stages that are not in step are not fused") {
  CheckBothWays(OutOfStep());
  CHECK(!Fuses(OutOfStep()));
}

TEST_CASE("ring buffers are placed one after another, and the workspace is injected once") {
  TestKernel test(ThreeStages());
  test.Apply(kLayOutPipes);
  int64_t end = 0;
  for (const ir::Op* pipe : ir::PipesOf(test.kernel())) {
    ir::Ring ring = ir::RingOf(pipe);
    CHECK(ring.offset == end);
    CHECK(ring.slot == 64 + 4 * 8 * 4);
    end += ring.bytes();
  }
  CHECK(ir::Footprint(test.kernel()) == end);
  CHECK(end == 3 * 64 + (1 + 2 + 8) * 192);
  test.Apply(kInjectPipeBuffers);
  std::string once = test.Text();
  test.Apply(kInjectPipeBuffers);
  CHECK(test.Text() == once);
}

TEST_CASE("pipes on the chip need no workspace") {
  TestKernel test(OnePipe(2));
  ProcessorFacts facts;
  facts.pipes_on_chip = true;
  test.facts = &facts;
  std::string before = ir::Print(test.kernel());
  test.Apply(kLayOutPipes);
  test.Apply(kInjectPipeBuffers);
  CHECK(ir::Print(test.kernel()) == before);
}

namespace {

/// A small version of the loop that computes a row of attention. Tiles pass between the engines in both
/// directions, and the vector engine carries values between iterations.
const char* kBothDirections = R"(
kernel @k dims(%M, %N, %D) (%q: tensor<f32,[M,D]> in, %c: tensor<f32,[N,D]> in, %v: tensor<f32,[N,D]> in, %o: tensor<f32,[M,D]> out) {
  axis i = M by 4
  axis j = N by 8
  axis d = D by 16
  axis e = D by 16
  %0 = const 0 : i64
  %zero = const 0.0 : f32
  %half = const 0.5 : f32
  spmd (%i: block<i> in %0 .. %M, %e: block<e> in %0 .. %D) {distribute = static} {
    %a = broadcast %zero : tile<f32; i e>
    %s = broadcast %zero : tile<f32; i>
    %acc, %sum = for %j: block<j> in %0 .. %N carry(%a.1 = %a, %s.1 = %s) {
      %z = broadcast %zero : tile<f32; i j>
      %p = for %d: block<d> in %0 .. %D carry(%z.1 = %z) {
        %x = load %q[%i, %d] {bounds = clip} : tile<f32; i d>
        %y = load %c[%j, %d] {bounds = clip} : tile<f32; j d>
        %t = contraction %x, %y into %z.1 over d {acc = f32, order = sequential} : tile<f32; i j>
        yield %t
      } : tile<f32; i j>
      %w = mul %p, %half : tile<f32; i j>
      %r = reduce max %w over j {acc = f32, order = lanes64} : tile<f32; i>
      %s.2 = add %s.1, %r : tile<f32; i>
      %b = load %v[%j, %e] {bounds = clip} : tile<f32; j e>
      %n = broadcast %zero : tile<f32; i e>
      %u = contraction %w, %b into %n over j {acc = f32, order = sequential} : tile<f32; i e>
      %a.2 = fma %a.1, %s.2, %u : tile<f32; i e>
      yield %a.2, %s.2
    } : tile<f32; i e>, tile<f32; i>
    %out = add %acc, %sum : tile<f32; i e>
    store %out to %o[%i, %e] {bounds = clip}
    yield
  }
  return
}
)";

const char* kMatmul = R"(
kernel @k dims(%M, %N, %D) (%q: tensor<f32,[M,D]> in, %c: tensor<f32,[N,D]> in, %o: tensor<f32,[M,N]> out) {
  axis i = M by 4
  axis j = N by 8
  axis d = D by 16
  %0 = const 0 : i64
  %zero = const 0.0 : f32
  spmd (%i: block<i> in %0 .. %M, %j: block<j> in %0 .. %N) {distribute = static} {
    %z = broadcast %zero : tile<f32; i j>
    %p = for %d: block<d> in %0 .. %D carry(%z.1 = %z) {
      %x = load %q[%i, %d] {bounds = clip} : tile<f32; i d>
      %y = load %c[%j, %d] {bounds = clip} : tile<f32; j d>
      %t = contraction %x, %y into %z.1 over d {acc = f32, order = sequential} : tile<f32; i j>
      yield %t
    } : tile<f32; i j>
    store %p to %o[%i, %j] {bounds = clip}
    yield
  }
  return
}
)";

std::string CutText(const std::string& text) {
  TestKernel test(text);
  ProcessorFacts facts;
  facts.split_engines = true;
  test.facts = &facts;
  test.Apply(kPartitionByEngine);
  return test.Text();
}

}  // namespace

TEST_CASE("a kernel is partitioned by engine, with the same results") {
  std::vector<Dims> shapes = {{{"M", 1}, {"N", 1}, {"D", 1}},
                              {{"M", 4}, {"N", 8}, {"D", 16}},
                              {{"M", 5}, {"N", 17}, {"D", 19}},
                              {{"M", 3}, {"N", 0}, {"D", 5}},
                              {{"M", 9}, {"N", 9}, {"D", 0}}};
  for (PipeMode mode : {PipeMode::Buffered, PipeMode::Auto}) {
    ProcessorFacts facts;
    facts.split_engines = true;
    LoweringRuns runs = CheckLoweringFor(facts, kBothDirections, shapes, kLoweringPipeline, mode);
    CHECK(runs.ended == 15);
  }
  std::string text = CutText(kBothDirections);
  CHECK(text.find("stage {name = \"matrix\"}") != std::string::npos);
  CHECK(text.find("push %p.1 to %p") != std::string::npos);
}

TEST_CASE("an engine without work gets no stage") {
  CHECK(CutText(kMatmul).find("stage") == std::string::npos);
}

}  // namespace kdl::cpu
