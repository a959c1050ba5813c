#include "ir/eval/eval.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "ir/eval/eval_casts.h"
#include "ir/eval/eval_types.h"
#include "ir/op_table.h"

namespace kdl::ir {

namespace {

/// Returns the number as an unsigned 64-bit number. Integer arithmetic uses such numbers and truncates the
/// result, so that it wraps and is never undefined.
template <Integer T>
uint64_t Widened(T value) {
  return static_cast<uint64_t>(static_cast<int64_t>(value));
}

// -- What each op computes; Compute is overloaded for the types on which the op is defined ------------

// clang-format off
struct Add {
  template <Integer T> static T Compute(T a, T b) { return static_cast<T>(Widened(a) + Widened(b)); }
  template <Wide T> static T Compute(T a, T b) { return CanonicalNan(a + b); }
};
struct Sub {
  template <Integer T> static T Compute(T a, T b) { return static_cast<T>(Widened(a) - Widened(b)); }
  template <Wide T> static T Compute(T a, T b) { return CanonicalNan(a - b); }
};
struct Mul {
  template <Integer T> static T Compute(T a, T b) { return static_cast<T>(Widened(a) * Widened(b)); }
  template <Wide T> static T Compute(T a, T b) { return CanonicalNan(a * b); }
};
/// Returns `a` as the result of an op on narrow floats: an infinity becomes the largest number if the type
/// has only one byte, because such types saturate.
template <Narrow T> T Kept(T a) { return std::isinf(Exact(a)) ? NarrowFrom<T>(Exact(a)) : a; }
struct Neg {
  template <Integer T> static T Compute(T a) { return static_cast<T>(0 - Widened(a)); }
  template <Wide T> static T Compute(T a) { return -a; }
  template <Narrow T> static T Compute(T a) { return Kept(T{static_cast<decltype(a.bits)>(a.bits ^ SignOf<T>())}); }
};
struct Abs {
  template <Integer T> static T Compute(T a) { return a < T{0} ? Neg::Compute(a) : a; }
  template <Wide T> static T Compute(T a) { return std::fabs(a); }
  template <Narrow T> static T Compute(T a) { return Kept(T{static_cast<decltype(a.bits)>(a.bits & ~SignOf<T>())}); }
};
struct Lt {
  template <class T> static bool Compute(T a, T b) { return a < b; }
  template <Narrow T> static bool Compute(T a, T b) { return Exact(a) < Exact(b); }
};
struct Le {
  template <class T> static bool Compute(T a, T b) { return a <= b; }
  template <Narrow T> static bool Compute(T a, T b) { return Exact(a) <= Exact(b); }
};
struct Gt {
  template <class T> static bool Compute(T a, T b) { return Lt::Compute(b, a); }
};
struct Ge {
  template <class T> static bool Compute(T a, T b) { return Le::Compute(b, a); }
};
struct Eq {
  template <class T> static bool Compute(T a, T b) { return a == b; }
  template <Narrow T> static bool Compute(T a, T b) { return Exact(a) == Exact(b); }
};
struct Ne {
  template <class T> static bool Compute(T a, T b) { return !Eq::Compute(a, b); }
};
struct BitAnd {
  template <Integer T> static T Compute(T a, T b) { return static_cast<T>(a & b); }
  template <Bool T> static T Compute(T a, T b) { return a && b; }
};
struct BitOr {
  template <Integer T> static T Compute(T a, T b) { return static_cast<T>(a | b); }
  template <Bool T> static T Compute(T a, T b) { return a || b; }
};
struct BitXor {
  template <Integer T> static T Compute(T a, T b) { return static_cast<T>(a ^ b); }
  template <Bool T> static T Compute(T a, T b) { return a != b; }
};
struct BitNot {
  template <Integer T> static T Compute(T a) { return static_cast<T>(~a); }
  template <Bool T> static T Compute(T a) { return !a; }
};
struct Shl {
  template <Integer T> static T Compute(T a, T b) { return static_cast<T>(Widened(a) << Count(b)); }
  template <Integer T> static int Count(T b) { return static_cast<int>(Widened(b) & (sizeof(T) * 8 - 1)); }
};
struct Shr {
  template <Integer T> static T Compute(T a, T b) { return static_cast<T>(a >> Shl::Count(b)); }
};
struct Floor {
  template <Wide T> static T Compute(T a) { return CanonicalNan(std::floor(a)); }
};
struct Ceil {
  template <Wide T> static T Compute(T a) { return CanonicalNan(std::ceil(a)); }
};
struct Round {
  template <Wide T> static T Compute(T a) { return CanonicalNan(std::nearbyint(a)); }
};
struct Sqrt {
  template <Wide T> static T Compute(T a) { return CanonicalNan(std::sqrt(a)); }
};
struct Fma {
  template <Wide T> static T Compute(T a, T b, T c) { return CanonicalNan(std::fma(a, b, c)); }
};
struct Flush {
  template <std::same_as<float> T> static T Compute(T a) { return std::fpclassify(a) == FP_SUBNORMAL ? std::copysign(0.F, a) : a; }
};
struct Tf32 {
  template <std::same_as<float> T> static T Compute(T a) {
    if (!std::isfinite(a)) return a;
    auto bits = std::bit_cast<uint32_t>(a);
    return std::bit_cast<float>((bits + 0xfff + (bits >> 13 & 1)) & 0xffffe000);
  }
};
struct FmaFlush {
  template <std::same_as<float> T> static T Compute(T a, T b, T c) {
    constexpr float kLeast = std::numeric_limits<float>::min();
    // If the sum is scaled by this power of two, it keeps all its digits when it is rounded, even near the
    // least normal number.
    constexpr float kScale = 0x1p32F;
    float sum = Fma::Compute(a, b, c);
    bool may_be_tiny = std::fabs(sum) <= kLeast;
    bool is_tiny = may_be_tiny && std::fabs(std::fma(a * kScale, b, c * kScale)) < kLeast * kScale;
    return is_tiny ? std::copysign(0.F, sum) : sum;
  }
};
/// Functions on f64 that only contracts use, computed by the C library.
template <class T> concept Real = std::same_as<T, double>;
struct Exp { template <Real T> static T Compute(T a) { return CanonicalNan(std::exp(a)); } };
struct Exp2 { template <Real T> static T Compute(T a) { return CanonicalNan(std::exp2(a)); } };
struct Expm1 { template <Real T> static T Compute(T a) { return CanonicalNan(std::expm1(a)); } };
struct Log { template <Real T> static T Compute(T a) { return CanonicalNan(std::log(a)); } };
struct Log2 { template <Real T> static T Compute(T a) { return CanonicalNan(std::log2(a)); } };
struct Log1p { template <Real T> static T Compute(T a) { return CanonicalNan(std::log1p(a)); } };
struct Sin { template <Real T> static T Compute(T a) { return CanonicalNan(std::sin(a)); } };
struct Cos { template <Real T> static T Compute(T a) { return CanonicalNan(std::cos(a)); } };
struct Tan { template <Real T> static T Compute(T a) { return CanonicalNan(std::tan(a)); } };
struct Asin { template <Real T> static T Compute(T a) { return CanonicalNan(std::asin(a)); } };
struct Acos { template <Real T> static T Compute(T a) { return CanonicalNan(std::acos(a)); } };
struct Atan { template <Real T> static T Compute(T a) { return CanonicalNan(std::atan(a)); } };
struct Sinh { template <Real T> static T Compute(T a) { return CanonicalNan(std::sinh(a)); } };
struct Cosh { template <Real T> static T Compute(T a) { return CanonicalNan(std::cosh(a)); } };
struct Tanh { template <Real T> static T Compute(T a) { return CanonicalNan(std::tanh(a)); } };
struct Erf { template <Real T> static T Compute(T a) { return CanonicalNan(std::erf(a)); } };
struct Pow { template <Real T> static T Compute(T a, T b) { return CanonicalNan(std::pow(a, b)); } };
struct Atan2 { template <Real T> static T Compute(T a, T b) { return CanonicalNan(std::atan2(a, b)); } };
struct Fmod { template <Real T> static T Compute(T a, T b) { return CanonicalNan(std::fmod(a, b)); } };
struct Rsqrt { template <Real T> static T Compute(T a) { return CanonicalNan(1 / std::sqrt(a)); } };
struct Sigmoid {
  template <Real T> static T Compute(T a) {
    return CanonicalNan(a >= 0 ? 1 / (1 + std::exp(-a)) : std::exp(a) / (1 + std::exp(a)));
  }
};
struct MultiplyAdd : Fma {
  using Fma::Compute;
  template <Integer T> static T Compute(T a, T b, T c) { return Add::Compute(Mul::Compute(a, b), c); }
};
// clang-format on

struct Div {
  template <Wide T>
  static T Compute(T a, T b) {
    return CanonicalNan(a / b);
  }
  template <Integer T>
  static T Compute(T a, T b, bool* division_by_zero) {
    if (b == 0) {
      *division_by_zero = true;
      return 0;
    }
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return Neg::Compute(a);
      bool inexact_below_zero = a % b != 0 && (a < 0) != (b < 0);
      return static_cast<T>(a / b - (inexact_below_zero ? 1 : 0));
    }
    return static_cast<T>(a / b);
  }
};

struct Rem {
  template <Integer T>
  static T Compute(T a, T b, bool* division_by_zero) {
    return Sub::Compute(a, Mul::Compute(b, Div::Compute(a, b, division_by_zero)));
  }
};

/// Returns the larger operand. Zeros are ordered by their signs: -0 is less than +0.
struct Max {
  template <class T>
  static T Compute(T a, T b) {
    return a < b ? b : a;
  }
  template <Wide T>
  static T Compute(T a, T b) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    if (a == b) return std::signbit(a) ? b : a;
    return a < b ? b : a;
  }
  template <Narrow T>
  static T Compute(T a, T b) {
    if (std::isnan(Exact(a))) return a;
    if (std::isnan(Exact(b))) return b;
    if (Exact(a) == Exact(b)) return Kept(std::signbit(Exact(a)) ? b : a);
    return Kept(Exact(a) < Exact(b) ? b : a);
  }
};

