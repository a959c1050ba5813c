#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "codegen_run.h"
#include "ir/eval.h"
#include "support/float16.h"
#include "support/scalar.h"

// Every elementwise op on every scalar that it is defined on, compiled at every -O, against
// ir/eval.h.

namespace kdl::codegen {

namespace {

using ir::OpKind;

constexpr Scalar kScalars[] = {
#define KDL_SCALAR(name, spelling, bits, group) Scalar::name,
#include "support/scalars.def"
};

/// One kernel: `op` on operands of `operand` (select: behind a bool) gives a `result`.
struct Case {
  OpKind kind;
  Scalar operand;
  Scalar result;
  size_t arity;

  std::string name() const {
    return fmt::format("{}_{}.{}", ir::Info(kind).spelling, Spelling(operand), Spelling(result));
  }
};

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (size_t k = 0; k < ir::kOpCount; ++k) {
    auto kind = static_cast<OpKind>(k);
    if (!ir::Info(kind).has(ir::kElementwise)) continue;
    for (Scalar operand : kScalars) {
      for (Scalar result : kScalars) {
        bool compares = kind >= OpKind::Eq && kind <= OpKind::Ge;
        bool converts = kind == OpKind::Cast || kind == OpKind::ToBits || kind == OpKind::FromBits;
        if (!converts && result != (compares ? Scalar::Bool : operand)) continue;
        if (converts && result == operand) continue;
        if (!ir::FindEval(kind, operand, result)) continue;
        cases.push_back({kind, operand, result, ir::Info(kind).operands.size()});
      }
    }
  }
  return cases;
}

std::string KernelText(const Case& c) {
  std::string params;
  std::string loads;
  std::string operands;
  for (size_t i = 0; i < c.arity; ++i) {
    Scalar scalar = c.kind == OpKind::Select && i == 0 ? Scalar::Bool : c.operand;
    params += fmt::format("%x{}: tensor<{},[N]> in, ", i, Spelling(scalar));
    loads +=
        fmt::format("    %v{0} = load %x{0}[%n] {{edge = proven}} : {1}\n", i, Spelling(scalar));
    operands += fmt::format("{}%v{}", i ? ", " : "", i);
  }
  return fmt::format(
      "kernel @{0} dims(%N) ({1}%y: tensor<{2},[N]> out) {{\n  %0 = const 0 : i64\n"
      "  %1 = const 1 : i64\n  loop %n in %0 .. %N step %1 {{\n{3}    %r = {4} {5} : {2}\n"
      "    store %r to %y[%n] {{edge = proven}}\n    yield\n  }}\n  return\n}}\n",
      c.name(), params, Spelling(c.result), loads, ir::Info(c.kind).spelling, operands);
}

void AddFloats(Scalar scalar, std::vector<uint64_t>& values) {
  const double kEdges[] = {0.0,
                           0.5,
                           1.0,
                           1.5,
                           2.5,
                           3.0,
                           127.5,
                           255.5,
                           65504,
                           65519.99,
                           65520,
                           32768.5,
                           16777217.,
                           2147483648.,
                           4294967296.,
                           0x1p53,
                           0x1p63,
                           0x1p64,
                           0x1.fffffep127,
                           0x1.ffffffp127,
                           0x1.fffffffffffffp1023,
                           0x1p-24,
                           0x1p-25,
                           0x1.8p-25,
                           0x1p-126,
                           0x1p-149,
                           0x1.8p-150,
                           0x1p-1074,
                           0x1.004p0,
                           0x1.00400001p0,
                           0x1.0100000000001p0,
                           0x1.01p0,
                           INFINITY,
                           NAN,
                           0.1,
                           1e-3};
  for (double edge : kEdges) {
    for (double value : {edge, -edge}) {
      values.push_back(ir::EvaluateCast(Scalar::F64, scalar, std::bit_cast<uint64_t>(value)));
    }
  }
}

/// What is special, and some at random, as patterns of the scalar.
std::vector<uint64_t> ValuesOf(Scalar scalar, std::mt19937_64& random) {
  if (scalar == Scalar::Bool) return {0, 1};
  std::vector<uint64_t> values;
  int bits = Bytes(scalar) * 8;
  uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  if (IsFloat(scalar)) {
    AddFloats(scalar, values);
  } else {
    for (int64_t value : {0, 1, 2, 3, 7, 16, 31, 33, 63, 100}) {
      values.push_back(static_cast<uint64_t>(value));
      values.push_back(static_cast<uint64_t>(-value));
    }
    for (int shift : {7, 8, 11, 15, 16, 24, 31, 32, 53, 54, 63}) {
      for (int64_t near : {-1025, -1, 0, 1, 1024, 1025}) {
        values.push_back((uint64_t{1} << shift) + static_cast<uint64_t>(near));
      }
    }
  }
  for (int i = 0; i < 30; ++i) values.push_back(random());
  for (uint64_t& value : values) value &= mask;
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

/// Operands of all points: one operand: all values and many at random; several: values against each
/// other.
std::vector<std::vector<uint64_t>> PointsOf(const Case& c) {
  std::mt19937_64 random(7);
  std::vector<std::vector<uint64_t>> columns(c.arity);
  std::vector<uint64_t> values = ValuesOf(c.operand, random);
  uint64_t mask =
      Bytes(c.operand) == 8 ? ~uint64_t{0} : (uint64_t{1} << (Bytes(c.operand) * 8)) - 1;
  size_t count = c.arity == 1 ? values.size() + 2000 : values.size() * values.size();
  for (size_t n = 0; n < count; ++n) {
    for (size_t i = 0; i < c.arity; ++i) {
      size_t pick = i == 0   ? n % values.size()
                    : i == 1 ? n / values.size()
                             : random() % values.size();
      if (c.kind == OpKind::Select && i == 0) {
        columns[i].push_back(random() % 2);
      } else if (c.arity == 1 && n >= values.size()) {
        columns[i].push_back(c.operand == Scalar::Bool ? random() % 2 : random() & mask);
      } else {
        columns[i].push_back(values[pick]);
      }
    }
  }
  return columns;
}

std::vector<char> Packed(Scalar scalar, const std::vector<uint64_t>& patterns) {
  auto bytes = static_cast<size_t>(Bytes(scalar));
  std::vector<char> memory(patterns.size() * bytes + 1);
  for (size_t n = 0; n < patterns.size(); ++n) {
    std::memcpy(memory.data() + n * bytes, &patterns[n], bytes);
  }
  return memory;
}

bool SameValue(Scalar scalar, uint64_t a, uint64_t b) {
  if (a == b) return true;
  if (!IsFloat(scalar)) return false;
  auto is_nan = [&](uint64_t bits) {
    return std::isnan(std::bit_cast<double>(ir::EvaluateCast(scalar, Scalar::F64, bits)));
  };
  return is_nan(a) && is_nan(b);
}

/// Removes the points at which the op traps; what is expected at the others.
std::vector<uint64_t> Expected(const Case& c, std::vector<std::vector<uint64_t>>& columns) {
  std::vector<uint64_t> expected;
  std::vector<std::vector<uint64_t>> kept(c.arity);
  for (size_t n = 0; n < columns[0].size(); ++n) {
    std::vector<uint64_t> operands;
    for (const auto& column : columns) operands.push_back(column[n]);
    std::optional<uint64_t> value = ir::Evaluate(c.kind, c.operand, c.result, operands.data());
    if (!value) continue;
    expected.push_back(*value);
    for (size_t i = 0; i < c.arity; ++i) kept[i].push_back(operands[i]);
  }
  columns = std::move(kept);
  return expected;
}

void Compare(const LoadedModule& module, const Case& c) {
  std::vector<std::vector<uint64_t>> columns = PointsOf(c);
  std::vector<uint64_t> expected = Expected(c, columns);
  auto count = static_cast<int64_t>(expected.size());
  std::vector<std::vector<char>> memory;
  Call call;
  call.dims = {count};
  for (size_t i = 0; i < c.arity; ++i) {
    memory.push_back(
        Packed(c.kind == OpKind::Select && i == 0 ? Scalar::Bool : c.operand, columns[i]));
    call.tensors.push_back(TensorOf(memory.back().data(), {count}));
  }
  auto bytes = static_cast<size_t>(Bytes(c.result));
  std::vector<char> result(expected.size() * bytes, '\x5A');
  call.tensors.push_back(TensorOf(result.data(), {count}));
  REQUIRE(module.Run(c.name(), call).code == 0);
  int wrong = 0;
  for (size_t n = 0; n < expected.size(); ++n) {
    uint64_t got = 0;
    std::memcpy(&got, result.data() + n * bytes, bytes);
    if (SameValue(c.result, got, expected[n])) continue;
    std::string operands;
    for (const auto& column : columns) operands += fmt::format(" {:#x}", column[n]);
    MESSAGE(fmt::format("{}{}: {:#x}, expected {:#x}", c.name(), operands, got, expected[n]));
    if (++wrong == 5) break;
  }
  CHECK_MESSAGE(wrong == 0, c.name());
}

}  // namespace

TEST_CASE("every elementwise op computes what eval.h says, at every -O") {
  std::vector<Case> cases = AllCases();
  REQUIRE(cases.size() > 300);
  std::string text;
  for (const Case& c : cases) text += KernelText(c);
  for (int opt_level : {0, 1, 3}) {  // 2 runs the passes of 3, but for a few
    CAPTURE(opt_level);
    LoadedModule module(text, opt_level);
    for (const Case& c : cases) Compare(module, c);
  }
  if (!__builtin_cpu_supports("x86-64-v4")) {
    MESSAGE("this processor is no x86-64-v4: its code was not run");
    return;
  }
  LoadedModule module(text, 3, Avx512Facts());
  for (const Case& c : cases) Compare(module, c);
}

TEST_CASE("no op calls a function, on any processor") {
  ir::ReadText read([] {
    std::string text;
    for (const Case& c : AllCases()) text += KernelText(c);
    return text;
  }());
  REQUIRE_MESSAGE(read.module, read.Errors());
  for (const ir::TargetFacts& facts : {X86Facts(), Avx512Facts(), Arm64Facts()}) {
    CAPTURE(facts.cpu);
    for (int opt_level : {0, 3}) {
      CAPTURE(opt_level);
      Result<Backend> backend = Backend::Create(facts, opt_level);
      REQUIRE(backend.ok());
      Result<CompiledModule> compiled = CompileKernels(*backend, *read.module, {});
      REQUIRE(compiled.ok());
      CHECK(UndefinedSymbols(compiled->object) == "");
    }
  }
}

}  // namespace kdl::codegen
