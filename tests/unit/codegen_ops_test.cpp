#include <fmt/format.h>

#include "codegen_case.h"
#include "codegen_run.h"

// Compares every elementwise op on every scalar type, compiled at every -O, with ir/eval/eval.h.

namespace kdl::codegen {

namespace {

std::string KernelText(const Case& c) {
  std::string params;
  std::string loads;
  std::string operands;
  for (size_t i = 0; i < c.arity; ++i) {
    Scalar scalar = c.operand_scalar(i);
    params += fmt::format("%x{}: tensor<{},[N]> in, ", i, Spelling(scalar));
    loads +=
        fmt::format("    %v{0} = load %x{0}[%n] {{bounds = proven}} : {1}\n", i, Spelling(scalar));
    operands += fmt::format("{}%v{}", i ? ", " : "", i);
  }
  return fmt::format(
      "kernel @{0} dims(%N) ({1}%y: tensor<{2},[N]> out) {{\n  %0 = const 0 : i64\n"
      "  %1 = const 1 : i64\n  loop %n in %0 .. %N step %1 {{\n{3}    %r = {4} {5} : {2}\n"
      "    store %r to %y[%n] {{bounds = proven}}\n    yield\n  }}\n  return\n}}\n",
      c.name(), params, Spelling(c.result), loads, ir::Info(c.kind).spelling, operands);
}

void Compare(const LoadedModule& module, const Case& c) {
  std::vector<std::vector<uint64_t>> columns = TestPoints(c);
  std::vector<uint64_t> expected = Expected(c, columns);
  auto count = static_cast<int64_t>(expected.size());
  std::vector<std::vector<char>> memory;
  Call call;
  call.dims = {count};
  for (size_t i = 0; i < c.arity; ++i) {
    memory.push_back(Packed(c.operand_scalar(i), columns[i]));
    call.tensors.push_back(TensorOf(memory.back().data(), {count}));
  }
  auto bytes = static_cast<size_t>(Bytes(c.result));
  std::vector<char> result(expected.size() * bytes, '\x5A');
  call.tensors.push_back(TensorOf(result.data(), {count}));
  REQUIRE(module.LaunchKernel(c.name(), call).code == 0);
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

TEST_CASE("every elementwise op gives the results of eval.h, at every -O") {
  std::vector<Case> cases = AllCases();
  REQUIRE(cases.size() > 300);
  std::string text;
  for (const Case& c : cases) text += KernelText(c);
  for (int opt_level : {0, 1, 3}) {  // -O2 runs almost the same passes as -O3
    CAPTURE(opt_level);
    LoadedModule module(text, opt_level);
    for (const Case& c : cases) Compare(module, c);
  }
  for (int opt_level : {0, 3}) {
    LoadedModule module(text, opt_level, OldProcessor());
    for (const Case& c : cases) Compare(module, c);
  }
  if (!__builtin_cpu_supports("x86-64-v4")) {
    MESSAGE("this processor does not support x86-64-v4: its code was not run");
    return;
  }
  LoadedModule module(text, 3, Avx512Processor());
  for (const Case& c : cases) Compare(module, c);
}

TEST_CASE("no op calls a function, on any processor") {
  ir::ReadText read([] {
    std::string text;
    for (const Case& c : AllCases()) text += KernelText(c);
    return text;
  }());
  REQUIRE_MESSAGE(read.module, read.Errors());
  for (const Processor& processor :
       {X86Processor(), Avx512Processor(), OldProcessor(), Arm64Processor()}) {
    CAPTURE(processor.level);
    for (int opt_level : {0, 3}) {
      CAPTURE(opt_level);
      Result<Backend> backend = Backend::Create(processor, opt_level);
      REQUIRE(backend.ok());
      Result<CompiledModule> compiled = CompileKernels(*backend, *read.module, {});
      REQUIRE(compiled.ok());
      CHECK(UndefinedSymbols(compiled->object) == "");
    }
  }
}

}  // namespace kdl::codegen
