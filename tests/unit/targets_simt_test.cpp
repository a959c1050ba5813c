#include <doctest/doctest.h>

#include "ir/op_kind.h"
#include "targets/simt/instructions.h"
#include "targets/simt/pipelines.h"
#include "workgroup_lowering.h"

// Tests that the lowering for workgroups does not change any bit. Each kernel is interpreted before the first
// pass and after every pass, and all runs must give the same bits. Once tiles are distributed to threads, the
// interpreter runs each thread. The tests notice when a barrier is removed.

namespace kdl::simt {

namespace {

constexpr auto kPasses = Both(kPipePipeline, kLoopPipeline);
constexpr WorkgroupLowering kLowering{kPasses, kMatrixInstructions};

SimtFacts WorkgroupOf(int64_t threads) {
  SimtFacts facts;
  facts.threads = threads;
  return facts;
}

void CheckLowering(const std::string& text, const std::vector<Dims>& shapes) {
  for (int64_t threads : {1, 4, 64}) CheckLowering(kLowering, text, WorkgroupOf(threads), shapes);
}

size_t CheckBarriers(const std::string& text, const std::vector<Dims>& shapes,
                     int64_t threads = 4) {
  return CheckMissed(kLowering, text, WorkgroupOf(threads), ir::OpKind::Barrier, shapes);
}

constexpr const char* kMatmul = R"(
kernel @matmul dims(%M, %N, %K) (%a: tensor<f32,[M,K]> in, %b: tensor<f32,[K,N]> in, %c: tensor<f32,[M,N]> out) {
  axis i = M by 4
  axis j = N by 8
  axis k = K by 4
  %0 = const 0 : i64
  %z = const 0.0 : f32
  spmd (%i: block<i> in %0 .. %M, %j: block<j> in %0 .. %N) {distribute = static} {
    %init = broadcast %z : tile<f32; i j>
    %acc = for %k: block<k> in %0 .. %K carry(%t = %init) {
      %x = load %a[%i, %k] {bounds = clip} : tile<f32; i k>
      %y = load %b[%k, %j] {bounds = clip} : tile<f32; j k>
      %u = contraction %x, %y into %t over k {acc = f32, order = sequential} : tile<f32; i j>
      yield %u
    } : tile<f32; i j>
    store %acc to %c[%i, %j] {bounds = clip}
    yield
  }
  return
}
)";

// In the second product, the rows of the result are those of the second factor, whose terms are contiguous in
// memory.
constexpr const char* kMatrixProduct = R"(
kernel @product dims(%M, %N, %K) (%a: tensor<bf16,[M,K]> in, %b: tensor<bf16,[K,N]> in, %d: tensor<bf16,[N,K]> in, %c: tensor<f32,[M,N]> out, %e: tensor<f32,[N,M]> out) {
  axis i = M by 32
  axis j = N by 16
  axis k = K by 32
  %0 = const 0 : i64
  %z = const 0.0 : f32
  spmd (%i: block<i> in %0 .. %M, %j: block<j> in %0 .. %N) {distribute = static} {
    %t = broadcast %z : tile<f32; i j>
    %s, %r = for %k: block<k> in %0 .. %K carry(%p = %t, %q = %t) {
      %x = load %a[%i, %k] {bounds = clip} : tile<bf16; i k>
      %y = load %b[%k, %j] {bounds = clip} : tile<bf16; j k>
      %w = load %d[%j, %k] {bounds = clip} : tile<bf16; j k>
      %u = contraction %x, %y into %p over k {acc = f32, order = sequential, instruction = "simt.mma_bf16"} : tile<f32; i j>
      %v = contraction %w, %x into %q over k {acc = f32, order = sequential, instruction = "simt.mma_bf16"} : tile<f32; i j>
      yield %u, %v
    } : tile<f32; i j>, tile<f32; i j>
    store %s to %c[%i, %j] {bounds = clip}
    store %r to %e[%j, %i] {bounds = clip}
    yield
  }
  return
}
)";

