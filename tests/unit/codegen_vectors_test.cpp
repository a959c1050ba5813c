#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numeric>

#include "codegen_case.h"
#include "codegen_run.h"

// Tests ops that move lanes (splats, halves, transpositions) and vectors that loops carry. Also checks which
// instructions these ops become.

namespace kdl::codegen {

namespace {

/// Returns "s0, s1, …" with `count` values, where s is `stem`.
std::string List(std::string_view stem, int64_t count) {
  std::string list;
  for (int64_t i = 0; i < count; ++i) list += fmt::format("{}{}{}", i ? ", " : "", stem, i);
  return list;
}

/// Returns "type, type, …" with `count` types.
std::string Times(std::string_view type, int64_t count) {
  std::string list;
  for (int64_t i = 0; i < count; ++i) list += fmt::format("{}{}", i ? ", " : "", type);
  return list;
}

/// Returns `count` random bit patterns of the scalar type. They are likely to be different if the type is wide.
std::vector<uint64_t> Different(Scalar scalar, int64_t count) {
  std::mt19937_64 random(1);
  std::vector<uint64_t> patterns;
  for (int64_t n = 0; n < count; ++n)
    patterns.push_back(random() & (scalar == Scalar::Bool ? 1 : MaskOf(scalar)));
  return patterns;
}

/// Returns a kernel that transposes x into y. Each row is loaded in `parts` parts.
std::string TransposeText(Scalar scalar, int64_t n, int64_t parts = 1) {
  std::string type = fmt::format("vec<{} x {}>", Spelling(scalar), n);
  std::string loads;
  std::string stores;
  for (int64_t i = 0; i < n * parts; ++i)
    loads += fmt::format("  %r{} = load %x[{}, {}] {{bounds = proven}} : vec<{} x {}>\n", i,
                         i / parts, i % parts * n / parts, Spelling(scalar), n / parts);
  for (int64_t i = 0; i < n; ++i)
    stores += fmt::format("  store %c{0} to %y[{0}, 0] {{bounds = proven}}\n", i);
  return fmt::format(
      "kernel @transpose_{0}_{1}_{7} (%x: tensor<{0},[{1},{1}]> in, %y: tensor<{0},[{1},{1}]> out) "
      "{{\n{2}  {3} = transpose {4} : {5}\n{6}  return\n}}\n",
      Spelling(scalar), n, loads, List("%c", n), List("%r", n * parts), Times(type, n), stores,
      parts);
}

/// Returns a kernel that reverses x into y. To extract a scalar, it repeatedly takes halves of the whole
/// vector.
std::string HalvesText(Scalar scalar, int64_t lanes) {
  std::string text = fmt::format(
      "kernel @halves_{0}_{1} (%x: tensor<{0},[{1}]> in, %y: tensor<{0},[{1}]> out) {{\n"
      "  %v0_{1} = load %x[0] {{bounds = proven}} : vec<{0} x {1}>\n",
      Spelling(scalar), lanes);
  for (int64_t size = lanes; size > 1; size /= 2) {
    int64_t half = size / 2;
    std::string type = half == 1 ? std::string(Spelling(scalar))
                                 : fmt::format("vec<{} x {}>", Spelling(scalar), half);
    for (int64_t first = 0; first < lanes; first += half) {
      text += fmt::format("  %v{}_{} = half {} of %v{}_{} : {}\n", first, half, first / half % 2,
                          first / size * size, size, type);
    }
  }
  for (int64_t lane = 0; lane < lanes; ++lane)
    text += fmt::format("  store %v{}_1 to %y[{}] {{bounds = proven}}\n", lane, lanes - 1 - lane);
  return text + "  return\n}\n";
}

/// Runs a kernel with x and y of n elements each and returns y.
std::vector<uint64_t> RunXY(const LoadedModule& module, const std::string& name, Scalar scalar,
                            const std::vector<uint64_t>& patterns, std::vector<int64_t> sizes) {
  std::vector<char> x = Packed(scalar, patterns);
  std::vector<char> y(x.size());
  Call call{{}, {TensorOf(x.data(), sizes), TensorOf(y.data(), sizes)}, {}};
  REQUIRE(module.LaunchKernel(name, call).code == KDL_DONE);
  return Unpacked(scalar, y.data(), patterns.size());
}

void CheckTranspose(const LoadedModule& module, Scalar scalar, int64_t n, int64_t parts) {
  std::vector<uint64_t> x = Different(scalar, n * n);
  std::string name = fmt::format("transpose_{}_{}_{}", Spelling(scalar), n, parts);
  std::vector<uint64_t> y = RunXY(module, name, scalar, x, {n, n});
  int wrong = 0;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j)
      wrong += y[static_cast<size_t>(i * n + j)] != x[static_cast<size_t>(j * n + i)];
  }
  CHECK_MESSAGE(wrong == 0, name);
}

