#include <fmt/format.h>

#include "codegen_case.h"
#include "codegen_run.h"

// Compares every elementwise op on vectors of every scalar type with ir/eval/eval.h. Some operands are
// scalars.

namespace kdl::codegen {

namespace {

/// An elementwise op on vectors.
struct VectorCase {
  Case scalar;
  size_t lanes;
  size_t spread;  ///< index of the scalar operand; the arity if there is none

  std::string name() const { return fmt::format("x{}_{}_{}", lanes, spread, scalar.name()); }
  std::string type(size_t operand) const {
    std::string_view scalar_type = Spelling(scalar.operand_scalar(operand));
    return operand == spread ? std::string(scalar_type)
                             : fmt::format("vec<{} x {}>", scalar_type, lanes);
  }
};

/// Returns each op twice: with only vectors, and with one scalar operand. Which operand is scalar varies
/// between ops, and for the same op between 4 and 8 lanes.
std::vector<VectorCase> VectorCases(size_t lanes) {
  std::vector<VectorCase> cases;
  for (size_t turn = lanes / 4; const Case& c : AllCases()) {
    cases.push_back({c, lanes, c.arity});
    if (c.arity > 1) cases.push_back({c, lanes, turn++ % c.arity});
  }
  return cases;
}

/// Returns the cases in which all operands are vectors.
std::vector<VectorCase> WithoutScalars(std::vector<VectorCase> cases) {
  std::erase_if(cases, [](const VectorCase& v) { return v.spread != v.scalar.arity; });
  return cases;
}

std::string KernelText(const VectorCase& v) {
  const Case& c = v.scalar;
  std::string params;
  std::string loads;
  std::string operands;
  for (size_t i = 0; i < c.arity; ++i) {
    params += fmt::format("%x{}: tensor<{},[N]> in, ", i, Spelling(c.operand_scalar(i)));
    loads += fmt::format("    %v{0} = load %x{0}[%n] {{bounds = proven}} : {1}\n", i, v.type(i));
    operands += fmt::format("{}%v{}", i ? ", " : "", i);
  }
  return fmt::format(
      "kernel @{0} dims(%N) ({1}%y: tensor<{2},[N]> out) {{\n  %0 = const 0 : i64\n"
      "  %l = const {5} : i64\n  loop %n in %0 .. %N step %l {{\n{3}"
      "    %r = {4} {6} : vec<{2} x {5}>\n"
      "    store %r to %y[%n] {{bounds = proven}}\n    yield\n  }}\n  return\n}}\n",
      v.name(), params, Spelling(c.result), loads, ir::Info(c.kind).spelling, v.lanes, operands);
}

/// Repeats the first points until all vectors are full. A scalar operand gets the value of its vector's first
/// lane.
void FillVectors(const VectorCase& v, std::vector<std::vector<uint64_t>>& columns) {
  for (size_t i = 0; i < columns.size(); ++i) {
    std::vector<uint64_t>& column = columns[i];
    for (size_t n = 0; column.size() % v.lanes != 0; ++n) column.push_back(column[n]);
    if (i != v.spread) continue;
    for (size_t n = 0; n < column.size(); ++n) column[n] = column[n - n % v.lanes];
  }
}

void Compare(const LoadedModule& module, const VectorCase& v) {
  const Case& c = v.scalar;
  std::vector<std::vector<uint64_t>> columns = TestPoints(c);
  Expected(c, columns);
  FillVectors(v, columns);
  std::vector<uint64_t> expected = Expected(c, columns);
  auto count = static_cast<int64_t>(expected.size());
  REQUIRE(count > 0);
  REQUIRE(expected.size() % v.lanes == 0);
  std::vector<std::vector<char>> memory;
  Call call;
  call.dims = {count};
  for (size_t i = 0; i < c.arity; ++i) {
    memory.push_back(Packed(c.operand_scalar(i), columns[i]));
    call.tensors.push_back(TensorOf(memory.back().data(), {count}));
  }
  std::vector<char> result = Packed(c.result, std::vector<uint64_t>(expected.size(), 0x5A));
  call.tensors.push_back(TensorOf(result.data(), {count}));
  REQUIRE(module.LaunchKernel(v.name(), call).code == 0);
  std::vector<uint64_t> got = Unpacked(c.result, result.data(), expected.size());
  int wrong = 0;
  for (size_t n = 0; n < expected.size() && wrong < 5; ++n) {
    if (SameValue(c.result, got[n], expected[n])) continue;
    std::string operands;
    for (const auto& column : columns) operands += fmt::format(" {:#x}", column[n]);
    MESSAGE(fmt::format("{}{}: {:#x}, expected {:#x}", v.name(), operands, got[n], expected[n]));
    ++wrong;
  }
  CHECK_MESSAGE(wrong == 0, v.name());
}

void CompareAll(const std::vector<VectorCase>& cases, int opt_level, const Processor& processor) {
  CAPTURE(processor.level);
  CAPTURE(opt_level);
  REQUIRE(cases.size() > 300);
  std::string text;
  for (const VectorCase& v : cases) text += KernelText(v);
  LoadedModule module(text, opt_level, processor);
  for (const VectorCase& v : cases) Compare(module, v);
}

}  // namespace

TEST_CASE("every elementwise op on vectors of 4, 8, 16 and 64 lanes gives the results of eval.h") {
  CompareAll(VectorCases(4), 1, X86Processor());
  CompareAll(VectorCases(8), 0, X86Processor());
  CompareAll(VectorCases(16), 3, X86Processor());
  CompareAll(VectorCases(4), 3, OldProcessor());
  CompareAll(VectorCases(16), 0, OldProcessor());
  CompareAll(WithoutScalars(VectorCases(64)), 1, X86Processor());
  if (!__builtin_cpu_supports("x86-64-v4")) {
    MESSAGE("this processor does not support x86-64-v4: its code was not run");
    return;
  }
  CompareAll(VectorCases(16), 3, Avx512Processor());
  CompareAll(WithoutScalars(VectorCases(64)), 1, Avx512Processor());
}

TEST_CASE("no elementwise op on vectors calls a function, on any processor") {
  std::string text;
  for (const VectorCase& v : WithoutScalars(VectorCases(16))) text += KernelText(v);
  ir::ReadText read(std::move(text));
  REQUIRE_MESSAGE(read.module, read.Errors());
  for (const Processor& processor :
       {X86Processor(), Avx512Processor(), OldProcessor(), Arm64Processor()}) {
    CAPTURE(processor.level);
    for (int opt_level : {0, 3}) {
      Result<Backend> backend = Backend::Create(processor, opt_level);
      REQUIRE(backend.ok());
      Result<CompiledModule> compiled = CompileKernels(*backend, *read.module, {});
      REQUIRE(compiled.ok());
      CHECK(UndefinedSymbols(compiled->object) == "");
    }
  }
}

}  // namespace kdl::codegen