struct Min {
  template <class T>
  static T Compute(T a, T b) {
    return b < a ? b : a;
  }
  template <Narrow T>
  static T Compute(T a, T b) {
    return Neg::Compute(Max::Compute(Neg::Compute(a), Neg::Compute(b)));
  }
  template <Wide T>
  static T Compute(T a, T b) {
    return CanonicalNan(-Max::Compute(-a, -b));
  }
};

uint64_t SelectEntry(const uint64_t* operands, bool*) {
  return operands[0] != 0 ? operands[1] : operands[2];
}

// -- Finding the function for an op and its types ------------------------------------------------

template <class F, class T>
uint64_t Entry(const uint64_t* x, bool* division_by_zero) {
  if constexpr (requires(T a) { F::Compute(a, a, division_by_zero); }) {
    return ToPattern(F::Compute(FromPattern<T>(x[0]), FromPattern<T>(x[1]), division_by_zero));
  } else if constexpr (requires(T a) { F::Compute(a); }) {
    return ToPattern(F::Compute(FromPattern<T>(x[0])));
  } else if constexpr (requires(T a) { F::Compute(a, a); }) {
    return ToPattern(F::Compute(FromPattern<T>(x[0]), FromPattern<T>(x[1])));
  } else {
    return ToPattern(F::Compute(FromPattern<T>(x[0]), FromPattern<T>(x[1]), FromPattern<T>(x[2])));
  }
}

