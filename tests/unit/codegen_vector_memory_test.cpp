#include <doctest/doctest.h>
#include <fmt/format.h>

#include "codegen_case.h"
#include "codegen_run.h"

// Vectors in memory: accesses with and without masks, halves, transpositions, carried vectors.

namespace kdl::codegen {

namespace {

std::string TransposeText(Scalar scalar, int64_t n) {
  std::string type = fmt::format("vec<{} x {}>", Spelling(scalar), n);
  std::string loads;
  std::string rows;
  std::string columns;
  std::string types;
  std::string stores;
  for (int64_t i = 0; i < n; ++i) {
    loads += fmt::format("  %r{0} = load %x[{0}, 0] {{edge = proven}} : {1}\n", i, type);
    stores += fmt::format("  store %c{0} to %y[{0}, 0] {{edge = proven}}\n", i);
    rows += fmt::format("{}%r{}", i ? ", " : "", i);
    columns += fmt::format("{}%c{}", i ? ", " : "", i);
    types += fmt::format("{}{}", i ? ", " : "", type);
  }
  return fmt::format(
      "kernel @t_{0}_{1} (%x: tensor<{0},[{1},{1}]> in, %y: tensor<{0},[{1},{1}]> out) {{\n"
      "{2}  {3} = transpose {4} : {5}\n{6}  return\n}}\n",
      Spelling(scalar), n, loads, columns, rows, types, stores);
}

/// n * n different elements, as far as the scalar has them.
std::vector<uint64_t> Counting(Scalar scalar, int64_t n) {
  std::vector<uint64_t> values;
  for (int64_t i = 0; i < n; ++i)
    values.push_back((static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15 >> 7) &
                     (scalar == Scalar::Bool ? 1 : MaskOf(scalar)));
  return values;
}

void CheckTranspose(const LoadedModule& module, Scalar scalar, int64_t n) {
  std::vector<uint64_t> values = Counting(scalar, n * n);
  std::vector<char> x = Packed(scalar, values);
  std::vector<char> y(x.size());
  Call call{{}, {TensorOf(x.data(), {n, n}), TensorOf(y.data(), {n, n})}, {}};
  REQUIRE(module.Run(fmt::format("t_{}_{}", Spelling(scalar), n), call).code == KDL_DONE);
  std::vector<uint64_t> got = Unpacked(scalar, y, values.size());
  int wrong = 0;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j)
      wrong += got[static_cast<size_t>(i * n + j)] != values[static_cast<size_t>(j * n + i)];
  }
  CHECK_MESSAGE(wrong == 0, Spelling(scalar), " ", n);
}

}  // namespace

TEST_CASE("transpositions of every scalar and size") {
  constexpr int64_t kSizes[] = {2, 4, 8, 16, 32};
  std::string text;
  for (Scalar scalar : kScalars) {
    for (int64_t n : kSizes) text += TransposeText(scalar, n);
  }
  for (int opt_level : {0, 1, 3}) {
    LoadedModule module(text, opt_level);
    for (Scalar scalar : kScalars) {
      for (int64_t n : kSizes) CheckTranspose(module, scalar, n);
    }
  }
}

}  // namespace kdl::codegen
