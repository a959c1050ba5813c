#include "proofs/sets.h"

#include <doctest/doctest.h>

#include <array>
#include <functional>
#include <random>

#include "support/size.h"

// Compares random sets of points of a small cube with the points that meet their conditions.

namespace {

using kdl::proofs::Affine;
using kdl::proofs::PointSet;
using kdl::proofs::SetContext;

constexpr int kSide = 4;
constexpr std::array<const char*, 3> kNames = {"a", "b", "c"};
using Cube = std::array<int64_t, 3>;

/// A set, and the test whether a point is in it.
struct Drawn {
  PointSet set;
  std::function<bool(const Cube&)> has;
};

class Draw {
 public:
  Draw(const SetContext& context, unsigned seed, bool is_large = false)
      : context_(context), random_(seed), is_large_(is_large) {}

  /// Returns a set of points of the cube. It has quotients, for which isl is needed, if `divides` is true.
  Drawn Set(bool divides) {
    Drawn all = Piece(divides);
    for (int more = Number(0, 2); more > 0; --more) {
      Drawn piece = Piece(divides);
      all = {all.set | piece.set,
             [a = all.has, b = piece.has](const Cube& at) { return a(at) || b(at); }};
    }
    return all;
  }

 private:
  int Number(int least, int most) { return std::uniform_int_distribution(least, most)(random_); }

  Drawn Piece(bool divides) {
    Drawn piece = Inside();
    for (int more = Number(1, 4); more > 0; --more) {
      Drawn condition = Condition(divides);
      piece = {piece.set & condition.set,
               [a = piece.has, b = condition.has](const Cube& at) { return a(at) && b(at); }};
    }
    return piece;
  }

  Drawn Inside() const {
    PointSet set = PointSet::All(context_);
    for (const char* name : kNames) {
      Affine at = Affine::Variable(context_, name);
      set &=
          AtMost(Affine::Constant(context_, 0), at) & Less(at, Affine::Constant(context_, kSide));
    }
    return {set, [](const Cube&) { return true; }};
  }

  Drawn Condition(bool divides) {
    Cube factors;
    int64_t constant = Number(-5, 5);
    for (int64_t& factor : factors) {
      factor = Number(-3, 3);
      if (!is_large_) continue;
      factor = factor * (int64_t{1} << Number(0, 48)) + Number(-1, 1);
      constant -= factor * Number(0, kSide - 1);  // some points of the cube are near the border
    }
    int64_t divisor = divides ? Number(2, 3) : 1;
    Affine sum = Affine::Constant(context_, constant);
    for (size_t i = 0; i < 3; ++i) sum = sum + factors[i] * Affine::Variable(context_, kNames[i]);
    sum = sum.FloorDivide(divisor);
    auto value = [=](const Cube& at) {
      int64_t all = constant;
      for (size_t i = 0; i < 3; ++i) all += factors[i] * at[i];
      return kdl::FloorDivide(all, divisor);
    };
    Affine zero = Affine::Constant(context_, 0);
    switch (Number(0, 3)) {
      case 0:
        return {Equal(sum, zero), [=](const Cube& at) { return value(at) == 0; }};
      case 1:
        return {Less(sum, zero), [=](const Cube& at) { return value(at) < 0; }};
      default:
        return {AtMost(zero, sum), [=](const Cube& at) { return value(at) >= 0; }};
    }
  }

  const SetContext& context_;
  std::mt19937 random_;
  bool is_large_;  ///< whether coefficients have up to 50 bits
};

PointSet PointAt(const SetContext& context, const Cube& at) {
  PointSet point = PointSet::All(context);
  for (size_t i = 0; i < 3; ++i)
    point &= Equal(Affine::Variable(context, kNames[i]), Affine::Constant(context, at[i]));
  return point;
}

/// Checks that exactly the points for which `has` is true are in the set.
void CheckPoints(const SetContext& context, const PointSet& set,
                 const std::function<bool(const Cube&)>& has) {
  bool any = false;
  bool equal = true;
  for (int64_t n = 0; n < kSide * kSide * kSide; ++n) {
    Cube at{n % kSide, n / kSide % kSide, n / kSide / kSide};
    any = any || has(at);
    equal = equal && (set & PointAt(context, at)).IsEmpty() == !has(at);
  }
  CHECK(equal);
  CHECK(set.IsEmpty() == !any);
}

void CheckOperators(unsigned seed, bool first_divides, bool second_divides, bool is_large = false) {
  CAPTURE(seed);
  SetContext context;
  Draw draw(context, seed, is_large);
  Drawn a = draw.Set(first_divides);
  Drawn b = draw.Set(second_divides);
  CheckPoints(context, a.set & b.set, [&](const Cube& at) { return a.has(at) && b.has(at); });
  CheckPoints(context, a.set | b.set, [&](const Cube& at) { return a.has(at) || b.has(at); });
  CheckPoints(context, a.set - b.set, [&](const Cube& at) { return a.has(at) && !b.has(at); });
  CheckPoints(context, (a.set - b.set).Joined(),
              [&](const Cube& at) { return a.has(at) && !b.has(at); });
  CHECK((a.set & b.set).IsSurelySubsetOf(a.set));
  CheckPoints(context, a.set.Renamed({{"a", "d"}, {"c", "e"}}).Renamed({{"d", "c"}, {"e", "a"}}),
              [&](const Cube& at) { return a.has({at[2], at[1], at[0]}); });
  CheckPoints(context, a.set.WithSome({"b"}) & b.set, [&](const Cube& at) {
    bool some = false;
    for (int64_t other = 0; other < kSide; ++other) some = some || a.has({at[0], other, at[2]});
    return some && b.has(at);
  });
}

TEST_CASE("sets of linear constraints have the right points") {
  for (unsigned seed = 0; seed < 60; ++seed) CheckOperators(seed, false, false);
}

TEST_CASE("sets with large coefficients have the right points") {
  for (unsigned seed = 200; seed < 260; ++seed) CheckOperators(seed, false, false, true);
}

TEST_CASE("sets with quotients have the right points") {
  for (unsigned seed = 100; seed < 115; ++seed) CheckOperators(seed, seed % 2 == 0, true);
}

TEST_CASE("a set without an integer point is empty") {
  SetContext context;
  Affine a = Affine::Variable(context, "a");
  Affine b = Affine::Variable(context, "b");
  Affine c = Affine::Variable(context, "c");
  Affine half = 2 * a + 2 * b;
  CHECK(Equal(half, Affine::Constant(context, 7)).IsEmpty() == true);
  CHECK(Equal(half + c, Affine::Constant(context, 7)).IsEmpty() == false);
  // Twice a number is both 2 * a + 1 and at most 2 * a: no integer, but a rational number.
  PointSet apart = Equal(3 * a, 2 * b + Affine::Constant(context, 1)) & Equal(b, 3 * c) &
                   Less(Affine::Constant(context, 0), a);
  CHECK(apart.IsEmpty() == true);
}

TEST_CASE("numbers that do not fit in 64 bits are left to isl") {
  SetContext context;
  int64_t great = (int64_t{1} << 62) - 1;
  Affine a = Affine::Variable(context, "a");
  Affine large = great * a + great * a + great * a;
  PointSet set =
      Less(large, Affine::Constant(context, 0)) & AtMost(Affine::Constant(context, 0), a);
  CHECK(set.IsEmpty() == true);
  CHECK((set | Less(a, large)).IsEmpty() == false);
}

}  // namespace
