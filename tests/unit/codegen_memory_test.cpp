#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <numeric>

#include "codegen/llvm/scratch.h"
#include "codegen_run.h"

namespace kdl::codegen {

namespace {

/// y[j, i] = x[i, j] + x[i, j - 1 + 1] for strided tensors. Covers offsets, coefficients and outer strides.
constexpr std::string_view kStrided =
    R"(kernel @strided dims(%M, %N) (%x: tensor<i32,[M,N]> in, %y: tensor<i32,[N,M]> out) {
  %0 = const 0 : i64
  %1 = const 1 : i64
  loop %i in %0 .. %M step %1 {
    loop %j in %0 .. %N step %1 {
      %j1 = add %j, %1 : i64
      %v = load %x[%i, %j] {bounds = proven} : i32
      %w = load %x[-%i + (M - 1), 2*%j1 - %j - 2] {bounds = proven} : i32
      %s = add %v, %w : i32
      store %s to %y[%j, %i] {bounds = proven}
      yield
    }
    yield
  }
  return
}
)";

/// Merges rows into one dimension and splits them again, for tensors that are not dense.
constexpr std::string_view kViews =
    R"(kernel @views dims(%N, %M, %K) (%x: tensor<i32,[N,M,K]> in, %y: tensor<i32,[N,(M*K)]> out) {
  %v = view %x {dimension = 1} : tensor<i32,[N,(M*K)]>
  %w = view %y {dimension = 1} : tensor<i32,[N,M,K]>
  %0 = const 0 : i64
  %1 = const 1 : i64
  loop %n in %0 .. %N step %1 {
    loop %m in %0 .. %M step %1 {
      loop %k in %0 .. %K step %1 {
        %t = load %v[%n, K*%m + %k] {bounds = proven} : i32
        store %t to %w[%n, %m, %k] {bounds = proven}
        yield
      }
      yield
    }
    yield
  }
  return
}
)";

/// Has two buffers with disjoint lifetimes that share memory, a buffer that is live during both lifetimes,
/// and small buffers on the stack.
constexpr std::string_view kBuffers =
    R"(kernel @buffers dims(%N) (%x: tensor<f32,[N]> in, %y: tensor<f32,[N]> out) {
  %0 = const 0 : i64
  %1 = const 1 : i64
  %n = const 300 : i64
  %zero = const 0.0 : f32
  %keep = buffer_new : buffer<f32,[3,300]>
  loop %b1 in %0 .. %1 step %1 {
    %first = buffer_new : buffer<f32,[300]>
    loop %i2 in %0 .. %n step %1 {
      %v2 = load %x[%i2] {bounds = proven} : f32
      buffer_store %v2 to %first[%i2]
      yield
    }
    loop %i3 in %0 .. %n step %1 {
      %v3 = buffer_load %first[%i3] : f32
      %w3 = add %v3, %v3 : f32
      buffer_store %w3 to %keep[%1, %i3]
      yield
    }
    yield
  }
  loop %b4 in %0 .. %1 step %1 {
    %second = buffer_new : buffer<f32,[400]>
    %sum = buffer_new : buffer<f32,[]>
    %lanes = buffer_new : buffer<bool,[64]>
    buffer_store %zero to %sum[]
    loop %i5 in %0 .. %n step %1 {
      %v5 = buffer_load %keep[%1, %i5] : f32
      buffer_store %v5 to %second[%i5]
      %s5 = buffer_load %sum[] : f32
      %t5 = add %s5, %v5 : f32
      buffer_store %t5 to %sum[]
      %c5 = gt %v5, %zero : bool
      buffer_store %c5 to %lanes[%0]
      yield
    }
    loop %i6 in %0 .. %n step %1 {
      %v6 = buffer_load %second[%i6] : f32
      %s6 = buffer_load %sum[] : f32
      %c6 = buffer_load %lanes[%0] : bool
      %t6 = add %s6, %v6 : f32
      %u6 = select %c6, %t6, %zero : f32
      store %u6 to %y[%i6] {bounds = proven}
      yield
    }
    yield
  }
  return
}
)";

/// Returns a kernel that reads a scalar of each type from its slot, stores it, and reads sizes.
std::string ScalarsText() {
  std::string params;
  std::string stores;
  for (Scalar scalar : {Scalar::Bool, Scalar::I8, Scalar::U16, Scalar::I32, Scalar::U64,
                        Scalar::F16, Scalar::BF16, Scalar::F32, Scalar::F64}) {
    std::string name(Spelling(scalar));
    params += fmt::format("%s{0}: {0}, %t{0}: tensor<{0},[1]> out, ", name);
    stores += fmt::format("  store %s{0} to %t{0}[0] {{bounds = proven}}\n", name);
  }
  return "kernel @scalars dims(%N, %M) (" + params +
         "%x: tensor<i64,[N,M]> in, %d: tensor<i64,[2]> out) {\n" + stores +
         "  store %M to %d[0] {bounds = proven}\n  store %N to %d[1] {bounds = proven}\n  "
         "return\n}\n";
}