/// The lanes that PickText takes from `rows` rows of `lanes` lanes: those at a distance of `rows`, beginning with the
/// last lane but `rows`.
std::vector<int64_t> PickedLanes(int64_t lanes, int64_t rows) {
  std::vector<int64_t> picked;
  for (int64_t lane = 0; lane < lanes; ++lane) picked.push_back(rows * (lanes - 1 - lane));
  return picked;
}

/// Returns a kernel that picks lanes of `rows` rows.
std::string PickText(Scalar scalar, int64_t lanes, int64_t rows) {
  std::string type = fmt::format("vec<{} x {}>", Spelling(scalar), lanes);
  std::string loads;
  for (int64_t row = 0; row < rows; ++row)
    loads += fmt::format("  %r{} = load %x[{}, 0] {{bounds = proven}} : {}\n", row, row, type);
  return fmt::format(
      "kernel @pick_{0}_{1}_{2} (%x: tensor<{0},[{2},{1}]> in, %y: tensor<{0},[{2},{1}]> out) {{\n"
      "{3}  %p = pick [{4}] of {5} : {6}\n  store %p to %y[0, 0] {{bounds = proven}}\n"
      "  return\n}}\n",
      Spelling(scalar), lanes, rows, loads, fmt::join(PickedLanes(lanes, rows), ", "),
      List("%r", rows), type);
}

void CheckPick(const LoadedModule& module, Scalar scalar, int64_t lanes, int64_t rows) {
  std::vector<uint64_t> x = Different(scalar, rows * lanes);
  std::string name = fmt::format("pick_{}_{}_{}", Spelling(scalar), lanes, rows);
  std::vector<uint64_t> y = RunXY(module, name, scalar, x, {rows, lanes});
  std::vector<int64_t> picked = PickedLanes(lanes, rows);
  for (size_t lane = 0; lane < picked.size(); ++lane)
    CHECK_MESSAGE(y[lane] == x[static_cast<size_t>(picked[lane])], name);
}

constexpr int64_t kSizes[] = {2, 4, 8, 16, 32};

/// Returns the numbers of parts in which a row of n elements can be loaded.
std::vector<int64_t> PartsOf(int64_t n) {
  std::vector<int64_t> parts = {1};
  if (n == 8 || n == 16) parts.insert(parts.end(), {2, 4});
  return parts;
}

void CheckMoves(int opt_level, const Processor& processor) {
  CAPTURE(opt_level);
  CAPTURE(processor.level);
  std::string text;
  for (Scalar scalar : kScalars) {
    for (int64_t n : kSizes) {
      for (int64_t parts : PartsOf(n)) text += TransposeText(scalar, n, parts);
      text += HalvesText(scalar, n);
      for (int64_t rows = 1; rows <= 4; ++rows) text += PickText(scalar, n, rows);
    }
  }
  LoadedModule module(text, opt_level, processor);
  for (Scalar scalar : kScalars) {
    for (int64_t n : kSizes) {
      for (int64_t parts : PartsOf(n)) CheckTranspose(module, scalar, n, parts);
      std::vector<uint64_t> x = Different(scalar, n);
      std::string name = fmt::format("halves_{}_{}", Spelling(scalar), n);
      std::vector<uint64_t> y = RunXY(module, name, scalar, x, {n});
      CHECK_MESSAGE(std::equal(y.begin(), y.end(), x.rbegin(), x.rend()), name);
      for (int64_t rows = 1; rows <= 4; ++rows) CheckPick(module, scalar, n, rows);
    }
  }
}