template <class F, class T>
constexpr EvalFn EntryOrNull() {
  constexpr bool kDefined = requires(T a) { F::Compute(a); } || requires(T a) {
    F::Compute(a, a);
  } || requires(T a) { F::Compute(a, a, a); } || requires(T a, bool* z) { F::Compute(a, a, z); };
  if constexpr (kDefined) {
    return &Entry<F, T>;
  } else {
    return nullptr;
  }
}

template <class F>
EvalFn Pick(Scalar scalar) {
  static constexpr auto kTable =
      ByScalar([]<Scalar each>() { return EntryOrNull<F, typename CppType<each>::Type>(); });
  return kTable[static_cast<size_t>(scalar)];
}

struct EvalRow {
  OpKind kind;
  EvalFn (*pick)(Scalar operand);
};

constexpr EvalRow kEvaluations[] = {
    {OpKind::Add, &Pick<Add>},     {OpKind::Sub, &Pick<Sub>},
    {OpKind::Mul, &Pick<Mul>},     {OpKind::Div, &Pick<Div>},
    {OpKind::Rem, &Pick<Rem>},     {OpKind::Neg, &Pick<Neg>},
    {OpKind::Min, &Pick<Min>},     {OpKind::Max, &Pick<Max>},
    {OpKind::And, &Pick<BitAnd>},  {OpKind::Or, &Pick<BitOr>},
    {OpKind::Xor, &Pick<BitXor>},  {OpKind::Not, &Pick<BitNot>},
    {OpKind::Shl, &Pick<Shl>},     {OpKind::Shr, &Pick<Shr>},
    {OpKind::Eq, &Pick<Eq>},       {OpKind::Ne, &Pick<Ne>},
    {OpKind::Lt, &Pick<Lt>},       {OpKind::Le, &Pick<Le>},
    {OpKind::Gt, &Pick<Gt>},       {OpKind::Ge, &Pick<Ge>},
    {OpKind::Fma, &Pick<Fma>},     {OpKind::Flush, &Pick<Flush>},
    {OpKind::Tf32, &Pick<Tf32>},   {OpKind::FmaFlush, &Pick<FmaFlush>},
    {OpKind::Abs, &Pick<Abs>},     {OpKind::Floor, &Pick<Floor>},
    {OpKind::Ceil, &Pick<Ceil>},   {OpKind::Round, &Pick<Round>},
    {OpKind::Sqrt, &Pick<Sqrt>},   {OpKind::Exp, &Pick<Exp>},
    {OpKind::Exp2, &Pick<Exp2>},   {OpKind::Expm1, &Pick<Expm1>},
    {OpKind::Log, &Pick<Log>},     {OpKind::Log2, &Pick<Log2>},
    {OpKind::Log1p, &Pick<Log1p>}, {OpKind::Sin, &Pick<Sin>},
    {OpKind::Cos, &Pick<Cos>},     {OpKind::Tan, &Pick<Tan>},
    {OpKind::Asin, &Pick<Asin>},   {OpKind::Acos, &Pick<Acos>},
    {OpKind::Atan, &Pick<Atan>},   {OpKind::Atan2, &Pick<Atan2>},
    {OpKind::Sinh, &Pick<Sinh>},   {OpKind::Cosh, &Pick<Cosh>},
    {OpKind::Fmod, &Pick<Fmod>},   {OpKind::Tanh, &Pick<Tanh>},
    {OpKind::Erf, &Pick<Erf>},     {OpKind::Pow, &Pick<Pow>},
    {OpKind::Rsqrt, &Pick<Rsqrt>}, {OpKind::Sigmoid, &Pick<Sigmoid>},
};

