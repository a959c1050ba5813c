#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "ir/builder.h"
#include "ir/op_info.h"
#include "ir/print/equal.h"
#include "ir/print/literals.h"
#include "ir/print/printer.h"
#include "ir_text.h"

namespace kdl::ir {

namespace {

constexpr std::string_view kMatmul = R"(module "matmul"
device @cpu = "host"
device @dsp

/// c = a * b.
///
///  Any sizes.
kernel @matmul.f32 types(T = f32) generics(BM = auto, BN = 64, D, E in {32, 64} = auto(32), F = 1 | 2) dims(%M, %N, %K) {export} (%a: tensor<f32,[M,K]> in, %b: tensor<f32,[K,N]> in, %c: tensor<f32,[M,N]> out, %scale: f32) {
  axis i = M by BM
  axis j = N by BN
  axis k = K by 16
  axis k.1 in k by 8 innermost
  %z = const 0.0 : f32
  spmd (%i: block<i> in 0 .. %M, %j: block<j> in 0 .. %N, %s: i64 in 0 .. %K) {
    %broadcast = broadcast %z : tile<f32; i j>
    %acc = for %k: block<k> in 0 .. %K carry(%acc.1 = %broadcast) {
      %a.1 = load %a[%i, %k] {bounds = clip, text = "a[i, k]"} : tile<f32; i k>
      %x = load %b[2*%k + %s - 1, -%j + M*%s + (K - 1)] else %z {bounds = else} : tile<f32; j k>
      %contraction = contraction %a.1, %x into %acc.1 over k {order = sequential} : tile<f32; i j>
      yield %contraction
    } : tile<f32; i j>
    %lt = lt %acc, %scale : tile<bool; i j>
    store %acc to %c[%i, %j] where %lt {bounds = guard, text = "say \"c[i, j]\""}
  }
  return
}
)";

constexpr std::string_view kEverything = R"(device @npu

fn @gate.f32 (%x: f32, %y: i32) -> f32 {
  %"0" = to_bits %x : i32
  %a = div %"0", %y {text = "a / b"} : i32
  %a.1 = from_bits %a : f32
  return %a.1
}

kernel @loops.f32 dims(%N) (%x: tensor<f32,[N]> inout, %flag: bool) {
  axis i = N by 8
  %core_id = core_id : i64
  %core_num = core_num : i64
  %size = size (N*2) : i64
  %i = make_block 0, 8, 0 : block<i>
  %iota = iota %i : tile<i64; i>
  %t = elementwise (%p in %i) {
    %element = element %iota at (%p) : i64
    %cast = cast %element : f32
    yield %cast
  } : tile<f32; i>
  %reduce = reduce sum %t over i {order = lanes64} : f32
  %loop, %loop.1 = loop %n in 0 .. %N step %core_num carry(%s = %reduce, %q = 0) {
    check %n in %N {dimension = 0, text = "x[n]"}
    prefetch %x[%n + 16] {intent = write}
    %x.1 = load %x[%n] {bounds = proven} : f32
    %add = add %s, %x.1 : f32
    yield %add, %n
  } : f32, i64
  %w, %v = while carry(%go = %flag, %u = %loop) {
    assert %go where %flag {text = "goes on"}
    %d = add %u, %reduce : f32
    yield %flag, %d
  } : bool, f32
  %e, %c = loop %m in 0 .. %N carry(%f = %flag, %g = %v) {breaks} {
    yield %flag, %g
  } : bool, f32
  static_assert %flag {text = "holds"}
  print (%c, %t) {text = "c = {}"}
  %r = if %flag {
    %buffer_new = buffer_new : buffer<f32,[8,4]>
    buffer_store %loop to %buffer_new[0, 1]
    %buffer_load = buffer_load %buffer_new[0, 1] : f32
    yield %buffer_load
  } else {
    yield %loop
  } : f32
  %b = gt %r, %loop : bool
  %call = call @gate.f32(%r, 3_i32) where %b : f32
  store %call to %x[0] {bounds = guard}
  return
}

program @run dims(%N) (%x: tensor<f32,[N]> inout) {
  %h = alloc "h" on @npu : tensor<f32,[N]>
  %transfer, %transfer.1 = transfer %x to @npu queue 1 after() {cause = "loops reads x"} : tensor<f32,[N]>, event
  %launch = launch @loops.f32 on @npu queue 0 cores(%N) (%transfer, true) after(%transfer.1) {constants = "BM=8"} : event
  %mark = mark on @npu queue 1 : event
  %launch.1 = launch @loops.f32 on @"" queue 0 (%h, true) after(%transfer.1, %launch, %mark) : event
  %device_cores = device_cores @npu : i64
  %h.1 = host_load %h[%device_cores] after(%launch.1) {text = "h[0]"} : f32
  host_store %h.1 to %h[%device_cores] after() {text = "h[0]"}
  free %h after(%launch.1)
  return
}
)";

