#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string_view>

#include "sema/model/literal.h"

namespace kdl::sema {
namespace {

using syntax::BinaryOp;

Literal Text(std::string_view text) {
  syntax::FloatLit lit;
  lit.text = text;
  lit.value = std::strtod(std::string(text).c_str(), nullptr);
  return FromAst(lit);
}

uint64_t BitsOf(const Literal& literal, Scalar scalar) {
  std::optional<Constant> constant = ToConstant(literal, scalar);
  REQUIRE(constant);
  CHECK(constant->scalar == scalar);
  return constant->bits;
}

TEST_CASE("a decimal literal is rounded once") {
  CHECK(BitsOf(Text("0.1"), Scalar::F32) == 0x3dcccccd);
  CHECK(BitsOf(Text("0.1"), Scalar::F64) == 0x3fb999999999999a);
  CHECK(BitsOf(Text("0.1"), Scalar::F16) == 0x2e66);
  CHECK(BitsOf(Text("0.1"), Scalar::BF16) == 0x3dcd);
  // Slightly above and below the midpoint of two f32 numbers. If these values were rounded to f64 first, both
  // would become the midpoint, which rounds to even.
  CHECK(BitsOf(Text("1.00000005960464477539062500000000001"), Scalar::F32) == 0x3f800001);
  CHECK(BitsOf(Text("1.000000059604644775390625"), Scalar::F32) == 0x3f800000);
  CHECK(BitsOf(Text("1.00000017881393432617187499999999999"), Scalar::F32) == 0x3f800001);
  CHECK(BitsOf(Text("1.000000178813934326171875"), Scalar::F32) == 0x3f800002);
}

TEST_CASE("f16 and bf16 literals are rounded once, too") {
  CHECK(BitsOf(Text("1.00048828125"), Scalar::F16) == 0x3c00);
  CHECK(BitsOf(Text("1.0004882812500000000000000000001"), Scalar::F16) == 0x3c01);
  CHECK(BitsOf(Text("1.00146484375"), Scalar::F16) == 0x3c02);
  CHECK(BitsOf(Text("1.0014648437499999999999999999999"), Scalar::F16) == 0x3c01);
  CHECK(BitsOf(Text("1.00390625"), Scalar::BF16) == 0x3f80);
  CHECK(BitsOf(Text("1.0039062500000000000000000000001"), Scalar::BF16) == 0x3f81);
  CHECK(BitsOf(Text("6.0e-8"), Scalar::F16) == 1);
  CHECK(BitsOf(Text("2.9802322387695312e-8"), Scalar::F16) == 0);
  CHECK(BitsOf(Text("2.9802322387695313e-8"), Scalar::F16) == 1);
}

TEST_CASE("a float literal does not fit only if it overflows") {
  CHECK(BitsOf(Text("65519.99"), Scalar::F16) == 0x7bff);
  CHECK_FALSE(ToConstant(Text("65520.0"), Scalar::F16));
  CHECK_FALSE(ToConstant(Text("3.5e38"), Scalar::F32));
  CHECK(ToConstant(Text("3.5e38"), Scalar::F64));
  CHECK(BitsOf(Text("1.0e-60"), Scalar::F32) == 0);
  CHECK(BitsOf(Text("0.0000000000000000000000000000000000000000000000000000001"), Scalar::F32) ==
        0);
  CHECK(BitsOf(Text("1.4e-45"), Scalar::F32) == 1);
  CHECK(BitsOf(Negate(Text("0.0")), Scalar::F32) == 0x80000000);
}

TEST_CASE("infinity and nan are literals of every float type") {
  Literal inf = Text("inf");
  inf.text = {};
  CHECK(BitsOf(Literal::Real(std::numeric_limits<double>::infinity()), Scalar::F16) == 0x7c00);
  CHECK(BitsOf(Negate(Literal::Real(INFINITY)), Scalar::BF16) == 0xff80);
  CHECK(BitsOf(Literal::Real(std::nan("")), Scalar::F32) == 0x7fc00000);
  CHECK_FALSE(ToConstant(Literal::Real(INFINITY), Scalar::I32));
}

TEST_CASE("an integer literal must be in range, or exact in a float type") {
  CHECK(BitsOf(Literal::Int(-128), Scalar::I8) == 0x80);
  CHECK_FALSE(ToConstant(Literal::Int(128), Scalar::I8));
  CHECK_FALSE(ToConstant(Literal::Int(-1), Scalar::U64));
  CHECK(BitsOf(Literal::Int(std::numeric_limits<uint64_t>::max()), Scalar::U64) == ~uint64_t{0});
  CHECK(BitsOf(Literal::Int(16777216), Scalar::F32) == 0x4b800000);
  CHECK_FALSE(ToConstant(Literal::Int(16777217), Scalar::F32));
  CHECK(ToConstant(Literal::Int(16777217), Scalar::F64));
  CHECK_FALSE(ToConstant(Literal::Int((int64_t{1} << 53) + 1), Scalar::F64));
  CHECK_FALSE(ToConstant(Literal::Int(2049), Scalar::F16));
  CHECK_FALSE(ToConstant(Literal::Int(1), Scalar::Bool));
}

__int128 FoldInt(BinaryOp op, __int128 a, __int128 b) {
  Folded folded = Fold(op, Literal::Int(a), Literal::Int(b));
  REQUIRE(folded.value);
  return folded.value->integer;
}

TEST_CASE("integer constants are computed exactly, and division rounds down") {
  CHECK(FoldInt(BinaryOp::Div, -7, 2) == -4);
  CHECK(FoldInt(BinaryOp::Rem, -7, 2) == 1);
  CHECK(FoldInt(BinaryOp::Rem, 7, -2) == -1);
  CHECK(FoldInt(BinaryOp::Shl, 1, 63) == static_cast<__int128>(1) << 63);
  CHECK(FoldInt(BinaryOp::Shr, -1, 5) == -1);
  CHECK(Fold(BinaryOp::Div, Literal::Int(1), Literal::Int(0)).failure ==
        FoldFailure::DivisionByZero);
  CHECK(Fold(BinaryOp::Shl, Literal::Int(1), Literal::Int(64)).failure == FoldFailure::ShiftCount);
  __int128 most = std::numeric_limits<uint64_t>::max();
  CHECK(Fold(BinaryOp::Add, Literal::Int(most), Literal::Int(1)).failure == FoldFailure::TooLarge);
  CHECK(Fold(BinaryOp::Mul, Literal::Int(most), Literal::Int(most)).failure ==
        FoldFailure::TooLarge);
}

TEST_CASE("float constants are computed in f64") {
  Folded third = Fold(BinaryOp::Div, Text("1.0"), Literal::Int(3));
  REQUIRE(third.value);
  CHECK(third.value->real == 1.0 / 3.0);
  Folded rest = Fold(BinaryOp::Rem, Text("5.5"), Text("2.0"));
  REQUIRE(rest.value);
  CHECK(rest.value->real == 1.5);
  CHECK_FALSE(Fold(BinaryOp::Shl, Text("1.0"), Text("2.0")).value);
}

TEST_CASE("literals are printed as text") {
  CHECK(ToString(Literal::Int(0)) == "0");
  CHECK(ToString(Literal::Int(std::numeric_limits<int64_t>::min())) == "-9223372036854775808");
  CHECK(ToString(Negate(Text("0.50"))) == "-0.50");
}

}  // namespace
}  // namespace kdl::sema
