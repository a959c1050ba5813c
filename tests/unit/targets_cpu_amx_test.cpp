#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "codegen_run.h"
#include "lowering_run.h"
#include "targets/builtin.h"
#include "targets/builtin_units.h"
#include "targets/registry.h"
#include "tile_machine.h"

#ifdef __x86_64__

namespace kdl::cpu {

namespace {

/// Blocks of two register blocks of rows, of which the last is smaller, and of a panel of columns and a half; three tiles of
/// steps, and some.
constexpr const char* kProduct = R"(module "test"

kernel @product dims(%M, %N, %K) (%a: tensor<A,[M,K]> in, %b: tensor<B,[K,N]> in, %c: tensor<i32,[M,N]> out) {
  axis i = M by 21
  axis j = N by 48
  axis k = K by 200
  %zero = const 0 : i64
  %none = const 0 : i32
  spmd (%ib: blk<i> in %zero .. %M, %jb: blk<j> in %zero .. %N) {deal = static} {
    %start = broadcast %none : tile<i32; i j>
    %sum = for %kb: blk<k> in %zero .. %K carry(%acc = %start) {
      %x = load %a[%ib, %kb] {edge = clip} : tile<A; i k>
      %y = load %b[%kb, %jb] {edge = clip} : tile<B; k j>
      %x.32 = cast %x : tile<i32; i k>
      %y.32 = cast %y : tile<i32; k j>
      %next = contraction %x.32, %y.32 into %acc over k {acc = i32, order = chain} : tile<i32; i j>
      yield %next
    } : tile<i32; i j>
    store %sum to %c[%ib, %jb] {edge = clip}
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
  return Replaced(Replaced(kProduct, "<A", "<" + a), "<B", "<" + b);
}

const ProcessorFacts& TileFacts() {
  static const auto kTarget = *targets::BuiltinFamilies().ParseTargets("host?isa=x86-64-v4-amx");
  return dynamic_cast<const ProcessorFacts&>(*kTarget[0].facts);
}

/// The kernel's code, run where the processor or tile_machine.h has tiles.
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

  std::vector<int32_t> Run(int64_t m, int64_t n, int64_t k, std::vector<uint8_t> a,
                           std::vector<uint8_t> b) const {
    std::vector<int32_t> c(static_cast<size_t>(m * n), -1);
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

void CheckProducts(const std::string& a_type, const std::string& b_type, const Compiled& compiled) {
  std::mt19937_64 random(7);
  for (auto [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{21, 48, 200},
                         {1, 1, 1},
                         {50, 70, 333},
                         {14, 16, 64},
                         {17, 33, 63}}) {
    std::vector<uint8_t> a = DrawnBytes(random, m * k);
    std::vector<uint8_t> b = DrawnBytes(random, k * n);
    std::vector<int32_t> wanted(static_cast<size_t>(m * n));
    for (int64_t i = 0; i < m * n; ++i) {
      for (int64_t t = 0; t < k; ++t) {
        wanted[static_cast<size_t>(i)] += Value(a[static_cast<size_t>(i / n * k + t)], a_type) *
                                          Value(b[static_cast<size_t>(t * n + i % n)], b_type);
      }
    }
    CHECK_MESSAGE(compiled.Run(m, n, k, a, b) == wanted, a_type, " ", b_type, " ", m, " ", n, " ",
                  k);
  }
}

}  // namespace

TEST_CASE("tiles: loops with them compute what the product is") {
  std::vector<Dims> shapes = {{{"M", 23}, {"N", 50}, {"K", 205}}, {{"M", 5}, {"N", 7}, {"K", 63}}};
  for (const char* type : {"u8", "i8"}) {
    TestKernel test(ProductOf(type, "i8"), targets::BuiltinUnits());
    test.facts = &TileFacts();
    std::vector<Outcome> expected;
    for (const Dims& dims : shapes) expected.push_back(RunOn(test, dims, 2, 3));
    test.Apply(kSelectUnits);
    for (const Pass* pass : kLoweringPipeline) test.Apply(*pass);
    for (size_t i = 0; i < shapes.size(); ++i)
      CHECK(RunOn(test, shapes[i], 2, 3).tensors == expected[i].tensors);
    CHECK(test.Text().find("tile_steps") != std::string::npos);
  }
}

TEST_CASE("tiles: the code configures them, multiplies signs as they are and gives them back") {
  bool runs = __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw");
  if (!runs) return;
  for (auto [a, b] : {std::pair{"u8", "i8"}, {"i8", "u8"}, {"i8", "i8"}}) {
    TestKernel test(ProductOf(a, b), targets::BuiltinUnits());
    test.facts = &TileFacts();
    test.Apply(kSelectUnits);
    for (const Pass* pass : kLoweringPipeline) test.Apply(*pass);
    Compiled compiled(test);
    tiles::Emulation emulation;
    CheckProducts(a, b, compiled);
    CHECK(tiles::machine.products > 0);
    CHECK(tiles::machine.releases > 0);
    CHECK(tiles::machine.faults == 0);
    CHECK_FALSE(tiles::machine.configured);
  }
}

}  // namespace kdl::cpu

#endif
