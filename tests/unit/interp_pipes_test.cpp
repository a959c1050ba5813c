#include <doctest/doctest.h>

#include <string>

#include "interp_run.h"
#include "ir/ring.h"

namespace kdl::interp {

namespace {

/// Returns a kernel that computes y = x + 1 in two stages. `pipe` declares the pipe before the stages; `push`
/// and `pop` are the ops of the stages for each block.
std::string TwoStages(const std::string& params, const std::string& pipe, const std::string& push,
                      const std::string& pop) {
  return R"(
kernel @k dims(%M) (%x: tensor<f32,[M]> in, %y: tensor<f32,[M]> out)" +
         params + R"() {
  axis i = M by 4
  axis j = M by 4
  %0 = const 0 : i64
  %1 = const 1.0 : f32
  %q = pipe )" +
         pipe + R"( : pipe<f32,[4]>
  stage {name = "make"} {
    spmd (%i: block<i> in %0 .. %M) {distribute = static, domain = "blocks"} {
      %v = load %x[%i] {bounds = clip} : tile<f32; i>
)" + push +
         R"(
      yield
    }
    yield
  }
  stage {name = "use"} {
    spmd (%j: block<j> in %0 .. %M) {distribute = static, domain = "blocks"} {
)" + pop +
         R"(
      %w = add %t, %1 : tile<f32; j>
      store %w to %y[%j] {bounds = clip}
      yield
    }
    yield
  }
  return
}
)";
}

void CheckAddsOne(const std::string& text) {
  TestModule test(text);
  for (int64_t size : {0, 1, 4, 5, 23}) {
    for (int64_t cores : {1, 2, 7}) {
      Array<float> x = RandomFloats({size}, 1);
      Array<float> y({size});
      auto ran = test.TryRun({{Argument(x), Argument(y)}, {}, {}}, cores);
      REQUIRE_MESSAGE(ran.ok(), ran.failure().message);
      REQUIRE(!ran->has_value());
      for (int64_t i = 0; i < size; ++i) CHECK(y(i) == x(i) + 1.0F);
    }
  }
}

constexpr const char* kPush = "      push %v to %q over i {text = \"q.push(v)\"}";
constexpr const char* kPop = "      %t = pop %q over j {text = \"q.pop(j)\"} : tile<f32; j>";

}  // namespace

TEST_CASE("tiles pass through a pipe of any depth") {
  CheckAddsOne(TwoStages("", "{name = \"q\", depth = 1}", kPush, kPop));
  CheckAddsOne(TwoStages("", "{name = \"q\", depth = 3}", kPush, kPop));
}

TEST_CASE("the slots of a ring buffer in the workspace") {
  CheckAddsOne(TwoStages(
      ", %ws: workspace",
      "in %ws {name = \"q\", depth = 2, from = \"make\", to = \"use\", header = 64, slot = 128, "
      "offset = 64}",
      R"kir(      %n = block_size %i : i64
      %s = acquire %q : tensor<f32,[4]>
      %from = block_start %i : i64
      store %v to %s[%i - %from] {bounds = proven}
      commit %s to %q sizes(%n))kir",
      R"kir(      %s.1, %n.1 = wait %q : tensor<f32,[4]>, i64
      %m = block_size %j : i64
      match %n.1, %m {text = "q.pop(j)"}
      %from.1 = block_start %j : i64
      %t = load %s.1[%j - %from.1] {bounds = proven} : tile<f32; j>
      release %s.1 to %q)kir"));
}

TEST_CASE("the record of a ring buffer, and the memory that an instance needs") {
  TestModule test(TwoStages(
      ", %ws: workspace",
      "in %ws {name = \"q\", depth = 2, from = \"make\", to = \"use\", header = 64, slot = 128, "
      "offset = 64}",
      kPush, kPop));
  CHECK(ir::Footprint(test.function()) == 64 + 64 + 2 * 128);
  CHECK(ir::SlotBytes(ir::PipesOf(test.function())[0]->result()->type()) == 64 + 64);
}

TEST_CASE("in a deadlock, the trap names every waiting op") {
  TestModule test(TwoStages("", "{name = \"q\", depth = 1}",
                            std::string(kPush) + "\n" + kPush + "\n" + kPush, kPop));
  Array<float> x({4});
  Array<float> y({4});
  auto ran = test.TryRun({{Argument(x), Argument(y)}, {}, {}});
  REQUIRE(ran.ok());
  REQUIRE(ran->has_value());
  CHECK((**ran).code == KDL_TRAP_STUCK);
  CHECK((**ran).text.find("'q.push(v)' waits for a free slot of 'q'") != std::string::npos);

  TestModule two(TwoStages("", "{name = \"q\", depth = 1}", "", kPop));
  ran = two.TryRun({{Argument(x), Argument(y)}, {}, {}});
  REQUIRE((ran.ok() && ran->has_value()));
  CHECK((**ran).text.find("'q.pop(j)' waits for a tile of 'q'") != std::string::npos);
}

TEST_CASE("a tile of another size than the block that pops it causes a trap") {
  std::string text = TwoStages("", "{name = \"q\", depth = 1}", kPush, kPop);
  size_t second = text.rfind("%0 .. %M");
  text.replace(second, 2, "%2");
  text.replace(text.find("  %q = pipe"), 0, "  %2 = const 2 : i64\n");
  TestModule test(text);
  Array<float> x({5});
  Array<float> y({5});
  auto ran = test.TryRun({{Argument(x), Argument(y)}, {}, {}});
  REQUIRE((ran.ok() && ran->has_value()));
  CHECK((**ran).code == KDL_TRAP_TILE_SIZE);
}

}  // namespace kdl::interp