constexpr const char* kOneMatrixProduct = R"(
kernel @product dims(%M, %N, %K) (%a: tensor<bf16,[M,K]> in, %b: tensor<bf16,[K,N]> in, %c: tensor<f32,[M,N]> out) {
  axis i = M by 32
  axis j = N by 16
  axis k = K by 32
  %0 = const 0 : i64
  %z = const 0.0 : f32
  spmd (%i: block<i> in %0 .. %M, %j: block<j> in %0 .. %N) {distribute = static} {
    %t = broadcast %z : tile<f32; i j>
    %s = for %k: block<k> in %0 .. %K carry(%p = %t) {
      %x = load %a[%i, %k] {bounds = clip} : tile<bf16; i k>
      %y = load %b[%k, %j] {bounds = clip} : tile<bf16; j k>
      %u = contraction %x, %y into %p over k {acc = f32, order = sequential, instruction = "simt.mma_bf16"} : tile<f32; i j>
      yield %u
    } : tile<f32; i j>
    store %s to %c[%i, %j] {bounds = clip}
    yield
  }
  return
}
)";

// The layout of the factors in memory depends on the arguments of TensorTilesOf.
constexpr const char* kTensorTiles = R"(
kernel @boxes dims(%M, %N, %K, %H) (%a: tensor<bf16,[SIZES_A]> in, %b: tensor<bf16,[SIZES_B]> in, %c: tensor<f32,[M,N]> out) {
  axis i = M by 64
  axis j = N by COLUMNS
  axis k = K by 64
  %0 = const 0 : i64
  %z = const 0.0 : f32
  spmd (%i: block<i> in %0 .. %M, %j: block<j> in %0 .. %N) {distribute = static} {
    %t = broadcast %z : tile<f32; i j>
    %s = for %k: block<k> in %0 .. %H carry(%p = %t) {
      %x = load %a[PLACE_A] {bounds = clip} : tile<bf16; i k>
      %y = load %b[PLACE_B] {bounds = clip} : tile<bf16; j k>
      %u = contraction %x, %y into %p over k {acc = f32, order = sequential, instruction = "simt.wgmma_bf16"} : tile<f32; i j>
      yield %u
    } : tile<f32; i j>
    store %s to %c[%i, %j] {bounds = clip}
    yield
  }
  return
}
)";

// In each iteration, a factor of the first product comes from before the loop, and a factor of the second
// product is computed from the first product's result. Rows are scaled; they are reduced both in any order
// and in sequential order.
constexpr const char* kTurns = R"(
kernel @turns dims(%L, %S, %D, %H) (%q: tensor<bf16,[L,D]> in, %k: tensor<bf16,[S,D]> in, %v: tensor<bf16,[S,D]> in, %o: tensor<f32,[L,D]> out) {
  axis i = L by 64
  axis d = D by 64
  axis e = D by 64
  axis j = S by 64
  %0 = const 0 : i64
  %z = const 0.0 : f32
  %d = make_block %0, %D, %0 : block<d>
  %e = make_block %0, %D, %0 : block<e>
  spmd (%i: block<i> in %0 .. %L) {distribute = static} {
    %x = load %q[%i, %d] {bounds = clip} : tile<bf16; i d>
    %init = broadcast %z : tile<f32; i e>
    %last = for %j: block<j> in %0 .. %H carry(%acc = %init) {
      %y = load %k[%j, %d] {bounds = clip} : tile<bf16; d j>
      %zero = broadcast %z : tile<f32; i j>
      %s = contraction %x, %y into %zero over d {acc = f32, order = sequential, instruction = "simt.wgmma_bf16"} : tile<f32; i j>
      %m = reduce max %s over j {acc = f32, order = sequential} : tile<f32; i>
      %p = sub %s, %m : tile<f32; i j>
      %n = cast %p : tile<bf16; i j>
      %f = reduce sum %p over j {acc = f32, order = sequential} : tile<f32; i>
      %w = load %v[%j, %e] {bounds = clip} : tile<bf16; e j>
      %scaled = mul %acc, %f : tile<f32; i e>
      %u = contraction %n, %w into %scaled over j {acc = f32, order = sequential, instruction = "simt.wgmma_bf16"} : tile<f32; i e>
      yield %u
    } : tile<f32; i e>
    store %last to %o[%i, %e] {bounds = clip}
    yield
  }
  return
}
)";

