#include "ir/op_kind.h"
#include "kdl/program.hpp"
#include "kdl/scalar.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <set>

#include "codegen_case.h"

// Compares the operators of generated programs with ir/eval/eval.h.

namespace kdl::codegen {

namespace {

using ir::OpKind;

template <Scalar scalar>
struct CppType;
#define KDL_SCALAR(Name, ID, spelling, code, bits, Group, ctype, comment) \
  template <>                                                             \
  struct CppType<Scalar::Name> {                                          \
    using Type = ctype;                                                   \
  };
#define KDL_NARROW_FLOAT(Name, ID, spelling, code, bits, ctype, Cpp, ...) \
  template <>                                                             \
  struct CppType<Scalar::Name> {                                          \
    using Type = kdl::Cpp;                                                \
  };
#include "kdl/scalars.def"

template <class T>
T From(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <class T>
uint64_t Bits(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

std::set<std::string>& Covered() {
  static std::set<std::string> covered;
  return covered;
}

template <class Apply>
void Try(OpKind kind, Scalar operand, Scalar result, const Apply& apply) {
  if (!ir::FindEval(kind, operand, result)) return;
  Case c{kind, operand, result, ir::Info(kind).operands.size()};
  Covered().insert(c.name());
  std::vector<std::vector<uint64_t>> columns = TestPoints(c);
  std::vector<uint64_t> expected = Expected(c, columns);
  int wrong = 0;
  for (size_t n = 0; n < expected.size(); ++n) {
    uint64_t got = apply([&](size_t i) { return columns[i][n]; });
    if (SameValue(result, got, expected[n])) continue;
    MESSAGE(
        fmt::format("{} {:#x}: {:#x}, expected {:#x}", c.name(), columns[0][n], got, expected[n]));
    if (++wrong == 5) break;
  }
  CHECK_MESSAGE(wrong == 0, c.name());
}

// Tests a row of scalar_ops.def, or a hand-written function, on the types for which it is defined.
#define KDL_TRY_1(Name)                                                                        \
  if constexpr (requires(T a) { kdl::Name(a); }) {                                             \
    Try(OpKind::Name, scalar, scalar, [&](auto x) { return Bits(kdl::Name(From<T>(x(0)))); }); \
  }
#define KDL_TRY_2(Name)                                                         \
  if constexpr (requires(T a) { kdl::Name(a, a); }) {                           \
    Try(OpKind::Name, scalar, scalar,                                           \
        [&](auto x) { return Bits(kdl::Name(From<T>(x(0)), From<T>(x(1)))); }); \
  }
#define KDL_TRY_3(Name)                                                                        \
  if constexpr (requires(T a) { kdl::Name(a, a, a); }) {                                       \
    Try(OpKind::Name, scalar, scalar,                                                          \
        [&](auto x) { return Bits(kdl::Name(From<T>(x(0)), From<T>(x(1)), From<T>(x(2)))); }); \
  }

template <Scalar scalar, class T = typename CppType<scalar>::Type>
void TryArithmetic() {
#define KDL_SCALAR_OP(Name, name, arity) KDL_TRY_##arity(Name)
#include "kdl/scalar_ops.def"
}

template <Scalar from, Scalar to>
void TryCast() {
  using F = typename CppType<from>::Type;
  using T = typename CppType<to>::Type;
  if constexpr (from != to) {
    Try(OpKind::Cast, from, to, [](auto x) { return Bits<T>(As<T>(From<F>(x(0)))); });
  }
}

template <Scalar from>
void TryCasts() {
  ByScalar([]<Scalar to>() { return TryCast<from, to>(), 0; });
}

}  // namespace

TEST_CASE("scalar operators of programs give the results of eval.h") {
  Covered().clear();
  ByScalar([]<Scalar scalar>() { return TryArithmetic<scalar>(), TryCasts<scalar>(), 0; });
  Try(OpKind::ToBits, Scalar::F32, Scalar::I32,
      [](auto x) { return Bits(ToBits(From<float>(x(0)))); });
  Try(OpKind::ToBits, Scalar::F64, Scalar::I64,
      [](auto x) { return Bits(ToBits(From<double>(x(0)))); });
  Try(OpKind::FromBits, Scalar::I32, Scalar::F32,
      [](auto x) { return Bits(FromBits(From<int32_t>(x(0)))); });
  Try(OpKind::FromBits, Scalar::I64, Scalar::F64,
      [](auto x) { return Bits(FromBits(From<int64_t>(x(0)))); });

  for (const Case& c : AllCases()) {
    bool is_plain_cpp = Compares(c.kind) || c.kind == OpKind::Select ||
                        c.kind == OpKind::Broadcast || c.kind == OpKind::Snapshot;
    bool through_f32 = IsNarrowFloat(c.operand) && !Converts(c.kind);
    bool logical = c.operand == Scalar::Bool && (c.kind == OpKind::Min || c.kind == OpKind::Max);
    bool of_instruction = c.kind == OpKind::Flush || c.kind == OpKind::FmaFlush ||
                          c.kind == OpKind::Tf32;  // programs have no contractions
    if (is_plain_cpp || through_f32 || logical || of_instruction) continue;
    CHECK_MESSAGE(Covered().contains(c.name()), c.name());
  }
}

TEST_CASE("a division by zero throws the program's message") {
  CHECK_THROWS_WITH_AS(Div(1, 0, "m.kdl:1:2: error: division by zero in 'a / b'"),
                       "m.kdl:1:2: error: division by zero in 'a / b'", Error);
  CHECK_THROWS_AS(Rem(int64_t{1}, 0), Error);
}

TEST_CASE("steps end below hi, even if the next value overflows 64 bits") {
  auto count = [](int64_t lo, int64_t hi, int64_t step) {
    int64_t n = 0;
    for (const int64_t i : Steps(lo, hi, step)) n += i >= lo && i < hi ? 1 : 1000;
    return n;
  };
  CHECK(count(0, 10, 3) == 4);
  CHECK(count(5, 5, 1) == 0);
  CHECK(count(7, -7, 1) == 0);
  CHECK(count(INT64_MAX - 5, INT64_MAX, 4) == 2);
  CHECK(count(INT64_MIN, INT64_MAX, INT64_MAX) == 3);
}

TEST_CASE("a step that is not positive throws an exception") {
  CHECK_THROWS_WITH_AS(Steps(5, 5, 0), "step 0 of a loop is not positive", Error);
  CHECK_THROWS_AS(Steps(0, 5, INT64_MIN), Error);
}

TEST_CASE("a size records a division by zero or an overflow of 64 bits") {
  CHECK((Extent(7) / 2 * 3 - 10 % Extent(-4)).Get("") == 11);
  CHECK((Extent(-7) / 2).Get("") == -4);
  CHECK_THROWS_WITH_AS(((Extent(INT64_MAX) + 1 - 1).Get("too large")), "too large", Error);
  CHECK_THROWS_AS((Extent(INT64_MAX) * 2 / 2).Get("x"), Error);
  CHECK_THROWS_AS((Extent(INT64_MIN) / -1).Get("x"), Error);
  CHECK_THROWS_AS((Extent(5) % 0 * 0).Get("x"), Error);
}

}  // namespace kdl::codegen
