#include <doctest/doctest.h>

#include "sema/types/size_arithmetic.h"
#include "support/names.h"
#include "support/size.h"

namespace kdl::sema {
namespace {

struct Fixture {
  Names names;
  SizeTable sizes;
  Size m = sizes.Symbol(names.Intern("M"));
  Size n = sizes.Symbol(names.Intern("N"));

  Size Add(Size a, Size b) { return sizes.Binary(SizeKind::Add, a, b); }
  Size Sub(Size a, Size b) { return sizes.Binary(SizeKind::Sub, a, b); }
  Size Mul(Size a, Size b) { return sizes.Binary(SizeKind::Mul, a, b); }
  Size Int(int64_t value) { return sizes.Constant(value); }
  std::optional<int64_t> Difference(Size a, Size b) { return ConstantDifference(sizes, a, b); }
};

TEST_CASE_FIXTURE(Fixture, "sizes that differ by a number whatever their symbols are") {
  CHECK(Difference(m, m) == 0);
  CHECK(Difference(Add(m, Int(1)), m) == 1);
  CHECK(Difference(Sub(Mul(Int(2), m), m), m) == 0);
  CHECK(Difference(Add(m, n), Add(n, m)) == 0);
  CHECK(Difference(Sub(Int(3), m), Sub(Int(5), m)) == -2);
  CHECK(Difference(Mul(Int(4), Add(m, Int(1))), Mul(m, Int(4))) == 4);
}

TEST_CASE_FIXTURE(Fixture, "sizes of which nothing is known") {
  CHECK_FALSE(Difference(m, n));
  CHECK_FALSE(Difference(m, Int(4)));
  CHECK_FALSE(Difference(Mul(m, n), m));
  CHECK(Difference(Mul(m, n), Mul(m, n)) == 0);
}

TEST_CASE_FIXTURE(Fixture, "what leaves 64 bits is no constant") {
  CHECK(IsConstant(Mul(Int(INT64_MAX / 2), Int(2)), INT64_MAX - 1));
  CHECK(ToString(Mul(Int(INT64_MAX), Int(2))) == "(9223372036854775807*2)");
  CHECK(ToString(Add(Int(INT64_MAX), Int(1))) == "(9223372036854775807 + 1)");
  CHECK_FALSE(IsConstant(Sub(Int(INT64_MIN), Int(1))));
  CHECK_FALSE(IsConstant(sizes.Binary(SizeKind::FloorDiv, Int(INT64_MIN), Int(-1))));
}

}  // namespace
}  // namespace kdl::sema