// One factor is the same in all iterations.
constexpr const char* kScores = R"(
kernel @scores dims(%L, %S, %D) (%q: tensor<bf16,[L,D]> in, %k: tensor<bf16,[S,D]> in, %o: tensor<f32,[L,S]> out) {
  axis i = L by 64
  axis d = D by 64
  axis j = S by 64
  %0 = const 0 : i64
  %z = const 0.0 : f32
  %d = make_block %0, %D, %0 : block<d>
  spmd (%i: block<i> in %0 .. %L) {distribute = static} {
    %x = load %q[%i, %d] {bounds = clip} : tile<bf16; i d>
    for %j: block<j> in %0 .. %S {
      %y = load %k[%j, %d] {bounds = clip} : tile<bf16; d j>
      %zero = broadcast %z : tile<f32; i j>
      %u = contraction %x, %y into %zero over d {acc = f32, order = sequential, instruction = "simt.wgmma_bf16"} : tile<f32; i j>
      store %u to %o[%i, %j] {bounds = clip}
      yield
    }
    yield
  }
  return
}
)";

std::string TensorTilesOf(bool turns_a, bool turns_b, int64_t columns) {
  std::string text = kTensorTiles;
  auto replace = [&](const std::string& what, const std::string& by) {
    text.replace(text.find(what), what.size(), by);
  };
  replace("SIZES_A", turns_a ? "K,M" : "M,K");
  replace("PLACE_A", turns_a ? "%k, %i" : "%i, %k");
  replace("SIZES_B", turns_b ? "N,K" : "K,N");
  replace("PLACE_B", turns_b ? "%j, %k" : "%k, %j");
  replace("COLUMNS", std::to_string(columns));
  return text;
}

// The products are added to existing values.
constexpr const char* kAddsTo = R"(
kernel @adds dims(%M, %N, %K) (%a: tensor<i32,[M,K]> in, %b: tensor<i32,[N,K]> in, %c: tensor<i32,[M,N]> inout) {
  axis i = M by 8
  axis j = N by 8
  axis k = K by 4
  %0 = const 0 : i64
  spmd (%i: block<i> in %0 .. %M, %j: block<j> in %0 .. %N) {distribute = static} {
    %init = load %c[%i, %j] {bounds = clip} : tile<i32; i j>
    %acc = for %k: block<k> in %0 .. %K carry(%t = %init) {
      %x = load %a[%i, %k] {bounds = clip} : tile<i32; i k>
      %y = load %b[%j, %k] {bounds = clip} : tile<i32; j k>
      %u = contraction %y, %x into %t over k {acc = i32, order = sequential} : tile<i32; i j>
      yield %u
    } : tile<i32; i j>
    store %acc to %c[%i, %j] {bounds = clip}
    yield
  }
  return
}
)";

// Each iteration's sum includes the sum of the previous iteration. Other products start from zero, and an
// elementwise loop changes the sum in place.
constexpr const char* kScaled = R"(
kernel @scaled dims(%M, %N, %K) (%a: tensor<f32,[M,K]> in, %b: tensor<f32,[K,N]> in, %s: tensor<f32,[M]> in, %c: tensor<f32,[M,N]> out) {
  axis i = M by 4
  axis j = N by 8
  axis k = K by 4
  %0 = const 0 : i64
  %z = const 0.0 : f32
  spmd (%i: block<i> in %0 .. %M, %j: block<j> in %0 .. %N) {distribute = static} {
    %init = broadcast %z : tile<f32; i j>
    %f = load %s[%i] {bounds = clip} : tile<f32; i>
    %acc = for %k: block<k> in %0 .. %K carry(%t = %init) {
      %x = load %a[%i, %k] {bounds = clip} : tile<f32; i k>
      %y = load %b[%k, %j] {bounds = clip} : tile<f32; j k>
      %u = contraction %x, %y into %init over k {acc = f32, order = sequential} : tile<f32; i j>
      %p = mul %t, %f : tile<f32; i j>
      %n = add %p, %u : tile<f32; i j>
      yield %n
    } : tile<f32; i j>
    store %acc to %c[%i, %j] {bounds = clip}
    yield
  }
  return
}
)";