constexpr std::string_view kPipes = R"kir(module "pipes"
device @host = "host"

fn @send (%q: pipe<f32,[4]> out, %r: pipe<f32,[4,8]> in, %ws: workspace) {
  return
}

kernel @tiles generics(B = 4 | 8) dims(%M) (%x: tensor<f32,[M]> in, %y: tensor<f32,[M]> out) {
  axis i = M by B
  axis j = M by B
  %q = pipe {depth = 2, name = "q"} : pipe<f32,[B]>
  stage {name = "make"} {
    spmd (%i: block<i> in 0 .. %M) {domain = "blocks"} {
      %x.1 = load %x[%i] {bounds = clip, text = "x[i]"} : tile<f32; i>
      push %x.1 to %q over i {text = "q.push(x[i])"}
    }
  }
  stage {name = "use"} {
    spmd (%j: block<j> in 0 .. %M) {domain = "blocks"} {
      %pop = pop %q over j {text = "q.pop(j)"} : tile<f32; j>
      store %pop to %y[%j] {bounds = clip, text = "y[j]"}
    }
  }
  return
}

kernel @slots (%ws: workspace) {
  %q = pipe in %ws {depth = 2, from = "make", header = 64, offset = 0, slot = 128, to = "use", name = "q"} : pipe<f32,[4,2]>
  stage {name = "make"} {
    %s = acquire %q : tensor<f32,[4,2]>
    commit %s to %q sizes(4, 4)
  }
  stage {name = "use"} {
    %s.1, %m, %n = wait %q : tensor<f32,[4,2]>, i64, i64
    match %m, 4 {text = "q.pop(i)"}
    release %s.1 to %q
  }
  return
}

program @main () {
  %w = workspace on @host {name = "slots: q"} : workspace
  %footprint = footprint @slots on @host : i64
  %instances = instances on @host : i64
  reserve %w, %instances * %footprint
  return
}
)kir";

constexpr std::string_view kFolds = R"kir(module "folds"

kernel @k dims(%R, %C) (%x: tensor<f32,[R,C]> in, %y: tensor<f32,[R,C]> out) {
  axis r = R by 4
  axis c = C by 8
  %lo = const 0 : i64
  %one = const 1 : i64
  %zero = const 0.0 : f32
  spmd (%rb: block<r> in %lo .. %R, %cb: block<c> in %lo .. %C) {
    %t = load %x[%rb, %cb] {bounds = clip} : tile<f32; r c>
    %n = iota %cb : tile<i64; c>
    %m = broadcast %n : tile<i64; r c>
    %best, %at = multi_reduce carry(%a = %zero, %b = %lo) (%u in %t, %v in %m) {axes = (c)} {
      %more = gt %u, %a : bool
      %p = select %more, %u, %a : f32
      %q = select %more, %v, %b : i64
      yield %p, %q
    } : tile<f32; r>, tile<i64; r>
    %s = scan carry(%a.1 = %zero) (%u.1 in %t) {axes = (r), keep = before, direction = down} {
      %p.1 = add %a.1, %u.1 : f32
      yield %p.1
    } : tile<f32; r c>
    %w = gather %t at (%at) over c {bounds = guard, text = "t[c = at]"} : tile<f32; r>
    %more.1 = gt %w, %best : tile<bool; r>
    %e = gather %t at (%n, %at) over r, c else %zero where %more.1 {bounds = else} : tile<f32; r c>
    store %e to %y[%rb, %cb] {bounds = clip}
  }
  return
}
)kir";

