#include "lowering_run.h"

// Tests that the lowering does not change any bit for shapes near multiples of vectors and of register
// blocks.

namespace kdl::cpu {

namespace {

/// Sizes near multiples of 4, 8 and 16 lanes.
const std::vector<Dims> kAroundVectors = {{{"M", 1}, {"N", 40}},  {{"M", 16}, {"N", 16}},
                                          {{"M", 15}, {"N", 17}}, {{"M", 33}, {"N", 31}},
                                          {{"M", 47}, {"N", 3}},  {{"M", 0}, {"N", 5}}};

/// Sizes near blocks of 14 rows and 2 vectors, and of 6 rows.
const std::vector<Dims> kAroundBlocks = {{{"M", 14}, {"N", 32}, {"K", 5}},
                                         {{"M", 13}, {"N", 33}, {"K", 3}},
                                         {{"M", 29}, {"N", 47}, {"K", 9}},
                                         {{"M", 6}, {"N", 8}, {"K", 1}},
                                         {{"M", 1}, {"N", 65}, {"K", 17}}};

}  // namespace

TEST_CASE("a load that iterates over the axes in the other order is transposed") {
  const std::string text = R"(
kernel @transpose dims(%M, %N) (%x: tensor<f32,[M,N]> in, %y: tensor<f32,[N,M]> out) {
  axis i = M by 40
  axis j = N by 24
  %0 = const 0 : i64
  spmd (%i: block<i> in %0 .. %M, %j: block<j> in %0 .. %N) {distribute = static} {
    %t = load %x[%i, %j] {bounds = clip} : tile<f32; i j>
    store %t to %y[%j, %i] {bounds = clip}
    yield
  }
  return
}
)";
  CheckLowering(text, kAroundVectors);
  ProcessorFacts two_vectors_a_line;
  two_vectors_a_line.vector_bits = 256;
  two_vectors_a_line.last_level_bytes = 256;
  CheckLoweringFor(two_vectors_a_line, text, kAroundVectors, kLoweringPipeline);
}

TEST_CASE(
    "register transposes of an axis with fewer points than a vector are as narrow as the axis") {
  CheckLowering(R"(
kernel @narrow dims(%M, %N) (%x: tensor<f32,[M,N,3]> in, %w: tensor<f32,[3]> in, %y: tensor<f32,[N,3,M]> out) {
  axis i = M by 40
  axis j = N by 24
  axis s = 3 by 3
  %0 = const 0 : i64
  %1 = const 3 : i64
  %s = make_block %0, %1, %0 : block<s>
  spmd (%i: block<i> in %0 .. %M, %j: block<j> in %0 .. %N) {distribute = static} {
    %t = load %x[%i, %j, %s] {bounds = clip} : tile<f32; i j s>
    %a = load %w[%s] {bounds = clip} : tile<f32; s>
    %c = mul %t, %a : tile<f32; i j s>
    store %c to %y[%j, %s, %i] {bounds = clip}
    yield
  }
  return
}
)",
                kAroundVectors);
}

TEST_CASE("transposed loads, plain loads, and a row that is loaded as is") {
  CheckLowering(R"(
kernel @mix dims(%M, %N) (%x: tensor<f64,[M,N]> in, %s: tensor<f64,[N]> in, %y: tensor<f64,[N,M]> inout) {
  axis i = M by 40
  axis j = N by 24
  %0 = const 0 : i64
  spmd (%i: block<i> in %0 .. %M, %j: block<j> in %0 .. %N) {distribute = static} {
    %t = load %x[%i, %j] {bounds = clip} : tile<f64; i j>
    %a = load %s[%j] {bounds = clip} : tile<f64; j>
    %b = load %y[%j, %i] {bounds = clip} : tile<f64; i j>
    %c = fma %t, %a, %b : tile<f64; i j>
    store %c to %y[%j, %i] {bounds = clip}
    yield
  }
  return
}
)",
                kAroundVectors);
}

TEST_CASE("a product whose operands are stored transposed") {
  CheckLowering(R"(
kernel @matmul dims(%M, %N, %K) (%a: tensor<f32,[K,M]> in, %b: tensor<f32,[N,K]> in, %c: tensor<f32,[M,N]> out) {
  axis i = M by 28
  axis j = N by 64
  axis k = K by 8
  %0 = const 0 : i64
  %z = const 0.0 : f32
  spmd (%i: block<i> in %0 .. %M, %j: block<j> in %0 .. %N) {distribute = static} {
    %t = broadcast %z : tile<f32; i j>
    %s = for %k: block<k> in %0 .. %K carry(%acc = %t) {
      %x = load %a[%k, %i] {bounds = clip} : tile<f32; i k>
      %y = load %b[%j, %k] {bounds = clip} : tile<f32; j k>
      %u = contraction %x, %y into %acc over k {acc = f32, order = sequential} : tile<f32; i j>
      yield %u
    } : tile<f32; i j>
    store %s to %c[%i, %j] {bounds = clip}
    yield
  }
  return
}
)",
                kAroundBlocks);
}

