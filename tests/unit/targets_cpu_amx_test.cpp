#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "codegen_run.h"
#include "lowering_run.h"
#include "targets/builtin.h"
#include "targets/builtin_instructions.h"
#include "targets/registry.h"
#include "tile_machine.h"

#ifdef __x86_64__

namespace kdl::cpu {

namespace {

/// A block has two register blocks of rows, the last of which is smaller, and one and a half panels of
/// columns. The terms fill three tiles and part of a fourth.
constexpr const char* kProduct = R"(module "test"

kernel @product dims(%M, %N, %K) (%a: tensor<A,[M,K]> in, %b: tensor<B,[K,N]> in, %c: tensor<i32,[M,N]> out) {
  axis i = M by 21
  axis j = N by 48
  axis k = K by 200
  %zero = const 0 : i64
  %none = const 0 : i32
  spmd (%ib: block<i> in %zero .. %M, %jb: block<j> in %zero .. %N) {distribute = static} {
    %start = broadcast %none : tile<i32; i j>
    %sum = for %kb: block<k> in %zero .. %K carry(%acc = %start) {
      %x = load %a[%ib, %kb] {bounds = clip} : tile<A; i k>
      %y = load %b[%kb, %jb] {bounds = clip} : tile<B; k j>
      %x.32 = cast %x : tile<i32; i k>
      %y.32 = cast %y : tile<i32; k j>
      %next = contraction %x.32, %y.32 into %acc over k {acc = i32, order = sequential} : tile<i32; i j>
      yield %next
    } : tile<i32; i j>
    store %sum to %c[%ib, %jb] {bounds = clip}
    yield
  }
  return
}
)";

std::string Replaced(std::string text, const std::string& word, const std::string& by) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size()))
    text.replace(at, word.size(), by);
  return text;
}

std::string ProductOf(const std::string& a, const std::string& b) {
  if (a == "bf16") {
    std::string text = kProduct;
    text.erase(text.find("      %x.32"), text.find("      %next") - text.find("      %x.32"));
    for (auto [word, by] : {std::pair{".32", ""}, {"i32", "f32"}, {"const 0 : f", "const 0.0 : f"}})
      text = Replaced(text, word, by);
    return Replaced(Replaced(text, "<A", "<bf16"), "<B", "<bf16");
  }
  return Replaced(Replaced(kProduct, "<A", "<" + a), "<B", "<" + b);
}

std::shared_ptr<const ProcessorFacts> FactsOfLevel(const std::string& level) {
  auto targets = *targets::BuiltinFamilies().ParseTargets("host?isa=" + level);
  return std::dynamic_pointer_cast<const ProcessorFacts>(targets[0].facts);
}

const ProcessorFacts& TileFacts() {
  static const auto kFacts = FactsOfLevel("x86-64-v4-amx");
  return *kFacts;
}

/// The compiled kernel, run with the tiles of the processor or of tile_machine.h.
class Compiled {
 public:
  explicit Compiled(const TestKernel& test) {
    Result<codegen::Backend> backend = codegen::Backend::Create(TileFacts().processor, 2);
    REQUIRE(backend.ok());
    Result<codegen::CompiledModule> compiled =
        codegen::CompileKernels(*backend, *test.read.module, {});
    REQUIRE(compiled.ok());
    Names names;
    std::string host = codegen::HostObject(*backend, "test", names, *compiled);
    shared_ =
        std::make_unique<codegen::SharedObject>(std::vector<std::string>{compiled->object, host});
    variant_ = &shared_->images()[0]->kernels[0].variants[0];
  }

  /// Returns the bits of the results.
  template <class T>
  std::vector<uint32_t> RunProduct(int64_t m, int64_t n, int64_t k, std::vector<T> a,
                                   std::vector<T> b) const {
    std::vector<uint32_t> c(static_cast<size_t>(m * n), ~0u);
    codegen::Call call;
    call.dims = {m, n, k};
    call.tensors = {codegen::TensorOf(a.data(), {m, k}), codegen::TensorOf(b.data(), {k, n}),
                    codegen::TensorOf(c.data(), {m, n})};
    call.core_num = 3;
    CHECK(codegen::RunKernel(*variant_, call).code == 0);
    return c;
  }

 private:
  std::unique_ptr<codegen::SharedObject> shared_;
  const kdl_variant* variant_;
};