/// Returns whether FindEval handles the op separately, because its operands and results may have different
/// types.
constexpr bool HasOtherTypes(OpKind kind) {
  return kind == OpKind::Broadcast || kind == OpKind::Snapshot || kind == OpKind::Select ||
         kind == OpKind::Cast || kind == OpKind::ToBits || kind == OpKind::FromBits;
}
static_assert(CoverOnce(kEvaluations,
                        [](const OpInfo& info) {
                          return info.is_computed() && !HasOtherTypes(info.kind);
                        }),
              "each elementwise op is computed");

}  // namespace

EvalFn FindEval(OpKind kind, Scalar operand, Scalar result) {
  if (kind == OpKind::Broadcast || kind == OpKind::Snapshot) return &PassThrough;
  if (kind == OpKind::Select) return &SelectEntry;
  if (kind == OpKind::Cast) return FindCast(operand, result);
  if (kind == OpKind::ToBits) return FindToBits(operand, result);
  if (kind == OpKind::FromBits) return FindFromBits(operand, result);
  if (!HasArithmetic(operand)) return nullptr;
  const EvalRow* row = std::find_if(std::begin(kEvaluations), std::end(kEvaluations),
                                    [&](const EvalRow& r) { return r.kind == kind; });
  return row == std::end(kEvaluations) ? nullptr : row->pick(operand);
}

std::optional<uint64_t> Evaluate(OpKind kind, Scalar operand, Scalar result,
                                 const uint64_t* operands) {
  EvalFn eval = FindEval(kind, operand, result);
  if (!eval) return std::nullopt;
  bool division_by_zero = false;
  uint64_t bits = eval(operands, &division_by_zero);
  return division_by_zero ? std::nullopt : std::optional(bits);
}

EvalFn FindMultiplyAdd(Scalar acc) { return Pick<MultiplyAdd>(acc); }

}  // namespace kdl::ir