TEST_CASE("an operand that other ops also read keeps its plain layout") {
  CheckLowering(R"(
kernel @shared dims(%M, %N, %K) (%a: tensor<f32,[M,K]> in, %b: tensor<f32,[K,N]> in, %c: tensor<f32,[M,N]> out, %d: tensor<f32,[K,N]> out) {
  axis i = M by 28
  axis j = N by 64
  axis k = K by 20
  %0 = const 0 : i64
  %z = const 0.0 : f32
  %k = make_block %0, %K, %0 : block<k>
  spmd (%i: block<i> in %0 .. %M, %j: block<j> in %0 .. %N) {distribute = static} {
    %t = broadcast %z : tile<f32; i j>
    %x = load %a[%i, %k] {bounds = clip} : tile<f32; i k>
    %y = load %b[%k, %j] {bounds = clip} : tile<f32; j k>
    %u = contraction %x, %y into %t over k {acc = f32, order = sequential} : tile<f32; i j>
    %v = add %y, %y : tile<f32; j k>
    store %u to %c[%i, %j] {bounds = clip}
    store %v to %d[%k, %j] {bounds = clip}
    yield
  }
  return
}
)",
                kAroundBlocks);
}

TEST_CASE("rows in memory are reduced together, in whole iterations and in remainders") {
  const std::string text = R"(
kernel @rows dims(%M, %N) (%x: tensor<f32,[M,N]> in, %w: tensor<f32,[N]> in, %y: tensor<f32,[M]> out) {
  axis i = M by 12
  axis j = N by 512
  %0 = const 0 : i64
  spmd (%i: block<i> in %0 .. %M) {distribute = static} {
    %z = const 0.5 : f32
    %t = broadcast %z : tile<f32; i>
    %s = for %j: block<j> in %0 .. %N carry(%acc = %t) {
      %v = load %x[%i, %j] {bounds = clip} : tile<f32; i j>
      %a = load %w[%j] {bounds = clip} : tile<f32; j>
      %d = contraction %v, %a into %acc over j {acc = f32, order = lanes64} : tile<f32; i>
      yield %d
    } : tile<f32; i>
    store %s to %y[%i] {bounds = clip}
    yield
  }
  return
}
)";
  ProcessorFacts facts;
  facts.vector_bits = 256;
  facts.last_level_bytes = 256;
  facts.asks_for_reads = false;
  const std::vector<Dims> shapes = {{{"M", 3}, {"N", 20}},   {{"M", 25}, {"N", 64}},
                                    {{"M", 9}, {"N", 129}},  {{"M", 8}, {"N", 533}},
                                    {{"M", 24}, {"N", 192}}, {{"M", 4}, {"N", 0}}};
  CheckLoweringFor(facts, text, shapes, kLoweringPipeline);
  TestKernel together(text);
  together.facts = &facts;
  for (const Pass* pass : kLoweringPipeline) together.Apply(*pass);
  const std::string lowered = together.Text();
  size_t loads = 0;
  for (size_t at = lowered.find("load %x"); at != std::string::npos;
       at = lowered.find("load %x", at + 1))
    ++loads;
  // The loads are in whole iterations and in remainders, with 8 vectors each: for groups of four rows, and for single rows, which
  // are those that remain after these groups, or all.
  CHECK(loads == 2 * 4 * 8 + 2 * 8);
}

TEST_CASE("rows are reduced in lanes, in whole and partial vectors, regardless of blocks") {
  CheckLowering(R"(
kernel @rows dims(%M, %N) (%x: tensor<bf16,[M,N]> in, %y: tensor<f32,[M]> out) {
  axis i = M by 12
  axis j = N by 200
  %0 = const 0 : i64
  spmd (%i: block<i> in %0 .. %M) {distribute = static} {
    %z = const 0.0 : f32
    %t = broadcast %z : tile<f32; i>
    %s = for %j: block<j> in %0 .. %N carry(%acc = %t) {
      %v = load %x[%i, %j] {bounds = clip} : tile<bf16; i j>
      %w = cast %v : tile<f32; i j>
      %r = reduce sum %w over j {acc = f32, order = lanes64} : tile<f32; i>
      %u = add %acc, %r : tile<f32; i>
      yield %u
    } : tile<f32; i>
    store %s to %y[%i] {bounds = clip}
    yield
  }
  return
}
)",
                {{{"M", 3}, {"N", 63}},
                 {{"M", 25}, {"N", 64}},
                 {{"M", 2}, {"N", 129}},
                 {{"M", 1}, {"N", 333}},
                 {{"M", 4}, {"N", 0}}});
}

}  // namespace kdl::cpu