std::vector<uint8_t> DrawnBytes(std::mt19937_64& random, int64_t count) {
  std::vector<uint8_t> bytes(static_cast<size_t>(count));
  for (uint8_t& byte : bytes)
    byte = static_cast<uint8_t>(random() % 3 == 0 ? 127 + random() % 3 : random());
  return bytes;
}

int32_t Value(uint8_t byte, const std::string& type) {
  return type == "i8" ? static_cast<int8_t>(byte) : static_cast<int32_t>(byte);
}

struct ProductShape {
  int64_t m, n, k;
};
constexpr ProductShape kProductShapes[] = {{21, 48, 200}, {1, 1, 1},    {50, 70, 333},
                                           {14, 16, 64},  {17, 33, 63}, {3, 20, 231}};

void CheckProducts(const std::string& a_type, const std::string& b_type, const Compiled& compiled) {
  std::mt19937_64 random(7);
  for (auto [m, n, k] : kProductShapes) {
    std::vector<uint8_t> a = DrawnBytes(random, m * k);
    std::vector<uint8_t> b = DrawnBytes(random, k * n);
    std::vector<uint32_t> wanted(static_cast<size_t>(m * n));
    for (int64_t i = 0; i < m * n; ++i) {
      for (int64_t t = 0; t < k; ++t) {
        wanted[static_cast<size_t>(i)] +=
            static_cast<uint32_t>(Value(a[static_cast<size_t>(i / n * k + t)], a_type) *
                                  Value(b[static_cast<size_t>(t * n + i % n)], b_type));
      }
    }
    CHECK_MESSAGE(compiled.RunProduct(m, n, k, a, b) == wanted, a_type, " ", b_type, " ", m, " ", n,
                  " ", k);
  }
}

/// Returns random numbers: mostly near one, some subnormal, and some whose products are subnormal.
std::vector<uint16_t> DrawnFloats(std::mt19937_64& random, int64_t count) {
  constexpr uint32_t kExponents[] = {0, 1, 60, 64, 118, 124, 127, 127, 128, 131};
  std::vector<uint16_t> bits(static_cast<size_t>(count));
  for (uint16_t& one : bits)
    one =
        static_cast<uint16_t>(random() % 2 << 15 | kExponents[random() % 10] << 7 | random() % 128);
  return bits;
}

/// Returns the element of c as the steps of the matrix instruction compute it, block by block.
uint32_t SteppedSum(ProductShape of, int64_t i, int64_t j, const std::vector<uint16_t>& a,
                    const std::vector<uint16_t>& b) {
  constexpr int64_t kBlock = 200;
  uint64_t acc = 0;
  for (int64_t block = 0; block < of.k; block += kBlock) {
    int64_t end = std::min(of.k, block + kBlock);
    for (int64_t first = block; first < end; first += kTileBf16.depth) {
      uint64_t x[ir::kMaxInstructionDepth] = {};
      uint64_t y[ir::kMaxInstructionDepth] = {};
      for (int64_t t = first; t < std::min<int64_t>(end, first + kTileBf16.depth); ++t) {
        x[t - first] = uint64_t{a[static_cast<size_t>(i * of.k + t)]} << 16;
        y[t - first] = uint64_t{b[static_cast<size_t>(t * of.n + j)]} << 16;
      }
      acc = ir::RunStep(kTileBf16, acc, x, y);
    }
  }
  return static_cast<uint32_t>(acc);
}

void CheckFloats(const Compiled& compiled) {
  std::mt19937_64 random(9);
  for (ProductShape of : kProductShapes) {
    std::vector<uint16_t> a = DrawnFloats(random, of.m * of.k);
    std::vector<uint16_t> b = DrawnFloats(random, of.k * of.n);
    std::vector<uint32_t> wanted;
    for (int64_t n = 0; n < of.m * of.n; ++n)
      wanted.push_back(SteppedSum(of, n / of.n, n % of.n, a, b));
    CHECK_MESSAGE(compiled.RunProduct(of.m, of.n, of.k, a, b) == wanted, of.m, " ", of.n, " ",
                  of.k);
  }
}

void Lower(TestKernel& test) {
  test.facts = &TileFacts();
  test.Apply(kSelectInstructions);
  for (const Pass* pass : kLoweringPipeline) test.Apply(*pass);
}

}  // namespace

