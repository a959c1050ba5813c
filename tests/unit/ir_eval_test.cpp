#include "ir/eval/eval.h"
#include "ir/op_kind.h"
#include "support/float_bits.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <vector>

namespace {

using kdl::Scalar;
using kdl::ir::OpKind;
using kdl::ir::ReductionKind;

constexpr uint64_t kTrap = 0xDEAD'0000'0000'0000;

uint64_t F(float value) { return std::bit_cast<uint32_t>(value); }
uint64_t D(double value) { return std::bit_cast<uint64_t>(value); }
uint64_t U(int64_t value) { return static_cast<uint64_t>(value); }
uint64_t I32(int32_t value) { return static_cast<uint32_t>(value); }
uint64_t I8(int value) { return static_cast<uint8_t>(value); }

/// Evaluates `kind` on operands of type `scalar`. Returns kTrap if the op traps or its result is undefined.
uint64_t EvalScalar(OpKind kind, Scalar scalar, std::initializer_list<uint64_t> operands) {
  bool compares = kind >= OpKind::Eq && kind <= OpKind::Ge;
  std::vector<uint64_t> bits(operands);
  return kdl::ir::Evaluate(kind, scalar, compares ? Scalar::Bool : scalar, bits.data())
      .value_or(kTrap);
}

uint64_t Cast(Scalar from, Scalar to, uint64_t bits) {
  return kdl::ir::EvaluateCast(from, to, bits);
}

const float kNan = std::numeric_limits<float>::quiet_NaN();
const float kInf = std::numeric_limits<float>::infinity();
bool IsNan(uint64_t bits) { return std::isnan(std::bit_cast<float>(static_cast<uint32_t>(bits))); }

}  // namespace

TEST_CASE("integer arithmetic wraps at the width of its type") {
  CHECK(EvalScalar(OpKind::Add, Scalar::I8, {I8(127), I8(1)}) == I8(-128));
  CHECK(EvalScalar(OpKind::Add, Scalar::U8, {255, 1}) == 0);
  CHECK(EvalScalar(OpKind::Sub, Scalar::U16, {0, 1}) == 0xFFFF);
  CHECK(EvalScalar(OpKind::Mul, Scalar::I32, {I32(0x7FFFFFFF), I32(2)}) == I32(-2));
  CHECK(EvalScalar(OpKind::Mul, Scalar::U32, {0xFFFFFFFF, 0xFFFFFFFF}) == 1);
  CHECK(EvalScalar(OpKind::Mul, Scalar::I64, {U(INT64_MAX), U(INT64_MAX)}) == 1);
  CHECK(EvalScalar(OpKind::Neg, Scalar::I64, {U(INT64_MIN)}) == U(INT64_MIN));
  CHECK(EvalScalar(OpKind::Abs, Scalar::I32, {I32(INT32_MIN)}) == I32(INT32_MIN));
  CHECK(EvalScalar(OpKind::Abs, Scalar::I32, {I32(-7)}) == 7);
  CHECK(EvalScalar(OpKind::Abs, Scalar::U8, {200}) == 200);
}

