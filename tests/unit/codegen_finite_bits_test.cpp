#include "codegen/llvm/optimize/finite_bits.h"

#include <doctest/doctest.h>

#include "ir/op_kind.h"
#include "ir_text.h"

namespace kdl::codegen {

namespace {

/// Reads a kernel whose body is `body`, which starts from an f32 %x and defines %y. Returns the result of
/// CountsOnlyFinite for the only to_bits op in the body.
bool Holds(const std::string& body) {
  ir::ReadText text(R"(kernel @k dims(%N) (%in: tensor<f32,[N]> in, %out: tensor<f32,[N]> out) {
  %0 = const 0 : i64
  %lo = const -87.0 : f32
  %hi = const 88.0 : f32
  %inf = const inf : f32
  %one = const 1.0 : f32
  %n = const 8388608 : i32
  %none = const 0 : i32
  %x = load %in[%0] {bounds = proven} : f32
)" + body + R"(  store %y to %out[%0] {bounds = proven}
  return
}
)");
  REQUIRE_MESSAGE(text.module, text.Errors());
  for (const auto& function : text.module->functions()) {
    for (const ir::Op* op : *function->body) {
      if (op->kind() == ir::OpKind::ToBits) return CountsOnlyFinite(op);
    }
  }
  FAIL("no to_bits");
  return false;
}

const std::string kBelow = "  %below = lt %x, %lo : bool\n";
const std::string kWithin = "  %within = le %x, %hi : bool\n";
const std::string kPolynomial = "  %p = fma %x, %x, %one : f32\n  %bits = to_bits %p : i32\n";
const std::string kScaled = "  %sum = add %bits, %n : i32\n";
const std::string kFlushed =
    "  %kept = select %below, %none, %sum : i32\n  %f = from_bits %kept : f32\n";
const std::string kChosen = "  %y = select %within, %f, %inf : f32\n";

}  // namespace

TEST_CASE("bits that are only used between two bounds are those of finite numbers") {
  CHECK(Holds(kBelow + kWithin + kPolynomial + kScaled + kFlushed + kChosen));
  CHECK(Holds(kBelow + "  %in_range = le %x, %hi : bool\n  %within = not %in_range : bool\n" +
              kPolynomial + kScaled + kFlushed + "  %y = select %within, %inf, %f : f32\n"));
}

TEST_CASE("bits that have another use may be those of a NaN") {
  CHECK_FALSE(Holds(kBelow + kWithin + kPolynomial + "  %sum = add %bits, %bits : i32\n" +
                    kFlushed + kChosen));
}

TEST_CASE("a single bound is not enough") {
  CHECK_FALSE(Holds(kWithin + kPolynomial + kScaled + "  %f = from_bits %sum : f32\n" + kChosen));
  // One comparison does not exclude NaNs: for a NaN, %below is false.
  CHECK_FALSE(Holds(kBelow + kPolynomial + kScaled + kFlushed + "  %y = add %f, %one : f32\n"));
}

TEST_CASE("bounds that a NaN also satisfies are not enough") {
  CHECK_FALSE(Holds(kBelow + "  %above = gt %x, %hi : bool\n" + kPolynomial + kScaled + kFlushed +
                    "  %y = select %above, %inf, %f : f32\n"));
}

TEST_CASE("an infinite bound does not count") {
  CHECK_FALSE(Holds(kBelow + "  %within = le %x, %inf : bool\n" + kPolynomial + kScaled + kFlushed +
                    kChosen));
}

TEST_CASE("values that may overflow between the bounds are not finite") {
  CHECK_FALSE(Holds(kBelow + kWithin +
                    "  %big = const 1e37 : f32\n  %p = mul %x, %big : f32\n"
                    "  %bits = to_bits %p : i32\n" +
                    kScaled + kFlushed + kChosen));
}

}  // namespace kdl::codegen