/// Carries two vectors that are swapped in each iteration. In every second iteration, a branch adds the lane
/// number to the result.
constexpr std::string_view kCarry =
    R"(kernel @carry dims(%N) (%x: tensor<i32,[16]> in, %y: tensor<i32,[16]> out, %z: tensor<i32,[16]> out, %count: i64) {
  %0 = const 0 : i64
  %1 = const 1 : i64
  %c = const 1000 : i32
  %l = lane_numbers : vec<i64 x 16>
  %i = cast %l : vec<i32 x 16>
  %v = load %x[0] {bounds = proven} : vec<i32 x 16>
  %w = splat %c : vec<i32 x 16>
  %s, %t = loop %n in %0 .. %count step %1 carry(%p = %v, %q = %w) {
    %b = and %n, %1 : i64
    %odd = eq %b, %1 : bool
    %r = if %odd {
      %a = add %p, %i : vec<i32 x 16>
      yield %a
    } else {
      yield %p
    } : vec<i32 x 16>
    yield %q, %r
  } : vec<i32 x 16>, vec<i32 x 16>
  store %s to %y[0] {bounds = proven}
  store %t to %z[0] {bounds = proven}
  return
}
)";

void CheckCarry(const LoadedModule& module, int64_t count) {
  std::array<int32_t, 16> x;
  std::iota(x.begin(), x.end(), -5);
  std::array<int32_t, 16> p = x;
  std::array<int32_t, 16> q;
  q.fill(1000);
  for (int64_t n = 0; n < count; ++n) {
    std::array<int32_t, 16> r = p;
    for (size_t lane = 0; n % 2 == 1 && lane < 16; ++lane) r[lane] += static_cast<int32_t>(lane);
    p = q;
    q = r;
  }
  std::array<int32_t, 16> y = {};
  std::array<int32_t, 16> z = {};
  Call call{{7},
            {TensorOf(x.data(), {16}), TensorOf(y.data(), {16}), TensorOf(z.data(), {16})},
            {static_cast<uint64_t>(count)}};
  REQUIRE(module.LaunchKernel("carry", call).code == KDL_DONE);
  CHECK(y == p);
  CHECK(z == q);
}

/// y = x / d in three kernels: with a divisor for each lane, one divisor for all lanes, and a constant
/// divisor.
constexpr std::string_view kDivide =
    R"(kernel @lanes (%x: tensor<i32,[8]> in, %d: tensor<i32,[8]> in, %y: tensor<i32,[8]> out) {
  %v = load %x[0] {bounds = proven} : vec<i32 x 8>
  %w = load %d[0] {bounds = proven} : vec<i32 x 8>
  %r = div %v, %w {text = "x / d"} : vec<i32 x 8>
  store %r to %y[0] {bounds = proven}
  return
}
kernel @one (%x: tensor<i32,[8]> in, %d: tensor<i32,[8]> in, %y: tensor<i32,[8]> out) {
  %v = load %x[0] {bounds = proven} : vec<i32 x 8>
  %w = load %d[0] {bounds = proven} : i32
  %r = rem %v, %w {text = "x mod d"} : vec<i32 x 8>
  store %r to %y[0] {bounds = proven}
  return
}
kernel @constant (%x: tensor<i32,[8]> in, %d: tensor<i32,[8]> in, %y: tensor<i32,[8]> out) {
  %c = const -7 : i32
  %s = splat %c : vec<i32 x 8>
  %v = load %x[0] {bounds = proven} : vec<i32 x 8>
  %q = div %v, %c : vec<i32 x 8>
  %r = rem %v, %s : vec<i32 x 8>
  %t = mul %q, %r : vec<i32 x 8>
  store %t to %y[0] {bounds = proven}
  return
}
)";

/// One loop with vectors of f16, f32, bf16 and integers, of 16 lanes each; the last iteration is masked.
constexpr std::string_view kVectorLoop =
    R"(kernel @loop dims(%N) (%x: tensor<f16,[N]> in, %b: tensor<bf16,[N]> in, %f: f32, %y: tensor<f32,[N]> inout, %z: tensor<i32,[N]> out) {
  %0 = const 0 : i64
  %l = const 16 : i64
  loop %n in %0 .. %N step %l {
    %c = sub %N, %n : i64
    %k = lane_mask %c : vec<bool x 16>
    %v = load %x[%n] {bounds = proven} : vec<f16 x 16>
    %w = cast %v : vec<f32 x 16>
    %bv = load %b[%n] {bounds = proven} : vec<bf16 x 16>
    %bw = cast %bv : vec<f32 x 16>
    %o = load %y[%n] where %k {bounds = proven} : vec<f32 x 16>
    %s = fma %w, %f, %o : vec<f32 x 16>
    %m = max %s, %bw : vec<f32 x 16>
    store %m to %y[%n] where %k {bounds = proven}
    %i = cast %m : vec<i32 x 16>
    store %i to %z[%n] where %k {bounds = proven}
    yield
  }
  return
}
)";