// The tile of the first product is also read by columns. It is a factor of the second product, whose result
// has the rows as its last dimension.
constexpr const char* kTwoProducts = R"(
kernel @two dims(%M, %N, %K) (%a: tensor<f32,[M,K]> in, %b: tensor<f32,[N,K]> in, %c: tensor<f32,[N,M]> inout, %d: tensor<f32,[K,M]> out) {
  axis i = M by 6
  axis j = N by 17
  axis k = K by 13
  %0 = const 0 : i64
  %z = const 0.0 : f32
  spmd (%i: block<i> in %0 .. %M, %j: block<j> in %0 .. %N, %k: block<k> in %0 .. %K) {distribute = static} {
    %x = load %a[%i, %k] {bounds = clip} : tile<f32; i k>
    %y = load %b[%j, %k] {bounds = clip} : tile<f32; j k>
    %t = load %c[%j, %i] {bounds = clip} : tile<f32; i j>
    %u = contraction %x, %y into %t over k {acc = f32, order = sequential} : tile<f32; i j>
    %m = reduce max %u over j {acc = f32, order = sequential} : tile<f32; i>
    %e = sub %u, %m : tile<f32; i j>
    store %e to %c[%j, %i] {bounds = clip}
    %v = broadcast %z : tile<f32; i k>
    %w = contraction %y, %u into %v over j {acc = f32, order = sequential} : tile<f32; i k>
    store %w to %d[%k, %i] {bounds = clip}
    yield
  }
  return
}
)";

constexpr const char* kRowSums = R"(
kernel @rows dims(%R, %C) (%x: tensor<f32,[R,C]> in, %y: tensor<f32,[R,C]> out) {
  axis r = R by 3
  axis c = C by 70
  %0 = const 0 : i64
  spmd (%r: block<r> in %0 .. %R, %c: block<c> in %0 .. %C) {distribute = static} {
    %v = load %x[%r, %c] {bounds = clip} : tile<f32; r c>
    %m = reduce max %v over c {acc = f32, order = lanes64} : tile<f32; r>
    %s = reduce sum %v over c {acc = f32, order = sequential} : tile<f32; r>
    %d = sub %v, %m : tile<f32; r c>
    %e = mul %d, %s : tile<f32; r c>
    store %e to %y[%r, %c] {bounds = clip}
    yield
  }
  return
}
)";

constexpr const char* kRunningSums = R"(
kernel @scans dims(%R, %C) (%x: tensor<f32,[R,C]> in, %y: tensor<f32,[R,C]> out) {
  axis r = R by 3
  axis c = C by 70
  %0 = const 0 : i64
  %z = const 0.0 : f32
  spmd (%r: block<r> in %0 .. %R, %c: block<c> in %0 .. %C) {distribute = static} {
    %v = load %x[%r, %c] {bounds = clip} : tile<f32; r c>
    %s = scan carry(%a = %z) (%e in %v) {axes = (c), keep = after, direction = down} {
      %n = add %a, %e : f32
      yield %n
    } : tile<f32; r c>
    store %s to %y[%r, %c] {bounds = clip}
    yield
  }
  return
}
)";

// The stages have different rates: tiles are produced in blocks of 4 and consumed in two loops, one of which
// needs more than one block at a time.
constexpr const char* kStages = R"(
kernel @stages dims(%R, %C) (%x: tensor<f32,[R,C]> in, %y: tensor<f32,[R,C]> out) {
  axis c = C by 4
  axis d = C by 4
  %0 = const 0 : i64
  %1 = const 1 : i64
  %q = pipe {depth = 2, name = "q"} : pipe<f32,[4]>
  stage {name = "make"} {
    spmd (%r: i64 in %0 .. %R) {distribute = static} {
      for %c: block<c> in %0 .. %C {
        %v = load %x[%r, %c] {bounds = clip} : tile<f32; c>
        push %v to %q over c
        yield
      }
      yield
    }
    yield
  }
  stage {name = "use"} {
    spmd (%w: i64 in %0 .. %R) {distribute = static} {
      %z = const 1.0 : f32
      %last = for %d: block<d> in %0 .. %C carry(%s = %z) {
        %t = pop %q over d : tile<f32; d>
        %u = add %t, %s : tile<f32; d>
        store %u to %y[%w, %d] {bounds = clip}
        %n = add %s, %z : f32
        yield %n
      } : f32
      yield
    }
    yield
  }
  return
}
)";