TEST_CASE("integer division rounds down and traps on zero") {
  CHECK(EvalScalar(OpKind::Div, Scalar::I32, {I32(-7), 2}) == I32(-4));
  CHECK(EvalScalar(OpKind::Div, Scalar::I32, {7, I32(-2)}) == I32(-4));
  CHECK(EvalScalar(OpKind::Div, Scalar::I32, {I32(-7), I32(-2)}) == 3);
  CHECK(EvalScalar(OpKind::Div, Scalar::I32, {I32(-8), 2}) == I32(-4));
  CHECK(EvalScalar(OpKind::Rem, Scalar::I32, {I32(-7), 2}) == 1);
  CHECK(EvalScalar(OpKind::Rem, Scalar::I32, {7, I32(-2)}) == I32(-1));
  CHECK(EvalScalar(OpKind::Rem, Scalar::I32, {I32(-7), I32(-2)}) == I32(-1));
  CHECK(EvalScalar(OpKind::Div, Scalar::I8, {I8(-128), I8(-1)}) == I8(-128));
  CHECK(EvalScalar(OpKind::Rem, Scalar::I8, {I8(-128), I8(-1)}) == 0);
  CHECK(EvalScalar(OpKind::Div, Scalar::I64, {U(INT64_MIN), U(-1)}) == U(INT64_MIN));
  CHECK(EvalScalar(OpKind::Rem, Scalar::I64, {U(INT64_MIN), U(-1)}) == 0);
  CHECK(EvalScalar(OpKind::Div, Scalar::U64, {~uint64_t{0}, 2}) == 0x7FFF'FFFF'FFFF'FFFF);
  CHECK(EvalScalar(OpKind::Rem, Scalar::U8, {250, 7}) == 5);
  CHECK(EvalScalar(OpKind::Div, Scalar::I32, {1, 0}) == kTrap);
  CHECK(EvalScalar(OpKind::Rem, Scalar::U64, {1, 0}) == kTrap);
  CHECK(EvalScalar(OpKind::Div, Scalar::F32, {F(1), F(0)}) == F(kInf));
  CHECK(EvalScalar(OpKind::Div, Scalar::F32, {F(-1), F(0)}) == F(-kInf));
  CHECK(IsNan(EvalScalar(OpKind::Div, Scalar::F32, {F(0), F(0)})));
}

TEST_CASE("a shift count is taken modulo the width") {
  CHECK(EvalScalar(OpKind::Shl, Scalar::I32, {1, 33}) == 2);
  CHECK(EvalScalar(OpKind::Shl, Scalar::I32, {1, I32(-1)}) == 0x80000000);
  CHECK(EvalScalar(OpKind::Shl, Scalar::U8, {0x81, 9}) == 2);
  CHECK(EvalScalar(OpKind::Shr, Scalar::I32, {I32(-8), 1}) == I32(-4));
  CHECK(EvalScalar(OpKind::Shr, Scalar::I8, {I8(-128), 7}) == I8(-1));
  CHECK(EvalScalar(OpKind::Shr, Scalar::U32, {0x80000000, 31}) == 1);
  CHECK(EvalScalar(OpKind::Shr, Scalar::U64, {~uint64_t{0}, 64}) == ~uint64_t{0});
}

TEST_CASE("bitwise ops on bool and integers") {
  CHECK(EvalScalar(OpKind::And, Scalar::U8, {0xF0, 0x3C}) == 0x30);
  CHECK(EvalScalar(OpKind::Or, Scalar::Bool, {1, 0}) == 1);
  CHECK(EvalScalar(OpKind::Xor, Scalar::Bool, {1, 1}) == 0);
  CHECK(EvalScalar(OpKind::Not, Scalar::Bool, {1}) == 0);
  CHECK(EvalScalar(OpKind::Not, Scalar::I16, {0}) == 0xFFFF);
  CHECK(EvalScalar(OpKind::And, Scalar::F32, {F(1), F(1)}) == kTrap);
}

TEST_CASE("max and min propagate NaN and distinguish zeros by sign") {
  CHECK(EvalScalar(OpKind::Max, Scalar::F32, {F(-0.0F), F(0.0F)}) == F(0.0F));
  CHECK(EvalScalar(OpKind::Max, Scalar::F32, {F(0.0F), F(-0.0F)}) == F(0.0F));
  CHECK(EvalScalar(OpKind::Min, Scalar::F32, {F(-0.0F), F(0.0F)}) == F(-0.0F));
  CHECK(EvalScalar(OpKind::Min, Scalar::F32, {F(0.0F), F(-0.0F)}) == F(-0.0F));
  CHECK(EvalScalar(OpKind::Min, Scalar::F64, {D(-0.0), D(0.0)}) == D(-0.0));
  CHECK(IsNan(EvalScalar(OpKind::Max, Scalar::F32, {F(kNan), F(1)})));
  CHECK(IsNan(EvalScalar(OpKind::Max, Scalar::F32, {F(1), F(kNan)})));
  CHECK(IsNan(EvalScalar(OpKind::Min, Scalar::F32, {F(kNan), F(-kInf)})));
  CHECK(EvalScalar(OpKind::Max, Scalar::I8, {I8(-1), I8(1)}) == 1);
  CHECK(EvalScalar(OpKind::Max, Scalar::U8, {255, 1}) == 255);
  CHECK(EvalScalar(OpKind::Min, Scalar::I64, {U(-1), 0}) == U(-1));
  CHECK(EvalScalar(OpKind::Max, Scalar::F16, {0x8000, 0x0000}) == 0x0000);
  CHECK(EvalScalar(OpKind::Min, Scalar::BF16, {0x3F80, 0xBF80}) == 0xBF80);
  CHECK((EvalScalar(OpKind::Min, Scalar::F16, {0x3C00, 0x7E00}) & 0x7FFF) == 0x7E00);
}

TEST_CASE("comparisons with a NaN are false, except ne") {
  for (OpKind kind : {OpKind::Eq, OpKind::Lt, OpKind::Le, OpKind::Gt, OpKind::Ge}) {
    CHECK(EvalScalar(kind, Scalar::F32, {F(kNan), F(1)}) == 0);
    CHECK(EvalScalar(kind, Scalar::F32, {F(1), F(kNan)}) == 0);
  }
  CHECK(EvalScalar(OpKind::Ne, Scalar::F32, {F(kNan), F(kNan)}) == 1);
  CHECK(EvalScalar(OpKind::Eq, Scalar::F32, {F(-0.0F), F(0.0F)}) == 1);
  CHECK(EvalScalar(OpKind::Lt, Scalar::F32, {F(-0.0F), F(0.0F)}) == 0);
  CHECK(EvalScalar(OpKind::Lt, Scalar::I32, {I32(-1), 0}) == 1);
  CHECK(EvalScalar(OpKind::Lt, Scalar::U32, {I32(-1), 0}) == 0);
  CHECK(EvalScalar(OpKind::Ge, Scalar::F16, {0x3C00, 0xBC00}) == 1);
}

TEST_CASE("rounding functions keep the sign of zero and round ties to even") {
  CHECK(EvalScalar(OpKind::Round, Scalar::F32, {F(0.5F)}) == F(0.0F));
  CHECK(EvalScalar(OpKind::Round, Scalar::F32, {F(1.5F)}) == F(2.0F));
  CHECK(EvalScalar(OpKind::Round, Scalar::F32, {F(2.5F)}) == F(2.0F));
  CHECK(EvalScalar(OpKind::Round, Scalar::F64, {D(-0.5)}) == D(-0.0));
  CHECK(EvalScalar(OpKind::Round, Scalar::F64, {D(4503599627370495.5)}) == D(4503599627370496.0));
  CHECK(EvalScalar(OpKind::Floor, Scalar::F32, {F(-0.5F)}) == F(-1.0F));
  CHECK(EvalScalar(OpKind::Ceil, Scalar::F32, {F(-0.5F)}) == F(-0.0F));
  CHECK(EvalScalar(OpKind::Floor, Scalar::F32, {F(-kInf)}) == F(-kInf));
  CHECK(EvalScalar(OpKind::Sqrt, Scalar::F32, {F(-0.0F)}) == F(-0.0F));
  CHECK(IsNan(EvalScalar(OpKind::Sqrt, Scalar::F32, {F(-1.0F)})));
  CHECK(EvalScalar(OpKind::Abs, Scalar::F32, {F(-0.0F)}) == F(0.0F));
  CHECK(EvalScalar(OpKind::Neg, Scalar::F32, {F(0.0F)}) == F(-0.0F));
  CHECK(EvalScalar(OpKind::Neg, Scalar::F64, {D(1.0)}) == D(-1.0));
}

TEST_CASE("tf32 has 10 bits of mantissa, rounds ties to even, and may round to infinity") {
  auto rounded = [](float value) { return EvalScalar(OpKind::Tf32, Scalar::F32, {F(value)}); };
  CHECK(rounded(0x1.002p0F) == F(1.0F));
  CHECK(rounded(0x1.006p0F) == F(0x1.008p0F));
  CHECK(rounded(-0x1.002002p0F) == F(-0x1.004p0F));
  CHECK(rounded(0x1p-149F) == F(0.0F));
  CHECK(rounded(-0.0F) == F(-0.0F));
  CHECK(rounded(std::numeric_limits<float>::max()) == F(kInf));
  CHECK(rounded(-kInf) == F(-kInf));
  CHECK(IsNan(rounded(kNan)));
  CHECK(EvalScalar(OpKind::Tf32, Scalar::F64, {D(1.0)}) == kTrap);
}

TEST_CASE("fma rounds once") {
  // (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24: the last term is lost if the product is rounded before the addition.
  float a = 1.0F + 0x1p-12F;
  CHECK(EvalScalar(OpKind::Fma, Scalar::F32, {F(a), F(a), F(-1.0F - 0x1p-11F)}) == F(0x1p-24F));
  uint64_t product = EvalScalar(OpKind::Mul, Scalar::F32, {F(a), F(a)});
  CHECK(EvalScalar(OpKind::Add, Scalar::F32, {product, F(-1.0F - 0x1p-11F)}) == F(0.0F));
  CHECK(EvalScalar(OpKind::Fma, Scalar::F64, {D(1 + 0x1p-27), D(1 + 0x1p-27), D(-1 - 0x1p-26)}) ==
        D(0x1p-54));
  CHECK(EvalScalar(OpKind::Mul, Scalar::F32, {F(0x1p-100F), F(0x1p-45F)}) == F(0x1p-145F));
  CHECK(EvalScalar(OpKind::Fma, Scalar::F16, {0, 0, 0}) == kTrap);
}

TEST_CASE("casts of floats to integers truncate and saturate") {
  CHECK(Cast(Scalar::F32, Scalar::I32, F(-1.9F)) == I32(-1));
  CHECK(Cast(Scalar::F32, Scalar::I32, F(kNan)) == 0);
  CHECK(Cast(Scalar::F32, Scalar::I32, F(3e9F)) == I32(INT32_MAX));
  CHECK(Cast(Scalar::F32, Scalar::I32, F(-kInf)) == I32(INT32_MIN));
  CHECK(Cast(Scalar::F32, Scalar::I32, F(-2147483648.0F)) == I32(INT32_MIN));
  CHECK(Cast(Scalar::F64, Scalar::I32, D(2147483647.5)) == I32(INT32_MAX));
  CHECK(Cast(Scalar::F64, Scalar::I32, D(-2147483648.5)) == I32(INT32_MIN));
  CHECK(Cast(Scalar::F32, Scalar::U8, F(-0.9F)) == 0);
  CHECK(Cast(Scalar::F32, Scalar::U8, F(-5.0F)) == 0);
  CHECK(Cast(Scalar::F32, Scalar::U8, F(255.9F)) == 255);
  CHECK(Cast(Scalar::F32, Scalar::U8, F(256.0F)) == 255);
  CHECK(Cast(Scalar::F64, Scalar::I64, D(0x1p63)) == U(INT64_MAX));
  CHECK(Cast(Scalar::F64, Scalar::I64, D(-0x1p63)) == U(INT64_MIN));
  CHECK(Cast(Scalar::F64, Scalar::U64, D(0x1p64)) == ~uint64_t{0});
  CHECK(Cast(Scalar::F64, Scalar::U64, D(0x1p64 - 2048)) == 0xFFFF'FFFF'FFFF'F800);
  CHECK(Cast(Scalar::F16, Scalar::I8, 0x7C00) == 127);
  CHECK(Cast(Scalar::BF16, Scalar::I32, 0xC040) == I32(-3));
}

TEST_CASE("casts of integers wrap, and a bool is true unless the integer is 0") {
  CHECK(Cast(Scalar::I32, Scalar::I8, I32(300)) == 44);
  CHECK(Cast(Scalar::I8, Scalar::I32, I8(-1)) == I32(-1));
  CHECK(Cast(Scalar::I8, Scalar::U64, I8(-1)) == ~uint64_t{0});
  CHECK(Cast(Scalar::U8, Scalar::I32, 255) == 255);
  CHECK(Cast(Scalar::I32, Scalar::Bool, I32(256)) == 1);
  CHECK(Cast(Scalar::F32, Scalar::Bool, F(-0.0F)) == 0);
  CHECK(Cast(Scalar::F32, Scalar::Bool, F(kNan)) == 1);
  CHECK(Cast(Scalar::F32, Scalar::Bool, F(0x1p-149F)) == 1);
  CHECK(Cast(Scalar::F16, Scalar::Bool, 0x8000) == 0);
  CHECK(Cast(Scalar::Bool, Scalar::F16, 1) == 0x3C00);
  CHECK(Cast(Scalar::Bool, Scalar::I64, 1) == 1);
}

TEST_CASE("casts to floats round once, with ties to even") {
  CHECK(Cast(Scalar::I32, Scalar::F32, I32(16777217)) == F(16777216.0F));
  CHECK(Cast(Scalar::I32, Scalar::F32, I32(16777219)) == F(16777220.0F));
  CHECK(Cast(Scalar::F64, Scalar::F32, D(1 + 0x1p-24)) == F(1.0F));
  CHECK(Cast(Scalar::F64, Scalar::F32, D(1e300)) == F(kInf));
  CHECK(Cast(Scalar::F32, Scalar::F16, F(65519.0F)) == 0x7BFF);
  CHECK(Cast(Scalar::F32, Scalar::F16, F(65520.0F)) == 0x7C00);
  CHECK(Cast(Scalar::F32, Scalar::F16, F(0x1p-25F)) == 0x0000);
  CHECK(Cast(Scalar::F32, Scalar::F16, F(-0x1.8p-25F)) == 0x8001);
  CHECK(Cast(Scalar::F16, Scalar::F32, 0x0001) == F(0x1p-24F));
  CHECK(Cast(Scalar::BF16, Scalar::F32, 0x3FC0) == F(1.5F));
  CHECK(Cast(Scalar::U64, Scalar::F64, ~uint64_t{0}) == D(0x1p64));
  CHECK(Cast(Scalar::U64, Scalar::F32, (uint64_t{1} << 40) + 1) == F(0x1p40F));

  SUBCASE("8-bit floats round to nearest even, but not above the largest number") {
    struct Row {
      float value;
      uint64_t e4m3;
      uint64_t e5m2;
    };
    const Row rows[] = {
        {0.0F, 0x00, 0x00},      {-0.0F, 0x80, 0x80},       {1.0F, 0x38, 0x3C},
        {-1.125F, 0xB9, 0xBC},   {1.375F, 0x3B, 0x3E},      {17.0F, 0x58, 0x4C},
        {19.0F, 0x5A, 0x4D},     {448.0F, 0x7E, 0x5F},      {464.0F, 0x7E, 0x5F},
        {1e6F, 0x7E, 0x7B},      {57344.0F, 0x7E, 0x7B},    {kInf, 0x7E, 0x7B},
        {-kInf, 0xFE, 0xFB},     {0x1p-6F, 0x08, 0x24},     {0x1.Ep-7F, 0x08, 0x24},
        {0x1.Dp-7F, 0x07, 0x23}, {0x1p-9F, 0x01, 0x18},     {0x1p-10F, 0x00, 0x14},
        {0x1.8p-9F, 0x02, 0x1A}, {0x1.02p-10F, 0x01, 0x14}, {0x1p-16F, 0x00, 0x01},
        {0x1p-17F, 0x00, 0x00},  {0x1.8p-16F, 0x00, 0x02},  {-0x1p-149F, 0x80, 0x80}};
    for (const Row& row : rows) {
      CAPTURE(row.value);
      CHECK(Cast(Scalar::F32, Scalar::F8E4M3, F(row.value)) == row.e4m3);
      CHECK(Cast(Scalar::F32, Scalar::F8E5M2, F(row.value)) == row.e5m2);
    }
    CHECK(Cast(Scalar::F32, Scalar::F8E4M3, F(NAN)) == 0x7F);
    CHECK(Cast(Scalar::F8E5M2, Scalar::F32, 0xFC) == F(-kInf));
    CHECK(std::isnan(kdl::FloatValue(Scalar::F8E5M2, 0x7D)));
    CHECK(std::isnan(kdl::FloatValue(Scalar::F8E4M3, 0xFF)));
  }
  SUBCASE("powers of two have neither sign nor zero") {
    struct Row {
      float value;
      uint64_t bits;
    };
    const Row rows[] = {{0.0F, 0},         {-0.0F, 0},         {0x1p-149F, 0}, {0x1p-127F, 0},
                        {0x1.8p-127F, 0},  {0x1.808p-127F, 1}, {0x1p-126F, 1}, {1.0F, 127},
                        {1.5F, 128},       {3.0F, 128},        {3.01F, 129},   {0x1p127F, 254},
                        {0x1.8p127F, 254}, {0x1.FEp127F, 254}, {kInf, 254},    {-kInf, 255},
                        {-0x1p-149F, 255}, {-1.0F, 255},       {NAN, 255},     {-NAN, 255}};
    for (const Row& row : rows) {
      CAPTURE(row.value);
      CHECK(Cast(Scalar::F32, Scalar::F8E8M0, F(row.value)) == row.bits);
    }
    CHECK(Cast(Scalar::F8E8M0, Scalar::F32, 0) == 0x00400000);
    CHECK(Cast(Scalar::F8E8M0, Scalar::F32, 255) == 0x7FC00000);
    CHECK(Cast(Scalar::I64, Scalar::F8E8M0, U(-3)) == 255);
    CHECK(Cast(Scalar::U64, Scalar::F8E8M0, ~uint64_t{0}) == 191);
    CHECK_FALSE(static_cast<bool>(kdl::ir::FindEval(OpKind::Add, Scalar::F8E8M0, Scalar::F8E8M0)));
    CHECK(static_cast<bool>(kdl::ir::FindEval(OpKind::Select, Scalar::F8E8M0, Scalar::F8E8M0)));
  }
  SUBCASE("numbers of narrow floats stay the same, and values between two round to one of them") {
    for (const kdl::ScalarInfo& info : kdl::kScalars) {
      if (!kdl::IsNarrowFloat(info.scalar)) continue;
      CAPTURE(info.spelling);
      for (uint64_t bits = 0; bits <= info.format.largest(); ++bits) {
        double here = kdl::FloatValue(info.scalar, bits);
        CHECK(Cast(Scalar::F64, info.scalar, D(here)) == bits);
        if (bits == info.format.largest()) continue;
        double middle = (here + kdl::FloatValue(info.scalar, bits + 1)) / 2;
        CHECK(Cast(Scalar::F64, info.scalar, D(middle)) == bits + (bits & 1));
        CHECK(Cast(Scalar::F64, info.scalar, D(std::nextafter(middle, INFINITY))) == bits + 1);
        CHECK(Cast(Scalar::F64, info.scalar, D(std::nextafter(middle, 0))) == bits);
      }
    }
  }
  SUBCASE("a format of four bits has neither infinities nor NaNs") {
    constexpr kdl::FloatFormat kFour = {2, 1, false, false, true};
    const double kNumbers[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    for (uint64_t bits = 0; bits < 8; ++bits) {
      CHECK(kFour.ValueOf(bits) == kNumbers[bits]);
      CHECK(kFour.ValueOf(bits | 8) == -kNumbers[bits]);
      CHECK(kFour.BitsOf(-kNumbers[bits]) == (bits | 8));
    }
    CHECK(kFour.BitsOf(2.5) == 4);
    CHECK(kFour.BitsOf(5) == 6);
    CHECK(kFour.BitsOf(5.01) == 7);
    CHECK(kFour.BitsOf(-INFINITY) == 15);
    CHECK(kFour.BitsOf(NAN) == 0);
  }
  SUBCASE("no rounding to f32 first: 1 + 2^-11 + 2^-40 is above the midpoint of two f16") {
    double above_middle = 1 + 0x1p-11 + 0x1p-40;
    CHECK(Cast(Scalar::F64, Scalar::F16, D(above_middle)) == 0x3C01);
    uint64_t through_f32 =
        Cast(Scalar::F32, Scalar::F16, Cast(Scalar::F64, Scalar::F32, D(above_middle)));
    CHECK(through_f32 == 0x3C00);
  }
  SUBCASE("no rounding to f64 first: 2^62 + 2^54 + 1 is above the midpoint of two bf16") {
    int64_t above_middle = (int64_t{1} << 62) + (int64_t{1} << 54) + 1;
    CHECK(Cast(Scalar::I64, Scalar::BF16, U(above_middle)) == 0x5E81);
    CHECK(Cast(Scalar::I64, Scalar::BF16, U(above_middle - 1)) == 0x5E80);
    CHECK(Cast(Scalar::U64, Scalar::BF16, U(above_middle)) == 0x5E81);
    CHECK(Cast(Scalar::I64, Scalar::BF16, U(-above_middle)) == 0xDE81);
  }
  CHECK(Cast(Scalar::I64, Scalar::F16, U(-65504)) == 0xFBFF);
  CHECK(Cast(Scalar::I32, Scalar::F16, U(65536)) == 0x7C00);
}

TEST_CASE("the bits of a NaN are the canonical bits") {
  CHECK(EvalScalar(OpKind::Broadcast, Scalar::F32, {0xFFC00123}) == 0xFFC00123);
  auto to_bits = [](Scalar from, Scalar to, uint64_t bits) {
    return kdl::ir::Evaluate(OpKind::ToBits, from, to, &bits).value_or(kTrap);
  };
  CHECK(to_bits(Scalar::F32, Scalar::I32, 0xFFC00123) == 0x7FC00000);
  CHECK(to_bits(Scalar::F64, Scalar::I64, 0xFFF8'0000'0000'0001) == 0x7FF8'0000'0000'0000);
  CHECK(to_bits(Scalar::F32, Scalar::I32, F(-1.5F)) == 0xBFC00000);
  CHECK(to_bits(Scalar::F32, Scalar::I64, F(1)) == kTrap);
  uint64_t pattern = 0x3FC00000;
  CHECK(kdl::ir::Evaluate(OpKind::FromBits, Scalar::I32, Scalar::F32, &pattern) == F(1.5F));
}

TEST_CASE("select depends on its condition") {
  CHECK(EvalScalar(OpKind::Select, Scalar::F32, {1, F(1), F(2)}) == F(1));
  CHECK(EvalScalar(OpKind::Select, Scalar::F32, {0, F(1), F(2)}) == F(2));
  CHECK_FALSE(static_cast<bool>(kdl::ir::FindEval(OpKind::Call, Scalar::F32, Scalar::F32)));
  CHECK_FALSE(static_cast<bool>(kdl::ir::FindEval(OpKind::Rem, Scalar::F32, Scalar::F32)));
}

TEST_CASE("reductions start from their identity") {
  CHECK(kdl::ir::FoldIdentity(ReductionKind::Sum, Scalar::F32) == F(0.0F));
  CHECK(kdl::ir::FoldIdentity(ReductionKind::Prod, Scalar::F32) == F(1.0F));
  CHECK(kdl::ir::FoldIdentity(ReductionKind::Prod, Scalar::I64) == 1);
  CHECK(kdl::ir::FoldIdentity(ReductionKind::Max, Scalar::F32) == F(-kInf));
  CHECK(kdl::ir::FoldIdentity(ReductionKind::Max, Scalar::F16) == 0xFC00);
  CHECK(kdl::ir::FoldIdentity(ReductionKind::Min, Scalar::BF16) == 0x7F80);
  CHECK(kdl::ir::FoldIdentity(ReductionKind::Max, Scalar::I32) == I32(INT32_MIN));
  CHECK(kdl::ir::FoldIdentity(ReductionKind::Min, Scalar::U16) == 0xFFFF);
  CHECK(kdl::ir::FoldIdentity(ReductionKind::Max, Scalar::U64) == 0);
  CHECK(kdl::ir::FoldIdentity(ReductionKind::Any, Scalar::Bool) == 0);
  CHECK(kdl::ir::FoldIdentity(ReductionKind::All, Scalar::Bool) == 1);
}

TEST_CASE("reductions and multiply-add are only defined for suitable types") {
  bool unused = false;
  uint64_t two_and_three[] = {I32(2), I32(3), I32(-1)};
  CHECK(kdl::ir::FindFold(ReductionKind::Sum, Scalar::I32)(two_and_three, &unused) == 5);
  CHECK(kdl::ir::FindFold(ReductionKind::Prod, Scalar::I32)(two_and_three, &unused) == 6);
  CHECK(kdl::ir::FindMultiplyAdd(Scalar::I32)(two_and_three, &unused) == 5);
  uint64_t truth[] = {0, 1};
  CHECK(kdl::ir::FindFold(ReductionKind::Any, Scalar::Bool)(truth, &unused) == 1);
  CHECK(kdl::ir::FindFold(ReductionKind::All, Scalar::Bool)(truth, &unused) == 0);
  CHECK_FALSE(static_cast<bool>(kdl::ir::FindFold(ReductionKind::Sum, Scalar::Bool)));
  CHECK_FALSE(static_cast<bool>(kdl::ir::FindFold(ReductionKind::Any, Scalar::I32)));
  CHECK_FALSE(static_cast<bool>(kdl::ir::FindFold(ReductionKind::Sum, Scalar::F16)));
  CHECK(static_cast<bool>(kdl::ir::FindFold(ReductionKind::Max, Scalar::F16)));
  CHECK_FALSE(static_cast<bool>(kdl::ir::FindMultiplyAdd(Scalar::BF16)));
  CHECK_FALSE(unused);
}

TEST_CASE("an integer is extended to i64") {
  CHECK(kdl::ir::Extended(Scalar::I8, 0xFF) == -1);
  CHECK(kdl::ir::Extended(Scalar::U8, 0xFF) == 255);
  CHECK(kdl::ir::Extended(Scalar::U64, ~uint64_t{0}) == -1);
}