constexpr std::string_view kVectors =
    R"(kernel @vectors dims(%N) (%x: tensor<f32,[N]> inout, %flag: bool) {
  %splat = splat 2.0_f32 : vec<f32 x 16>
  require {compare = le, left = 1, right = 2, text = "1 <= 2"}
  busy_cores 7
  %lane_numbers = lane_numbers : vec<i64 x 16>
  %buffer_new = buffer_new : buffer<f32,[3,16]>
  %loop = loop %n in 0 .. %N step 16 carry(%a = %splat) {
    %sub = sub %N, %n : i64
    %k = lane_mask %sub : vec<bool x 16>
    %x.1 = load %x[%n] where %k {bounds = proven} : vec<f32 x 16>
    %x.2 = load %x[%n] {bounds = proven} : vec<f32 x 16>
    %fma = fma %x.1, 2.0_f32, %x.2 : vec<f32 x 16>
    %lt = lt %lane_numbers, %sub : vec<bool x 16>
    %select = select %lt, %fma, 2.0_f32 : vec<f32 x 16>
    buffer_store %select to %buffer_new[0, 0]
    buffer_store %select to %buffer_new[0, 0] where %lt
    %buffer_load = buffer_load %buffer_new[0, 0] : vec<f32 x 16>
    %buffer_load.1 = buffer_load %buffer_new[0, 0] where %k : vec<f32 x 16>
    store %buffer_load to %x[%n] {cache = past, bounds = proven}
    store %buffer_load.1 to %x[%n] where %k {bounds = proven}
    yield %buffer_load.1
  } : vec<f32 x 16>
  %half = half 0 of %loop : vec<f32 x 8>
  %half.1 = half 1 of %half : vec<f32 x 4>
  %half.2 = half 1 of %half.1 : vec<f32 x 2>
  %half.3 = half 0 of %half.2 : f32
  %transpose, %transpose.1 = transpose %half.2, %half.2 : vec<f32 x 2>, vec<f32 x 2>
  %if = if %flag {
    yield %transpose
  } else {
    yield %transpose.1
  } : vec<f32 x 2>
  %cast = cast %if : vec<f16 x 2>
  store %half.3 to %x[0] {bounds = proven}
  %align_gap = align_gap %x[0] {lanes = 16} : i64
  return
}
)";

/// Checks that the module can be read and prints as written, and that the printed text reads back as the same
/// module.
void CheckRoundTrip(std::string_view text) {
  ReadText read{std::string(text)};
  REQUIRE_MESSAGE(read.module, read.Errors());
  std::string printed = Print(*read.module);
  CHECK(printed == text);
  std::unique_ptr<Module> again = read.Again(printed);
  REQUIRE(again);
  CHECK(Difference(*read.module, *again) == "");
}

std::string ErrorsOf(std::string text) {
  ReadText read{std::move(text)};
  CHECK(!read.module);
  return read.Errors();
}

std::string InKernel(std::string_view body) {
  return "kernel @k dims(%N) (%x: tensor<f32,[N]> inout) {\n" + std::string(body) +
         "\n  return\n}\n";
}

void CheckFirstError(std::string text, std::string_view message) {
  std::string errors = ErrorsOf(std::move(text));
  CHECK_MESSAGE(errors.find(message) != std::string::npos, errors);
}

}  // namespace

TEST_CASE("printed text is parsed again and prints the same") {
  CheckRoundTrip(kMatmul);
  CheckRoundTrip(kEverything);
  CheckRoundTrip(kVectors);
  CheckRoundTrip(kPipes);
  CheckRoundTrip(kFolds);
  CheckRoundTrip("");
  CheckRoundTrip("module \"na\\\\me \\x01\\n\\xff é\"\n");
}

TEST_CASE("locations are restored exactly") {
  ReadText read{std::string(kMatmul)};
  REQUIRE(read.module);
  uint32_t line = 0;
  Function& function = *read.module->functions()[0];
  function.loc = {read.names.Intern("dir with \"quotes\"/é.kdl"), 1, 2, 3};
  Walk(function.body, [&](Op* op) {
    if (++line % 3 != 0)
      op->set_loc(
          {line % 2 == 0 ? read.names.Intern("m.kdl") : Name(), line, 7 + line, 4294967295});
  });
  std::string printed = Print(*read.module, {.locs = true});
  std::unique_ptr<Module> again = read.Again(printed);
  REQUIRE_MESSAGE(again, read.Errors());
  CHECK(Difference(*read.module, *again, {.locs = true}) == "");
  CHECK(Print(*again, {.locs = true}) == printed);
  CHECK(Print(*again) == kMatmul);
  again->functions()[0]->body->first()->set_loc({});
  CHECK(!Equal(*read.module, *again, {.locs = true}));
  CHECK(Equal(*read.module, *again));
}