// Each iteration reads what the previous iteration has written, which also determines the number of
// iterations.
constexpr const char* kParts = R"(
kernel @parts dims(%R, %C) (%x: tensor<i32,[R,C]> in, %y: tensor<i32,[R,C]> inout) {
  axis c = C by 4
  %0 = const 0 : i64
  %1 = const 1 : i64
  %3 = const 3 : i64
  loop %t in %0 .. %3 step %1 {
    spmd (%r: i64 in %0 .. %R, %c: block<c> in %0 .. %C) {distribute = static} {
      %v = load %x[%r, %c] {bounds = clip} : tile<i32; c>
      %i = cast %t : i32
      %s = add %v, %i : tile<i32; c>
      store %s to %y[%r, %c] {bounds = clip}
      yield
    }
    sync
    %any = gt %R, %0 : bool
    if %any {
      sync
      yield
    } else {
      yield
    }
    yield
  }
  return
}
)";

const std::vector<Dims> kProducts = {{{"M", 1}, {"N", 1}, {"K", 1}},
                                     {{"M", 5}, {"N", 7}, {"K", 0}},
                                     {{"M", 9}, {"N", 17}, {"K", 13}}};
const std::vector<Dims> kRows = {
    {{"R", 1}, {"C", 1}}, {{"R", 0}, {"C", 5}}, {{"R", 7}, {"C", 133}}};

}  // namespace

TEST_CASE("products, reductions in both orders, and running sums are distributed to threads") {
  CheckLowering(kMatmul, kProducts);
  CheckLowering(kAddsTo, kProducts);
  CheckLowering(kScaled, kProducts);
  CheckLowering(kTwoProducts, kProducts);
  CheckLowering(kRowSums, kRows);
  CheckLowering(kRunningSums, kRows);
}

TEST_CASE(
    "products use matrix instructions: steps of 16 or 32 terms, zeros after the blocks' ends") {
  const std::vector<Dims> shapes = {{{"M", 1}, {"N", 1}, {"K", 1}},
                                    {{"M", 5}, {"N", 7}, {"K", 0}},
                                    {{"M", 33}, {"N", 17}, {"K", 45}}};
  std::string text = kMatrixProduct;
  CheckLowering(text, shapes);
  auto replace = [&](const std::string& what, const std::string& by) {
    for (size_t at; (at = text.find(what)) != std::string::npos;) text.replace(at, what.size(), by);
  };
  replace("bf16", "f16");
  CheckLowering(text, shapes);
  replace("0.0 : f32", "0 : i32");
  replace("f32", "i32");
  replace("f16", "i8");
  CheckLowering(text, shapes);
  replace("i32", "u32");
  replace("i8", "u8");
  CheckLowering(text, shapes);
}

TEST_CASE("factors are fetched iterations ahead: removing any wait, group or barrier is detected") {
  // Some blocks are complete, with aligned rows.
  const std::vector<Dims> shapes = {{{"M", 64}, {"N", 16}, {"K", 0}},
                                    {{"M", 40}, {"N", 24}, {"K", 168}},
                                    {{"M", 33}, {"N", 17}, {"K", 45}}};
  SimtFacts facts = WorkgroupOf(4);
  facts.copy_bytes = 16;
  CheckLowering(kLowering, kMatrixProduct, facts, shapes);
  CheckLowering(kLowering, kOneMatrixProduct, facts, shapes);
  CHECK(CheckMissed(kLowering, kOneMatrixProduct, facts, ir::OpKind::AsyncCopyWait, shapes) == 1);
  CHECK(CheckMissed(kLowering, kOneMatrixProduct, facts, ir::OpKind::AsyncCopyCommit, shapes) == 2);
  CHECK(CheckMissed(kLowering, kOneMatrixProduct, facts, ir::OpKind::Barrier, shapes) >= 2);
}

TEST_CASE(
    "factors are copied as tensor tiles: removing any mbarrier, wait or barrier is detected") {
  // There are one or two blocks, and one or several iterations. One range ends before its tensor ends.
  SimtFacts facts = WorkgroupOf(128);
  facts.workgroup_bytes = 64 << 10;
  CheckLowering(
      kLowering, TensorTilesOf(false, false, 64), facts,
      {{{"M", 3}, {"N", 72}, {"K", 135}, {"H", 135}}, {{"M", 5}, {"N", 8}, {"K", 80}, {"H", 72}}});
  // Tile copies are possible for both factors, for neither, or for one of them.
  const std::vector<Dims> shapes = {{{"M", 72}, {"N", 3}, {"K", 264}, {"H", 264}},
                                    {{"M", 65}, {"N", 3}, {"K", 263}, {"H", 263}},
                                    {{"M", 8}, {"N", 3}, {"K", 263}, {"H", 263}},
                                    {{"M", 3}, {"N", 3}, {"K", 264}, {"H", 264}}};
  const std::string text = TensorTilesOf(true, true, 16);
  CheckLowering(kLowering, text, WorkgroupOf(128), {shapes[0]});
  for (ir::OpKind kind :
       {ir::OpKind::MbarrierInit, ir::OpKind::MbarrierInvalidate, ir::OpKind::MbarrierArrive,
        ir::OpKind::MbarrierWait, ir::OpKind::AsyncCopy, ir::OpKind::ProxyFence,
        ir::OpKind::MmaCommit, ir::OpKind::MmaWait, ir::OpKind::Barrier})
    CHECK(CheckMissed(kLowering, text, WorkgroupOf(128), kind, shapes) >= 1);
}