TEST_CASE("tiles: loops with tiles compute the product") {
  std::vector<Dims> shapes = {{{"M", 23}, {"N", 50}, {"K", 205}}, {{"M", 5}, {"N", 7}, {"K", 63}}};
  struct Row {
    const char* level;
    const char* a;
    const char* b;
  };
  for (Row row : {Row{"x86-64-v4-amx", "u8", "i8"},
                  {"x86-64-v4-amx", "i8", "i8"},
                  {"x86-64-v4-amx", "bf16", "bf16"},
                  {"armv8-a-i8mm", "i8", "i8"},
                  {"armv8-a-i8mm", "i8", "u8"},
                  {"armv8-a-bf16", "bf16", "bf16"}}) {
    TestKernel test(ProductOf(row.a, row.b), targets::BuiltinInstructions());
    auto facts = FactsOfLevel(row.level);
    test.facts = facts.get();
    test.Apply(kSelectInstructions);
    std::vector<Outcome> expected;
    for (const Dims& dims : shapes) expected.push_back(RunOn(test, dims, 2, 3));
    for (const Pass* pass : kLoweringPipeline) test.Apply(*pass);
    for (size_t i = 0; i < shapes.size(); ++i)
      CHECK(RunOn(test, shapes[i], 2, 3).tensors == expected[i].tensors);
    CHECK_MESSAGE(test.Text().find("tile_mma") != std::string::npos, row.level, " ", row.a);
  }
}

TEST_CASE("tiles: the code configures tiles, multiplies with the right signs, and releases tiles") {
  bool runs = __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw");
  if (!runs) return;
  size_t signs = 0;
  for (auto [a, b] : {std::pair{"u8", "u8"}, {"u8", "i8"}, {"i8", "u8"}, {"i8", "i8"}}) {
    TestKernel test(ProductOf(a, b), targets::BuiltinInstructions());
    Lower(test);
    Compiled compiled(test);
    tiles::Emulation emulation;
    CheckProducts(a, b, compiled);
    if (!emulation.counts()) continue;
    CHECK(tiles::machine.of_signs[signs] > 0);
    CHECK(tiles::machine.of_signs[signs++] == tiles::machine.products);
    CHECK(tiles::machine.releases > 0);
    CHECK(tiles::machine.faults == 0);
    CHECK_FALSE(tiles::machine.configured);
  }
}

TEST_CASE("tiles: sums of bf16 are those of the instruction's steps, inside and outside of tiles") {
  if (!__builtin_cpu_supports("avx512bf16")) return;
  TestKernel test(ProductOf("bf16", "bf16"), targets::BuiltinInstructions());
  Lower(test);
  Compiled compiled(test);
  tiles::Emulation emulation;
  CheckFloats(compiled);
  if (!emulation.counts()) return;
  CHECK(tiles::machine.of_floats > 0);
  CHECK(tiles::machine.faults == 0);
  CHECK_FALSE(tiles::machine.configured);
}

TEST_CASE("tiles: a step of bf16 follows the manual, for any bits") {
  std::mt19937_64 random(3);
  for (int draw = 0; draw < 20000; ++draw) {
    uint64_t a[ir::kMaxInstructionDepth];
    uint64_t b[ir::kMaxInstructionDepth];
    float chains[2] = {};
    bool any = draw % 4 == 0;
    auto drawn = [&] {
      return uint64_t{any ? random() % 0x10000 : DrawnFloats(random, 1)[0]} << 16;
    };
    for (int t = 0; t < kTileBf16.depth; ++t) {
      a[t] = drawn();
      b[t] = drawn();
      chains[t % 2] =
          tiles::FlushedFma(std::bit_cast<float>(static_cast<uint32_t>(a[t])),
                            std::bit_cast<float>(static_cast<uint32_t>(b[t])), chains[t % 2]);
    }
    auto acc = static_cast<uint32_t>(drawn() | random() % 0x10000);
    float wanted =
        tiles::FlushedFma(tiles::FlushedFma(chains[0], 1, chains[1]), 1, std::bit_cast<float>(acc));
    auto found = std::bit_cast<float>(static_cast<uint32_t>(ir::RunStep(kTileBf16, acc, a, b)));
    bool same = std::isnan(wanted)
                    ? std::isnan(found)
                    : std::bit_cast<uint32_t>(wanted) == std::bit_cast<uint32_t>(found);
    CHECK(same);
  }
}

}  // namespace kdl::cpu

#endif