/// Returns the contents of all golden files. The golden tests also parse the KIR that the compiler prints.
std::string GoldenTexts() {
  std::string texts;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(KDL_GOLDEN_FOLDER)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path());
    texts.append(std::istreambuf_iterator<char>(in), {});
  }
  return texts;
}

TEST_CASE("every op of the table is printed and parsed, in a test above or in a golden file") {
  const std::string golden = GoldenTexts();
  for (size_t i = 0; i < kOpCount; ++i) {
    const OpInfo& info = Info(static_cast<OpKind>(i));
    bool arithmetic = info.has(kElementwise) && info.format.find('@') == std::string_view::npos;
    std::string word = " " + std::string(info.spelling);
    bool stands = kMatmul.find(word) != std::string_view::npos ||
                  kEverything.find(word) != std::string_view::npos ||
                  kVectors.find(word) != std::string_view::npos ||
                  kPipes.find(word) != std::string_view::npos ||
                  kFolds.find(word) != std::string_view::npos ||
                  golden.find(word + " ") != std::string::npos ||
                  golden.find(word + "\n") != std::string::npos;
    CHECK_MESSAGE((arithmetic || stands || info.kind == OpKind::BlockStart ||
                   info.kind == OpKind::BlockSize || info.kind == OpKind::BlockIndex),
                  info.spelling);
  }
}

TEST_CASE("unnamed constants are printed where they are used, or once at the start as indices") {
  CheckRoundTrip(R"(kernel @k dims(%N) (%x: tensor<f32,[N]> inout, %t: tensor<f32,[4,N]> in) {
  axis i = N by 8
  axis j = N by 8
  %0 = const 0 : i64
  %1 = const 3 : i64
  spmd (%i: block<i> in 0 .. %N) {
    %x.1 = load %x[%i] {bounds = clip} : tile<f32; i>
    %t.1 = load %t[2*%1 - 3, %i] {bounds = clip} : tile<f32; i>
    %fma = fma %x.1, -0.5_f32, %t.1 : tile<f32; i>
    %max = max %fma, -inf_f32 : tile<f32; i>
    store %max to %x[%i] where true {bounds = clip}
  }
  loop %n in 0 .. %N {
    %t.2 = load %t[%0, %n] {bounds = proven} : f32
    store %t.2 to %x[%n] {bounds = proven}
  }
  return
}
)");
}

TEST_CASE("constants of every type are parsed to the same bits") {
  std::mt19937_64 random(1);
  for (int s = 0; s <= static_cast<int>(Scalar::F64); ++s) {
    auto scalar = static_cast<Scalar>(s);
    uint64_t mask = Bytes(scalar) == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * Bytes(scalar))) - 1;
    if (scalar == Scalar::Bool) mask = 1;
    for (int n = 0; n < 20000; ++n) {
      uint64_t bits = (n < 4 ? mask >> n : random()) & mask;
      std::string text = ConstantText(scalar, bits);
      std::optional<uint64_t> back = ConstantBits(scalar, text);
      REQUIRE_MESSAGE(back, text);
      REQUIRE_MESSAGE(*back == bits, text);
    }
  }
  CHECK(ConstantText(Scalar::F32, 0x3f800000) == "1.0");
  CHECK(ConstantText(Scalar::F32, 0x80000000) == "-0.0");
  CHECK(ConstantText(Scalar::F32, 0x3dcccccd) == "0.1");
  CHECK(ConstantText(Scalar::F16, 0x2e66) == "0.0999755859375");
  CHECK(ConstantText(Scalar::F64, 0xfff0000000000000) == "-inf");
  CHECK(ConstantText(Scalar::F32, 0x7fc00000) == "nan");
  CHECK(ConstantText(Scalar::F32, 0xffc00001) == "0xffc00001");
  CHECK(ConstantText(Scalar::I8, 0x80) == "-128");
  CHECK(ConstantText(Scalar::U64, ~uint64_t{0}) == "18446744073709551615");
  CHECK(!ConstantBits(Scalar::I8, "128"));
  CHECK(!ConstantBits(Scalar::U8, "-1"));
  CHECK(!ConstantBits(Scalar::F32, "1e39"));
  CHECK(!ConstantBits(Scalar::F16, "65520.0"));
  CHECK(!ConstantBits(Scalar::Bool, "1"));
  CHECK(!ConstantBits(Scalar::F32, "0x100000000"));
}