/// b = a + 1, then c = b * 2, element by element. Like any two parameters, b and c do not overlap.
constexpr std::string_view kInOut =
    R"(kernel @steps dims(%N) (%a: tensor<f32,[N]> in, %b: tensor<f32,[N]> inout, %c: tensor<f32,[N]> out) {
  %0 = const 0 : i64
  %1 = const 1 : i64
  %one = const 1.0 : f32
  loop %i in %0 .. %N step %1 {
    %v = load %a[%i] {bounds = proven} : f32
    %old = load %b[%i] {bounds = proven} : f32
    %w = add %v, %old : f32
    store %w to %b[%i] {bounds = proven}
    %again = load %b[%i] {bounds = proven} : f32
    %x = fma %again, %v, %one : f32
    store %x to %c[%i] {bounds = proven}
    yield
  }
  return
}
)";

}  // namespace

TEST_CASE("accesses are affine and use the strides") {
  for (int opt_level : {0, 1, 2, 3}) {
    LoadedModule module(std::string(kStrided), opt_level);
    constexpr int64_t kM = 7;
    constexpr int64_t kN = 33;
    std::vector<int32_t> x(kM * 40);
    std::iota(x.begin(), x.end(), 0);
    std::vector<int32_t> y(kN * 9, -1);
    Call call{{kM, kN}, {TensorOf(x.data(), {kM, kN}), TensorOf(y.data(), {kN, kM})}, {}};
    call.tensors[0].stride[0] = 40;
    call.tensors[1].stride[0] = 9;
    REQUIRE(module.LaunchKernel("strided", call).code == KDL_DONE);
    int wrong = 0;
    for (int64_t j = 0; j < kN; ++j) {
      for (int64_t i = 0; i < 9; ++i) {
        auto expected = static_cast<int32_t>(i < kM ? (i * 40 + j) + ((kM - 1 - i) * 40 + j) : -1);
        wrong += y[static_cast<size_t>(j * 9 + i)] != expected;
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("views use the strides, and a launch is rejected if its strides do not allow the view") {
  for (int opt_level : {0, 3}) {
    LoadedModule module(std::string(kViews), opt_level);
    std::vector<int32_t> x(3 * 50);
    std::iota(x.begin(), x.end(), 0);
    std::vector<int32_t> y(3 * 40, -1);
    Call call{{3, 4, 5}, {TensorOf(x.data(), {3, 4, 5}), TensorOf(y.data(), {3, 20})}, {}};
    call.tensors[0].stride[0] = 50;
    call.tensors[1].stride[0] = 40;
    REQUIRE(module.LaunchKernel("views", call).code == KDL_DONE);
    int wrong = 0;
    for (int n = 0; n < 3; ++n) {
      for (int i = 0; i < 40; ++i)
        wrong += y[static_cast<size_t>(n * 40 + i)] != (i < 20 ? n * 50 + i : -1);
    }
    CHECK(wrong == 0);
    auto check = [&] {
      kdl_trap trap = {};
      kdl_args args = {sizeof(kdl_args), KDL_ABI_VERSION, call.dims.data(), call.tensors.data(),
                       nullptr};
      int32_t code = module.variant("views").check(call.dims.data(), &args, &trap);
      return code == KDL_DONE ? 0 : trap.index * 1000 + trap.bound;
    };
    CHECK(check() == 0);
    call.tensors[0].stride[1] = 10;  // uses only every other row
    CHECK(check() == 10 * 1000 + 5);
    call.tensors[0].size[1] = call.dims[1] = 1;
    call.tensors[1].size[1] = 5;
    CHECK(check() == 0);  // with a single row, its stride does not matter
  }
}

TEST_CASE("buffers keep their contents until the end of their block, and then share memory") {
  for (int opt_level : {0, 1, 2, 3}) {
    CAPTURE(opt_level);
    LoadedModule module(std::string(kBuffers), opt_level);
    // `keep` has 3 * 300 floats. It is followed by the larger of the two buffers that share memory, with 400
    // floats.
    CHECK(module.variant("buffers").scratch_bytes == 3648 + 1600);
    std::array<float, 300> x;
    std::iota(x.begin(), x.end(), 1.0F);
    std::array<float, 300> y = {};
    REQUIRE(module
                .LaunchKernel("buffers",
                              {{300}, {TensorOf(x.data(), {300}), TensorOf(y.data(), {300})}, {}})
                .code == KDL_DONE);
    const float sum = 300.0F * 301.0F;
    int wrong = 0;
    for (size_t i = 0; i < 300; ++i) wrong += y[i] != sum + 2 * x[i];
    CHECK(wrong == 0);
  }
}

TEST_CASE("a buffer in a nested block comes after the buffers that are live around the block") {
  ir::ReadText read(R"(kernel @k dims(%N) () {
  %0 = const 0 : i64
  %a = buffer_new : buffer<f64,[100]>
  loop %i in %0 .. %N step %N {
    %b = buffer_new : buffer<f64,[200]>
    loop %j in %0 .. %N step %N {
      %c = buffer_new : buffer<f64,[300]>
      yield
    }
    %d = buffer_new : buffer<f64,[70]>
    %e = buffer_new : buffer<f64,[64]>
    yield
  }
  %f = buffer_new : buffer<f64,[1000]>
  return
}
)");
  REQUIRE_MESSAGE(read.module, read.Errors());
  ScratchPlan plan = PlanScratch(*read.module->functions()[0]);
  std::map<std::string, BufferPlace> places;
  for (const auto& [value, place] : plan.places) places[value->name().str()] = place;
  CHECK(places["a"].offset == 0);
  CHECK(places["b"].offset == 832);
  CHECK(places["c"].offset == 832 + 1600);
  CHECK(places["d"].offset == 832 + 1600);  // c is dead by then
  CHECK(places["e"].space == BufferSpace::Stack);
  CHECK(places["f"].offset == 832);
  CHECK(plan.scratch_bytes == 832 + 8000);
}

TEST_CASE("scalars of every type are passed in slots, and sizes in their order") {
  for (int opt_level : {0, 2}) {
    LoadedModule module(ScalarsText(), opt_level);
    const uint64_t kSlots[] = {1,
                               0x80,
                               0xFEDC,
                               0x80000001,
                               0xFEDCBA9876543210,
                               0xBC01,
                               0xFF80,
                               std::bit_cast<uint32_t>(-0.5F),
                               std::bit_cast<uint64_t>(1e300)};
    const size_t kBytes[] = {1, 1, 2, 4, 8, 2, 2, 4, 8};
    Call call{{20, 30}, {}, {}};
    std::array<uint64_t, 9> out = {};
    for (size_t i = 0; i < 9; ++i) {
      call.scalars.push_back(kSlots[i]);
      call.tensors.push_back(TensorOf(&out[i], {1}));
    }
    std::array<int64_t, 2> sizes = {};
    call.tensors.push_back(TensorOf(nullptr, {20, 30}));
    call.tensors.push_back(TensorOf(sizes.data(), {2}));
    REQUIRE(module.LaunchKernel("scalars", call).code == KDL_DONE);
    for (size_t i = 0; i < 9; ++i) CHECK(out[i] == kSlots[i]);
    CHECK(kBytes[8] == 8);
    CHECK(sizes == std::array<int64_t, 2>{30, 20});
  }
}

TEST_CASE("a load reads what an earlier store has written") {
  for (int opt_level : {0, 1, 2, 3}) {
    LoadedModule module(std::string(kInOut), opt_level);
    std::array<float, 37> a;
    std::iota(a.begin(), a.end(), -5.0F);
    std::array<float, 37> b;
    b.fill(0.25F);
    std::array<float, 37> c = {};
    Call call{
        {37}, {TensorOf(a.data(), {37}), TensorOf(b.data(), {37}), TensorOf(c.data(), {37})}, {}};
    REQUIRE(module.LaunchKernel("steps", call).code == KDL_DONE);
    int wrong = 0;
    for (size_t i = 0; i < 37; ++i) {
      wrong += b[i] != a[i] + 0.25F || c[i] != (a[i] + 0.25F) * a[i] + 1;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("LLVM is told that outputs overlap nothing") {
  ir::ReadText read{std::string(kInOut)};
  REQUIRE(read.module);
  Result<Backend> backend = Backend::Create(X86Processor(), 2);
  REQUIRE(backend.ok());
  Result<CompiledModule> compiled = CompileKernels(*backend, *read.module, {false, true, true});
  REQUIRE(compiled.ok());
  CHECK(compiled->object.empty());
  CHECK(compiled->llvm_ir.find("!alias.scope") != std::string::npos);
  CHECK(compiled->llvm_ir.find("!noalias") != std::string::npos);
  CHECK(compiled->assembly.find("vfmadd") != std::string::npos);
}

}  // namespace kdl::codegen