TEST_CASE(
    "copies for the next block begin before this one ends: removing any mbarrier or wait is "
    "detected") {
  SimtFacts facts = WorkgroupOf(128);
  facts.groups_blocks = true;
  // Each core has two to four blocks. The number of iterations is zero, one, smaller than the number of
  // slots, or larger.
  const std::string text = TensorTilesOf(true, true, 16);
  CheckLowering(
      kLowering, text, facts,
      {{{"M", 136}, {"N", 18}, {"K", 8}, {"H", 8}}, {{"M", 65}, {"N", 3}, {"K", 8}, {"H", 0}}});
  const std::vector<Dims> shapes = {{{"M", 136}, {"N", 3}, {"K", 72}, {"H", 72}},
                                    {{"M", 72}, {"N", 3}, {"K", 264}, {"H", 264}},
                                    {{"M", 136}, {"N", 3}, {"K", 263}, {"H", 263}},
                                    {{"M", 65}, {"N", 3}, {"K", 263}, {"H", 263}}};
  CheckLowering(kLowering, text, facts, shapes);
  for (ir::OpKind kind :
       {ir::OpKind::MbarrierInit, ir::OpKind::MbarrierArrive, ir::OpKind::MbarrierWait,
        ir::OpKind::AsyncCopy, ir::OpKind::MmaCommit, ir::OpKind::MmaWait})
    CHECK(CheckMissed(kLowering, text, facts, kind, shapes) >= 1);
}

TEST_CASE(
    "products in iterations that do more: removing mbarriers, waits, fences or barriers is "
    "detected") {
  SimtFacts facts = WorkgroupOf(128);
  facts.workgroup_bytes = 128 << 10;
  // Tile copies are possible for all factors, for some (because a range ends before its tensor), or for none.
  // The last case has no iterations.
  CheckLowering(kLowering, kTurns, facts,
                {{{"L", 66}, {"S", 136}, {"D", 8}, {"H", 136}},
                 {{"L", 3}, {"S", 136}, {"D", 64}, {"H", 130}},
                 {{"L", 3}, {"S", 136}, {"D", 5}, {"H", 133}},
                 {{"L", 2}, {"S", 9}, {"D", 8}, {"H", 0}}});
  const std::vector<Dims> shapes = {{{"L", 66}, {"S", 200}, {"D", 64}},
                                    {{"L", 3}, {"S", 200}, {"D", 5}}};
  CheckLowering(kLowering, kScores, facts, shapes);
  for (ir::OpKind kind :
       {ir::OpKind::MbarrierInit, ir::OpKind::MbarrierInvalidate, ir::OpKind::MbarrierArrive,
        ir::OpKind::AsyncCopy, ir::OpKind::MmaCommit, ir::OpKind::MmaWait})
    CHECK(CheckMissed(kLowering, kScores, facts, kind, shapes) >= 1);
  // The barrier in each iteration makes some of these ops redundant.
  for (ir::OpKind kind : {ir::OpKind::MbarrierWait, ir::OpKind::ProxyFence, ir::OpKind::Barrier})
    CHECK(CountMissed(kLowering, kScores, facts, kind, shapes) >= 1);
}

TEST_CASE("the blocks of a product are processed in groups of rows, each once") {
  SimtFacts facts = WorkgroupOf(4);
  facts.groups_blocks = true;
  // The number of rows of blocks is zero, smaller than in a group, or larger. The last case has no columns.
  std::string text = kMatmul;
  const std::string rows = "axis i = M by 4";
  text.replace(text.find(rows), rows.size(), "axis i = M by 1024");  // groups of two rows
  CheckLowering(kLowering, text, facts,
                {{{"M", 0}, {"N", 9}, {"K", 3}},
                 {{"M", 5}, {"N", 9}, {"K", 3}},
                 {{"M", 2049}, {"N", 17}, {"K", 1}},
                 {{"M", 3}, {"N", 0}, {"K", 3}}});
}