TEST_CASE("names that are not identifiers, repeat, or look like numbers keep their text") {
  ReadText read{InKernel("  %0 = const 1 : i64")};
  REQUIRE(read.module);
  Region* body = read.module->functions()[0]->body;
  Builder builder(*read.module, body, body->first());
  for (std::string_view name : {"x", "x", "x.1", "1", "a b", "a b", "é", "", "a.b", "a.b", "x"}) {
    builder.I64(3)->set_name(read.names.Intern(name));
  }
  std::string printed = Print(*read.module);
  std::unique_ptr<Module> again = read.Again(printed);
  REQUIRE_MESSAGE(again, read.Errors());
  CHECK(Difference(*read.module, *again) == "");
  CHECK(Print(*again) == printed);
}

TEST_CASE("invalid types of vectors are rejected") {
  auto splat = [](std::string_view type) {
    return InKernel("  %f = const 1.0 : f32\n  %v = splat %f : " + std::string(type));
  };
  for (std::string_view type : {"vec<f32 x 2>", "vec<f32 x 3>", "vec<f32 x 4096>"})
    CHECK(ReadText(splat(type)).module);
  CheckFirstError(splat("vec<f32 x 1>"), "a number of lanes from 2 to 4096");
  CheckFirstError(splat("vec<f32 x 0>"), "a number of lanes from 2 to 4096");
  CheckFirstError(splat("vec<f32 x 4097>"), "a number of lanes from 2 to 4096");
  CheckFirstError(splat("vec<f32 x 99999999999999999999>"), "error");
  CheckFirstError(splat("vec<f32>"), "expected 'x'");
  CheckFirstError(splat("vec<f32 16>"), "expected 'x'");
  CheckFirstError(splat("vec<f32 x 16"), "expected '>'");
  CheckFirstError(splat("vec<f31 x 16>"), "error");
  CheckFirstError(splat("vec f32 x 16"), "expected '<'");
}

TEST_CASE("errors of the parser say where and why") {
  CheckFirstError("kernel @k () { frobnicate %x\n return }",
                  "1:16: error: unknown operation 'frobnicate'");
  CheckFirstError("kernel k () {}", "expected '@', found 'k'");
  CheckFirstError("rubbish",
                  "expected 'module', 'after', 'device', 'fn', 'kernel', 'program' or 'contract', "
                  "found 'rubbish'");
  CheckFirstError("kernel @k () { return",
                  "expected an operation or '}', found the end of the file");
  CheckFirstError("kernel @k () ", "expected '{' and the function's body");
  CheckFirstError("kernel @k () { return }\nkernel @k () { return }", "@k is defined twice");
  CheckFirstError(InKernel("  %a = neg %b : f32"),
                  "2:12: error: value %b is not defined before this use");
  CheckFirstError(InKernel("  %a = const 1 : i8\n  %a = const 1 : i8"), "%a is defined twice");
  CheckFirstError(InKernel("  %a, %b = const 1 : i8"),
                  "'const' has 1 result, but the number of names before `=` is 2");
  CheckFirstError(InKernel("  const 1"),
                  "'const' has 1 result, but the number of names before `=` is 0");
  CheckFirstError(InKernel("  %a = const 300 : i8"), "'300' is not a constant of type i8");
  CheckFirstError(InKernel("  %a = const 1.5 : f99"), "expected a type, found 'f99'");
  CheckFirstError(InKernel("  %a = neg 1.5_f99 : f32"),
                  "expected a constant, such as 3 or 0.5_f32, found '1.5_f99'");
  CheckFirstError(InKernel("  %a = neg 300_i8 : i8"), "'300' is not a constant of type i8");
  CheckFirstError(InKernel("  %a = const 1 {bounds = clip} : i8"),
                  "'const' has no attribute 'bounds'");
  CheckFirstError(InKernel("  %a = load %x[0] {bounds = sharp} : f32"),
                  "expected a value of 'bounds', found 'sharp'");
  CheckFirstError(InKernel("  %a = load %x[0] {bounds = clip, bounds = clip} : f32"),
                  "bounds is defined twice");
  CheckFirstError(InKernel("  %a = load %x[q r] {bounds = clip} : f32"), "expected ','");
  CheckFirstError(InKernel("  %a = load %x[0] {text = \"no end} : f32"),
                  "expected '\"' at the end of the string");
  CheckFirstError(InKernel("  %t = broadcast %N : tile<i64; q>"), "the function has no axis 'q'");
  CheckFirstError(InKernel("  check %N in %N {dimension = 99999999999999999999, text = \"\"}"),
                  "expected an integer");
  CheckFirstError(InKernel("  core_id loc(\"f\":1:4294967296+1)"), "the number of names");
  CheckFirstError(InKernel("  %c = core_id : i64 loc(\"f\":1:4294967296+1)"),
                  "expected a 32-bit number");
}