CompiledModule Compiled(std::string_view text, int opt_level, const Processor& processor) {
  ir::ReadText read{std::string(text)};
  REQUIRE_MESSAGE(read.module, read.Errors());
  Result<Backend> backend = Backend::Create(processor, opt_level);
  REQUIRE(backend.ok());
  Result<CompiledModule> compiled = CompileKernels(*backend, *read.module, {true, true, true});
  REQUIRE(compiled.ok());
  return std::move(*compiled);
}

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// Returns the number of lines that contain both `part` and `also`.
int Count(const std::string& text, std::string_view part, std::string_view also = "") {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    std::string_view line = std::string_view(text).substr(at, text.find('\n', at) - at);
    count += line.find(also) != std::string_view::npos;
  }
  return count;
}

}  // namespace

TEST_CASE("transposed vectors, and halves of vectors down to scalars, for every type and size") {
  for (int opt_level : {0, 1, 3}) CheckMoves(opt_level, X86Processor());
  if (!__builtin_cpu_supports("x86-64-v4")) {
    MESSAGE("this processor does not support x86-64-v4: its code was not run");
    return;
  }
  CheckMoves(3, Avx512Processor());
}

TEST_CASE("loops carry vectors, which change all at once, and branches return vectors") {
  for (int opt_level : {0, 1, 2, 3}) {
    LoadedModule module(std::string(kCarry), opt_level);
    for (int64_t count : {-1, 0, 1, 2, 3, 8}) CheckCarry(module, count);
  }
}

TEST_CASE("a zero in any lane of a divisor traps; constant divisors are not checked") {
  for (int opt_level : {0, 1, 3}) {
    LoadedModule module(std::string(kDivide), opt_level);
    std::array<int32_t, 8> x = {7, -7, 6, INT32_MIN, 8, 100, -100, 0};
    for (size_t zero : {0, 5, 7}) {
      std::array<int32_t, 8> d = {1, 2, -1, -1, 5, 6, 7, 8};
      d[zero] = 0;
      std::array<int32_t, 8> y = {};
      Call call{
          {}, {TensorOf(x.data(), {8}), TensorOf(d.data(), {8}), TensorOf(y.data(), {8})}, {}};
      Outcome lanes = module.LaunchKernel("lanes", call);
      CHECK(lanes.code == KDL_TRAPPED);
      CHECK(lanes.trap.code == KDL_TRAP_DIVISION);
      CHECK(module.LaunchKernel("one", call).code == (zero == 0 ? KDL_TRAPPED : KDL_DONE));
      REQUIRE(module.LaunchKernel("constant", call).code == KDL_DONE);
      for (size_t lane = 0; lane < 8; ++lane) {
        auto quotient = static_cast<int64_t>(std::floor(x[lane] / -7.0));
        CHECK(y[lane] == static_cast<int32_t>(quotient * (x[lane] + 7 * quotient)));
      }
    }
    CHECK(module.compiled().kernels[2].locations.empty());
  }
}

TEST_CASE("vectors become the vector instructions of the processor") {
  for (int opt_level : {1, 2, 3}) {
    CAPTURE(opt_level);
    CompiledModule v4 = Compiled(kVectorLoop, opt_level, Avx512Processor());
    CHECK(Count(v4.assembly, "vcvtph2ps", "zmm") == 1);
    CHECK(Count(v4.assembly, "vpmovzxwd", "zmm") == 1);
    CHECK(Count(v4.assembly, "vfmadd", "zmm") == 1);
    CHECK(Count(v4.assembly, "vcvttps2dq", "zmm") == 1);
    CHECK(Has(v4.assembly, "{%k1}"));
    CHECK(!Has(v4.assembly, "ymm"));
    CompiledModule v3 = Compiled(kVectorLoop, opt_level, X86Processor());
    CHECK(Count(v3.assembly, "vcvtph2ps", "ymm") == 2);
    CHECK(Count(v3.assembly, "vfmadd", "ymm") == 2);
    CHECK(Count(v3.assembly, "vcvttps2dq", "ymm") == 2);
    // Only loads are masked; each of the two stores is a whole vector or parts of 8, 4, 2 and 1 lanes.
    CHECK(Count(v3.assembly, "vmaskmovps", "ymm") + Count(v3.assembly, "vpmaskmovd", "ymm") == 2);
    CHECK(Count(v4.llvm_ir, "call void @llvm.masked.store", "!noalias") == 2);
    CHECK(Count(v3.llvm_ir, "store <8 x float>", "!noalias") == 1);
    for (const CompiledModule* compiled : {&v4, &v3})
      CHECK(Count(compiled->llvm_ir, "call <16 x float> @llvm.masked.load", "!alias.scope") == 1);
  }
}