TEST_CASE("tensor tiles of bytes, whose terms are contiguous in both factors") {
  struct Row {
    std::string a, b, acc, instruction;
  };
  const Row rows[] = {{"i8", "i8", "i32", "simt.wgmma_i8"},
                      {"u8", "u8", "u32", "simt.wgmma_u8"},
                      {"u8", "i8", "i32", "simt.wgmma_u8_i8"},
                      {"f8e4m3", "f8e4m3", "f32", "simt.wgmma_f8e4m3"},
                      {"f8e5m2", "f8e4m3", "f32", "simt.wgmma_f8e5m2_f8e4m3"}};
  // The last block has a complete row of terms in the first case; in the second case, threads load its
  // elements.
  const std::vector<Dims> shapes = {{{"M", 3}, {"N", 18}, {"K", 144}, {"H", 144}},
                                    {{"M", 66}, {"N", 3}, {"K", 135}, {"H", 135}}};
  for (const Row& row : rows) {
    std::string text = TensorTilesOf(false, true, 16);
    auto replace = [&](const std::string& what, const std::string& by) {
      for (size_t at; (at = text.find(what)) != std::string::npos;)
        text.replace(at, what.size(), by);
    };
    replace("simt.wgmma_bf16", row.instruction);
    replace("k = K by 64", "k = K by 128");
    if (row.acc != "f32") {
      replace("0.0 : f32", "0 : " + row.acc);
      replace("f32", row.acc);
    }
    for (const std::string& factor : {row.a, row.b}) {  // first the parameters, then the loads
      text.replace(text.find("bf16"), 4, factor);
    }
    for (const std::string& factor : {row.a, row.b}) text.replace(text.find("bf16"), 4, factor);
    CheckLowering(kLowering, text, WorkgroupOf(128), shapes);
    if (row.acc != "f32") continue;
    // Each block has two separate sums.
    replace("k = K by 128", "k = K by 256");
    SimtFacts facts = WorkgroupOf(128);
    facts.workgroup_bytes = 128 << 10;
    CheckLowering(kLowering, text, facts, shapes);
  }
}

TEST_CASE("threads round the factors of tf32 instructions, of warp groups and of warps") {
  for (const std::string instruction : {"simt.wgmma_tf32", "simt.mma_tf32"}) {
    for (bool turns_b : {false, true}) {
      std::string text = TensorTilesOf(false, turns_b, 32);
      auto replace = [&](const std::string& what, const std::string& by) {
        for (size_t at; (at = text.find(what)) != std::string::npos;)
          text.replace(at, what.size(), by);
      };
      replace("simt.wgmma_bf16", instruction);
      replace("bf16", "f32");
      replace("K by 64", "K by 32");
      replace("%u = contraction %x, %y",
              "%xr = tf32 %x : tile<f32; i k>\n      %yr = tf32 %y : tile<f32; j k>\n"
              "      %u = contraction %xr, %yr");
      SimtFacts facts = WorkgroupOf(128);
      facts.workgroup_bytes = 64 << 10;
      CheckLowering(kLowering, text, facts,
                    {{{"M", 66}, {"N", 3}, {"K", 72}, {"H", 72}},
                     {{"M", 3}, {"N", 35}, {"K", 37}, {"H", 37}},
                     {{"M", 3}, {"N", 5}, {"K", 8}, {"H", 0}}});
    }
  }
}

TEST_CASE("stages, and parts between launch barriers, run alternately") {
  CheckLowering(kStages, kRows);
  CheckLowering(kParts, kRows);
}

TEST_CASE("removing any barrier that insert-barriers inserts is detected") {
  CHECK(CheckBarriers(kMatmul, kProducts) >= 2);
  CHECK(CheckBarriers(kTwoProducts, kProducts) >= 2);
  // With only 16 threads, each thread has all elements that it reduces in 64-lane order.
  CHECK(CheckBarriers(kRowSums, kRows, 16) >= 3);
  CHECK(CheckBarriers(kRunningSums, kRows) >= 2);
}

}  // namespace kdl::simt