TEST_CASE("a function has at most one error, and the functions after it are parsed") {
  std::string errors =
      ErrorsOf("kernel @a () {\n  wrong\n  wronger\n}\nkernel @b () {\n  also\n}\n");
  CHECK(errors.find("'wrong'") != std::string::npos);
  CHECK(errors.find("'also'") != std::string::npos);
  CHECK(errors.find("'wronger'") == std::string::npos);
}

TEST_CASE("the depth of nesting is limited") {
  std::string ops;
  for (int i = 0; i < 300; ++i) ops += "if %b {\n";
  CheckFirstError("kernel @k (%b: bool) {\n" + ops, "more than 256 levels deep");
  std::string sum = "N";
  for (int i = 0; i < 300; ++i) sum += " + N";
  CheckFirstError(InKernel("  %a = size (" + sum + ") : i64"), "more than 256 levels deep");
  CheckFirstError(InKernel("  %a = size " + std::string(100000, '(') + " : i64"),
                  "more than 256 levels deep");
}

TEST_CASE("a text above the size limit is rejected before it is read") {
  CheckFirstError(std::string(kMaxTextBytes + 1, ' '),
                  "the file is 67108865 bytes long; the limit is 67108864 bytes");
}

TEST_CASE("no bytes crash the parser, and accepted text satisfies the invariants") {
  std::mt19937 random(7);
  std::string seeds[] = {std::string(kMatmul), std::string(kEverything)};
  std::string_view chunks[] = {"%",
                               "{",
                               "}",
                               "(",
                               ")",
                               "[",
                               "]",
                               "<",
                               ">",
                               "\"",
                               ",",
                               ":",
                               "=",
                               " in ",
                               " .. ",
                               "\\x",
                               "999999999999999999999",
                               "-",
                               "tile<f32; i>",
                               "yield",
                               "return",
                               "\0",
                               "\xff",
                               "///",
                               "//"};
  int accepted = 0;
  for (int n = 0; n < 3000; ++n) {
    std::string text = seeds[random() % 2];
    for (size_t edits = 1 + random() % 3; edits > 0; --edits) {
      size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text.erase(at, 1 + random() % 8);
          break;
        case 1:
          text.insert(at, chunks[random() % std::size(chunks)]);
          break;
        case 2:
          text[at] = static_cast<char>(random());
          break;
        case 3:
          text.insert(at, text.substr(random() % text.size(), random() % 60));
          break;
      }
    }
    ReadText read{text};
    CHECK((read.module != nullptr) == read.diagnostics.all().empty());
    if (!read.module) continue;
    ++accepted;
    std::string printed = Print(*read.module);
    std::unique_ptr<Module> again = read.Again(printed);
    REQUIRE_MESSAGE(again, printed);
    REQUIRE(Difference(*read.module, *again) == "");
    REQUIRE(Print(*again) == printed);
  }
  CHECK(accepted > 10);
}

TEST_CASE("every op has a location, even if the text does not contain it") {
  ReadText text{""};
  FileId file = text.sources.Add("k.kir", R"(kernel @k dims(%N) (%x: tensor<f32,[N]> inout) {
  axis i = N by 8
  spmd (%i: block<i> in 0 .. %N) {
    %t = load %x[%i] {bounds = guard, text = "x[i]"} : tile<f32; i>
    %u = add %t, 1.0_f32 : tile<f32; i>
    store %u to %x[%i] {bounds = guard, text = "x[i]"}
  }
  loop %n in 0 .. %N {
    assert true {text = "always"}
  }
  return
}
)");
  std::unique_ptr<Module> module =
      Parse(text.sources, file, text.context, text.diagnostics, Trust::Nothing);
  REQUIRE_MESSAGE(module, text.Errors());
  size_t ops = 0;
  Walk(module->functions()[0]->body, [&](const Op* op) {
    ++ops;
    CHECK_MESSAGE(op->loc().line != 0, op->info().spelling);
  });
  CHECK(ops == 13);  // three constants, the step of a loop and two `yield`s are not written as ops
}

}  // namespace kdl::ir