TEST_CASE("a transposition takes one shuffle for each row and round") {
  CompiledModule v3 = Compiled(TransposeText(Scalar::F32, 8), 3, X86Processor());
  CHECK(Count(v3.assembly, "vunpck") == 16);
  CHECK(Count(v3.assembly, "vperm2f128") + Count(v3.assembly, "vinsertf128") == 8);
  CHECK(Count(v3.assembly, "vblend") + Count(v3.assembly, "vshuf") == 0);
  CompiledModule v4 = Compiled(TransposeText(Scalar::F32, 16), 3, Avx512Processor());
  CHECK(Count(v4.assembly, "vunpck", "zmm") == 32);
  CHECK(Count(v4.assembly, "vshuff", "zmm") == 32);
  CHECK(Count(v4.assembly, "vperm") == 0);
}

TEST_CASE("rows in parts of 128 bits are assembled by loads") {
  CompiledModule v3 = Compiled(TransposeText(Scalar::F32, 8, 2), 3, X86Processor());
  CHECK(Count(v3.assembly, "vunpck") == 16);
  CHECK(Count(v3.assembly, "vinsertf128", "(%r") == 8);
  CHECK(Count(v3.assembly, "vperm") + Count(v3.assembly, "vshuf") == 0);
  CompiledModule v4 = Compiled(TransposeText(Scalar::F32, 16, 4), 3, Avx512Processor());
  CHECK(Count(v4.assembly, "vunpck") + Count(v4.assembly, "vpunpck") == 32);
  CHECK(Count(v4.assembly, "vshuf") + Count(v4.assembly, "vperm") == 0);
}

constexpr const char* kPast = R"(
kernel @past dims(%N) (%x: tensor<f32,[N]> in, %y: tensor<f32,[N]> out) {
  %0 = const 0 : i64
  %8 = const 8 : i64
  %40 = const 40 : i64
  %gap = align_gap %y[%0] {lanes = 8} : i64
  %end = add %gap, %40 : i64
  loop %i in %gap .. %end step %8 {
    %v = load %x[%i] {bounds = proven} : vec<f32 x 8>
    store %v to %y[%i] {bounds = proven, cache = past}
    yield
  }
  return
}
)";

TEST_CASE("stores that bypass the caches are aligned, and fenced if the processor needs it") {
  for (int opt_level : {0, 3}) {
    CompiledModule v3 = Compiled(kPast, opt_level, X86Processor());
    CHECK(Count(v3.assembly, "vmovntps", "%ymm") == 1);
    CHECK(Count(v3.assembly, "sfence") == 1);
    CompiledModule arm = Compiled(kPast, opt_level, Arm64Processor());
    CHECK(Count(arm.assembly, "stnp") == (opt_level > 0 ? 1 : 0));
    CHECK(Count(arm.assembly, "dmb") == 0);
    LoadedModule module(kPast, opt_level, X86Processor());
    std::vector<float> x(64);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + 1);
    for (size_t first = 0; first < 8; ++first) {
      alignas(32) float y[64] = {};
      Call call{{56}, {TensorOf(x.data(), {56}), TensorOf(y + first, {56})}, {}};
      REQUIRE(module.LaunchKernel("past", call).code == KDL_DONE);
      size_t gap = (8 - first) % 8;
      int wrong = 0;
      for (size_t i = 0; i < 56; ++i) {
        bool written = i >= gap && i < gap + 40;
        wrong += y[first + i] != (written ? x[i] : 0);
      }
      CHECK_MESSAGE(wrong == 0, first);
    }
  }
}

TEST_CASE("no op on vectors calls a function, on any processor") {
  std::string text = std::string(kCarry) + std::string(kDivide) + std::string(kVectorLoop);
  for (Scalar scalar : kScalars) text += TransposeText(scalar, 8) + HalvesText(scalar, 8);
  for (const Processor& processor : {X86Processor(), Avx512Processor(), Arm64Processor()}) {
    CAPTURE(processor.level);
    for (int opt_level : {0, 3})
      CHECK(UndefinedSymbols(Compiled(text, opt_level, processor).object) == "");
  }
}

}  // namespace kdl::codegen
