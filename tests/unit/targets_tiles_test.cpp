#include <doctest/doctest.h>

#include "ir/op_info.h"
#include "ir_text.h"
#include "targets/builtin.h"

namespace kdl::targets {

namespace {

std::vector<int64_t> TilesOf(std::string text, std::string_view target = "host?isa=x86-64-v3") {
  ir::ReadText read(std::move(text));
  REQUIRE_MESSAGE(read.module, read.Errors());
  Result<std::vector<Target>> targets = BuiltinFamilies().ParseTargets(target);
  REQUIRE(targets.ok());
  const Target& host = targets->front();
  const ir::Function& kernel = *read.module->functions()[0];
  std::vector<int64_t> tiles = host.selector->Select(kernel);
  CHECK(tiles == host.selector->Select(kernel));
  return tiles;
}

std::string MatmulText(std::string_view generics) {
  return "kernel @matmul generics(" + std::string(generics) +
         R"() dims(%M, %N, %K) (%a: tensor<f32,[M,K]> in, %b: tensor<f32,[K,N]> in, %c: tensor<f32,[M,N]> out) {
  axis i = M by BM
  axis j = N by BN
  axis k = K by BK
  %0 = const 0 : i64
  %z = const 0.0 : f32
  spmd (%i: block<i> in %0 .. %M, %j: block<j> in %0 .. %N) {distribute = static} {
    %1 = broadcast %z : tile<f32; i j>
    %acc = for %k: block<k> in %0 .. %K carry(%t = %1) {
      %2 = load %a[%i, %k] {bounds = clip} : tile<f32; i k>
      %x = load %b[%k, %j] {bounds = clip} : tile<f32; j k>
      %3 = contraction %2, %x into %t over k {acc = f32, order = sequential} : tile<f32; i j>
      yield %3
    } : tile<f32; i j>
    store %acc to %c[%i, %j] {bounds = clip}
    yield
  }
  return
}
)";
}

constexpr std::string_view kElementwise =
    R"(kernel @saxpy generics(BN = auto) dims(%N) (%x: tensor<f32,[N]> in, %y: tensor<f32,[N]> inout) {
  axis i = N by BN
  %0 = const 0 : i64
  spmd (%i: block<i> in %0 .. %N) {distribute = static} {
    %1 = load %x[%i] {bounds = clip} : tile<f32; i>
    %2 = load %y[%i] {bounds = clip} : tile<f32; i>
    %3 = add %1, %2 : tile<f32; i>
    store %3 to %y[%i] {bounds = clip}
    yield
  }
  return
}
)";

constexpr std::string_view kRows =
    R"(kernel @rows generics(BR = auto, BC = auto) dims(%R, %C) (%x: tensor<f32,[R,C]> in, %y: tensor<f32,[R]> out) {
  axis r = R by BR
  axis c = C by BC
  %0 = const 0 : i64
  %z = const 0.0 : f32
  spmd (%r: block<r> in %0 .. %R) {distribute = static} {
    %1 = broadcast %z : tile<f32; r>
    %s = for %c: block<c> in %0 .. %C carry(%t = %1) {
      %2 = load %x[%r, %c] {bounds = clip} : tile<f32; r c>
      %3 = reduce sum %2 over c {acc = f32, order = lanes64} : tile<f32; r>
      %4 = add %3, %t : tile<f32; r>
      yield %4
    } : tile<f32; r>
    store %s to %y[%r] {bounds = clip}
    yield
  }
  return
}
)";

constexpr std::string_view kTwoPasses =
    R"(kernel @two generics(BR = auto, BC = auto) dims(%R, %C) (%x: tensor<f32,[R,C]> in, %y: tensor<f32,[R,C]> out) {
  axis r = R by BR
  axis c = C by BC
  axis d = C by BC
  %0 = const 0 : i64
  %z = const 0.0 : f32
  spmd (%r: block<r> in %0 .. %R) {distribute = static} {
    %1 = broadcast %z : tile<f32; r>
    %s = for %c: block<c> in %0 .. %C carry(%t = %1) {
      %2 = load %x[%r, %c] {bounds = clip} : tile<f32; r c>
      %3 = reduce sum %2 over c {acc = f32, order = lanes64} : tile<f32; r>
      %4 = add %3, %t : tile<f32; r>
      yield %4
    } : tile<f32; r>
    for %d: block<d> in %0 .. %C {
      %5 = load %x[%r, %d] {bounds = clip} : tile<f32; r d>
      %6 = div %5, %s : tile<f32; r d>
      store %6 to %y[%r, %d] {bounds = clip}
      yield
    }
    yield
  }
  return
}
)";

}  // namespace

TEST_CASE("a contraction has whole register blocks, and its rows and a panel fit into L2") {
  struct Level {
    std::string_view target;
    int64_t rows;
    int64_t columns;
    int64_t l1_bytes;
    int64_t l2_bytes;
  };
  for (const Level& level : {Level{"host?isa=x86-64-v3", 6, 16, 32 << 10, 512 << 10},
                             Level{"host?isa=x86-64-v4", 14, 32, 32 << 10, 1 << 20}}) {
    INFO(level.target);
    std::vector<int64_t> tiles =
        TilesOf(MatmulText("BM = auto, BN = auto, BK = auto"), level.target);
    REQUIRE(tiles.size() == 3);
    CHECK(tiles[0] % level.rows == 0);
    CHECK(tiles[1] % level.columns == 0);
    CHECK(tiles[0] >= 8 * level.rows);
    CHECK(tiles[1] >= 8 * level.columns);
    CHECK(level.columns * tiles[2] * 4 <= level.l1_bytes);
    CHECK((tiles[0] + level.columns) * tiles[2] * 4 <= level.l2_bytes);
  }
}

TEST_CASE("only generics that are open and auto are chosen, from their choices if they have any") {
  std::vector<int64_t> tiles = TilesOf(MatmulText("BM = 8, BN in {16, 48, 512} = auto, BK = auto"));
  REQUIRE(tiles.size() == 2);
  CHECK(tiles[0] == 48);
  tiles = TilesOf(MatmulText("BM in {1000} = auto, BN in {16, 4096} = auto, BK in {7, 5} = auto"));
  REQUIRE(tiles.size() == 3);
  CHECK(tiles[0] == 1000);
  CHECK(tiles[1] == 16);
  CHECK(tiles[2] == 7);
}

TEST_CASE("a stream has long blocks, and rows have blocks that fit into L1") {
  CHECK(TilesOf(std::string(kElementwise)) == std::vector<int64_t>{4096});
  std::vector<int64_t> rows = TilesOf(std::string(kRows));
  REQUIRE(rows.size() == 2);
  CHECK(rows[1] == 2048);  // long enough that the fixed cost of each row is small
  CHECK(rows[0] == 4);
}

TEST_CASE("tiles of consecutive loops are not live at the same time") {
  CHECK(TilesOf(std::string(kTwoPasses)) == std::vector<int64_t>{4, 2048});
}

TEST_CASE("a generic that nothing uses gets a value, too") {
  CHECK(TilesOf("kernel @k generics(B = auto) dims(%N) (%x: tensor<f32,[N]> in) {\n  return\n}\n")
            .size() == 1);
}

}  // namespace kdl::targets
