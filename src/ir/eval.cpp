#include "ir/eval.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>
#include <type_traits>

#include "support/check.h"
#include "support/float16.h"

namespace kdl::ir {

namespace {

// -- Scalars as C++ types -----------------------------------------------------------------------

struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};

template <Scalar scalar>
struct CppType;
// clang-format off
template <> struct CppType<Scalar::Bool> { using Type = bool; };
template <> struct CppType<Scalar::I8> { using Type = int8_t; };
template <> struct CppType<Scalar::I16> { using Type = int16_t; };
template <> struct CppType<Scalar::I32> { using Type = int32_t; };
template <> struct CppType<Scalar::I64> { using Type = int64_t; };
template <> struct CppType<Scalar::U8> { using Type = uint8_t; };
template <> struct CppType<Scalar::U16> { using Type = uint16_t; };
template <> struct CppType<Scalar::U32> { using Type = uint32_t; };
template <> struct CppType<Scalar::U64> { using Type = uint64_t; };
template <> struct CppType<Scalar::F16> { using Type = Half; };
template <> struct CppType<Scalar::BF16> { using Type = BFloat; };
template <> struct CppType<Scalar::F32> { using Type = float; };
template <> struct CppType<Scalar::F64> { using Type = double; };
// clang-format on

template <class T>
concept Bool = std::same_as<T, bool>;
template <class T>
concept Integer = std::integral<T> && !Bool<T>;
template <class T>
concept Narrow = std::same_as<T, Half> || std::same_as<T, BFloat>;
template <class T>
concept Wide = std::floating_point<T>;

double Exact(Half value) { return F64FromF16(value.bits); }
double Exact(BFloat value) { return F64FromBf16(value.bits); }

template <Wide T>
T CanonicalNan(T value) {
  return std::isnan(value) ? std::numeric_limits<T>::quiet_NaN() : value;
}

template <class T>
T FromPattern(uint64_t bits) {
  if constexpr (Narrow<T>) {
    return {static_cast<uint16_t>(bits)};
  } else if constexpr (std::same_as<T, float>) {
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  } else if constexpr (std::same_as<T, double>) {
    return std::bit_cast<double>(bits);
  } else {
    return static_cast<T>(bits);
  }
}

template <class T>
uint64_t ToPattern(T value) {
  if constexpr (Narrow<T>) {
    return value.bits;
  } else if constexpr (std::same_as<T, float>) {
    return std::bit_cast<uint32_t>(value);
  } else if constexpr (std::same_as<T, double>) {
    return std::bit_cast<uint64_t>(value);
  } else if constexpr (Bool<T>) {
    return value ? 1 : 0;
  } else {
    return static_cast<std::make_unsigned_t<T>>(value);
  }
}

/// Integer arithmetic is done on 64 bits without sign and cut to the width: it wraps, and is never
/// undefined.
template <Integer T>
uint64_t Widened(T value) {
  return static_cast<uint64_t>(static_cast<int64_t>(value));
}

// -- What each op computes: Run is overloaded on what the op is defined on ----------------------

// clang-format off
struct Add {
  template <Integer T> static T Run(T a, T b) { return static_cast<T>(Widened(a) + Widened(b)); }
  template <Wide T> static T Run(T a, T b) { return CanonicalNan(a + b); }
};
struct Sub {
  template <Integer T> static T Run(T a, T b) { return static_cast<T>(Widened(a) - Widened(b)); }
  template <Wide T> static T Run(T a, T b) { return CanonicalNan(a - b); }
};
struct Mul {
  template <Integer T> static T Run(T a, T b) { return static_cast<T>(Widened(a) * Widened(b)); }
  template <Wide T> static T Run(T a, T b) { return CanonicalNan(a * b); }
};
struct Neg {
  template <Integer T> static T Run(T a) { return static_cast<T>(0 - Widened(a)); }
  template <Wide T> static T Run(T a) { return -a; }
  template <Narrow T> static T Run(T a) { return {static_cast<uint16_t>(a.bits ^ 0x8000)}; }
};
struct Abs {
  template <Integer T> static T Run(T a) { return a < T{0} ? Neg::Run(a) : a; }
  template <Wide T> static T Run(T a) { return std::fabs(a); }
  template <Narrow T> static T Run(T a) { return {static_cast<uint16_t>(a.bits & 0x7FFF)}; }
};
struct Lt {
  template <class T> static bool Run(T a, T b) { return a < b; }
  template <Narrow T> static bool Run(T a, T b) { return Exact(a) < Exact(b); }
};
struct Le {
  template <class T> static bool Run(T a, T b) { return a <= b; }
  template <Narrow T> static bool Run(T a, T b) { return Exact(a) <= Exact(b); }
};
struct Gt {
  template <class T> static bool Run(T a, T b) { return Lt::Run(b, a); }
};
struct Ge {
  template <class T> static bool Run(T a, T b) { return Le::Run(b, a); }
};
struct Eq {
  template <class T> static bool Run(T a, T b) { return a == b; }
  template <Narrow T> static bool Run(T a, T b) { return Exact(a) == Exact(b); }
};
struct Ne {
  template <class T> static bool Run(T a, T b) { return !Eq::Run(a, b); }
};
struct BitAnd {
  template <Integer T> static T Run(T a, T b) { return static_cast<T>(a & b); }
  template <Bool T> static T Run(T a, T b) { return a && b; }
};
struct BitOr {
  template <Integer T> static T Run(T a, T b) { return static_cast<T>(a | b); }
  template <Bool T> static T Run(T a, T b) { return a || b; }
};
struct BitXor {
  template <Integer T> static T Run(T a, T b) { return static_cast<T>(a ^ b); }
  template <Bool T> static T Run(T a, T b) { return a != b; }
};
struct BitNot {
  template <Integer T> static T Run(T a) { return static_cast<T>(~a); }
  template <Bool T> static T Run(T a) { return !a; }
};
struct Shl {
  template <Integer T> static T Run(T a, T b) { return static_cast<T>(Widened(a) << Count(b)); }
  template <Integer T> static int Count(T b) { return static_cast<int>(Widened(b) & (sizeof(T) * 8 - 1)); }
};
struct Shr {
  template <Integer T> static T Run(T a, T b) { return static_cast<T>(a >> Shl::Count(b)); }
};
struct Floor {
  template <Wide T> static T Run(T a) { return CanonicalNan(std::floor(a)); }
};
struct Ceil {
  template <Wide T> static T Run(T a) { return CanonicalNan(std::ceil(a)); }
};
struct Round {
  template <Wide T> static T Run(T a) { return CanonicalNan(std::nearbyint(a)); }
};
struct Sqrt {
  template <Wide T> static T Run(T a) { return CanonicalNan(std::sqrt(a)); }
};
struct Fma {
  template <Wide T> static T Run(T a, T b, T c) { return CanonicalNan(std::fma(a, b, c)); }
};
struct Flush {
  template <std::same_as<float> T> static T Run(T a) { return std::fpclassify(a) == FP_SUBNORMAL ? std::copysign(0.F, a) : a; }
};
struct FmaFlush {
  template <std::same_as<float> T> static T Run(T a, T b, T c) {
    constexpr float kLeast = std::numeric_limits<float>::min();
    constexpr float kScale = 0x1p32F;  // lifts what is near the least normal number to where rounding has all digits
    float sum = Fma::Run(a, b, c);
    bool may_be_tiny = std::fabs(sum) <= kLeast;
    bool is_tiny = may_be_tiny && std::fabs(std::fma(a * kScale, b, c * kScale)) < kLeast * kScale;
    return is_tiny ? std::copysign(0.F, sum) : sum;
  }
};
/// Of contracts: in f64, as the C library has them.
template <class T> concept Real = std::same_as<T, double>;
struct Exp { template <Real T> static T Run(T a) { return CanonicalNan(std::exp(a)); } };
struct Exp2 { template <Real T> static T Run(T a) { return CanonicalNan(std::exp2(a)); } };
struct Expm1 { template <Real T> static T Run(T a) { return CanonicalNan(std::expm1(a)); } };
struct Log { template <Real T> static T Run(T a) { return CanonicalNan(std::log(a)); } };
struct Log2 { template <Real T> static T Run(T a) { return CanonicalNan(std::log2(a)); } };
struct Log1p { template <Real T> static T Run(T a) { return CanonicalNan(std::log1p(a)); } };
struct Sin { template <Real T> static T Run(T a) { return CanonicalNan(std::sin(a)); } };
struct Cos { template <Real T> static T Run(T a) { return CanonicalNan(std::cos(a)); } };
struct Tanh { template <Real T> static T Run(T a) { return CanonicalNan(std::tanh(a)); } };
struct Erf { template <Real T> static T Run(T a) { return CanonicalNan(std::erf(a)); } };
struct Pow { template <Real T> static T Run(T a, T b) { return CanonicalNan(std::pow(a, b)); } };
struct Rsqrt { template <Real T> static T Run(T a) { return CanonicalNan(1 / std::sqrt(a)); } };
struct Sigmoid {
  template <Real T> static T Run(T a) {
    return CanonicalNan(a >= 0 ? 1 / (1 + std::exp(-a)) : std::exp(a) / (1 + std::exp(a)));
  }
};
struct MultiplyAdd : Fma {
  using Fma::Run;
  template <Integer T> static T Run(T a, T b, T c) { return Add::Run(Mul::Run(a, b), c); }
};
// clang-format on

struct Div {
  template <Wide T>
  static T Run(T a, T b) {
    return CanonicalNan(a / b);
  }
  template <Integer T>
  static T Run(T a, T b, bool* division_by_zero) {
    if (b == 0) {
      *division_by_zero = true;
      return 0;
    }
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return Neg::Run(a);
      bool inexact_below_zero = a % b != 0 && (a < 0) != (b < 0);
      return static_cast<T>(a / b - (inexact_below_zero ? 1 : 0));
    }
    return static_cast<T>(a / b);
  }
};

struct Rem {
  template <Integer T>
  static T Run(T a, T b, bool* division_by_zero) {
    return Sub::Run(a, Mul::Run(b, Div::Run(a, b, division_by_zero)));
  }
};

/// Of equal numbers the sign decides, so that -0 < +0.
struct Max {
  template <class T>
  static T Run(T a, T b) {
    return a < b ? b : a;
  }
  template <Wide T>
  static T Run(T a, T b) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    if (a == b) return std::signbit(a) ? b : a;
    return a < b ? b : a;
  }
  template <Narrow T>
  static T Run(T a, T b) {
    if (std::isnan(Exact(a))) return a;
    if (std::isnan(Exact(b))) return b;
    if (Exact(a) == Exact(b)) return std::signbit(Exact(a)) ? b : a;
    return Exact(a) < Exact(b) ? b : a;
  }
};

struct Min {
  template <class T>
  static T Run(T a, T b) {
    return b < a ? b : a;
  }
  template <Narrow T>
  static T Run(T a, T b) {
    return Neg::Run(Max::Run(Neg::Run(a), Neg::Run(b)));
  }
  template <Wide T>
  static T Run(T a, T b) {
    return CanonicalNan(-Max::Run(-a, -b));
  }
};

// -- Casts --------------------------------------------------------------------------------------

/// Truncates and saturates; NaN gives 0. The bounds are powers of two, hence exact in f64.
template <Integer T>
T SaturatingFrom(double value) {
  if (std::isnan(value)) return 0;
  value = std::trunc(value);
  double above_max = std::scalbn(1.0, std::numeric_limits<T>::digits);
  if (value >= above_max) return std::numeric_limits<T>::max();
  if (value < static_cast<double>(std::numeric_limits<T>::min()))
    return std::numeric_limits<T>::min();
  return static_cast<T>(value);
}

template <Narrow T>
T NarrowFrom(double value) {
  if constexpr (std::same_as<T, Half>) {
    return {F16FromF64(value)};
  } else {
    return {Bf16FromF64(value)};
  }
}

/// An f64 from which every narrower float comes out as if rounded once.
template <Integer T>
double Sticky(T value) {
  if constexpr (std::is_signed_v<T>) {
    return F64FromI64Sticky(value);
  } else {
    return F64FromU64Sticky(value);
  }
}

template <class From, class To>
To CastTo(From value) {
  if constexpr (std::same_as<From, To>) {
    return value;
  } else if constexpr (Narrow<From>) {
    return CastTo<double, To>(Exact(value));
  } else if constexpr (Bool<To>) {
    return value != From{0};
  } else if constexpr (Bool<From>) {
    return CastTo<uint8_t, To>(value ? 1 : 0);
  } else if constexpr (Narrow<To>) {
    if constexpr (Integer<From>) {
      return NarrowFrom<To>(Sticky(value));
    } else {
      return NarrowFrom<To>(value);
    }
  } else if constexpr (Wide<From> && Integer<To>) {
    return SaturatingFrom<To>(value);
  } else if constexpr (Wide<From>) {
    return static_cast<To>(CanonicalNan(value));
  } else {
    return static_cast<To>(value);
  }
}

template <class From, class To>
uint64_t CastEntry(const uint64_t* operands, bool*) {
  return ToPattern(CastTo<From, To>(FromPattern<From>(operands[0])));
}

template <class From>
EvalFn CastFrom(Scalar to) {
  static constexpr EvalFn kTable[] = {
#define KDL_SCALAR(name, spelling, bits, group) &CastEntry<From, CppType<Scalar::name>::Type>,
#include "support/scalars.def"
  };
  return kTable[static_cast<size_t>(to)];
}

EvalFn FindCast(Scalar from, Scalar to) {
  using Row = EvalFn (*)(Scalar);
  static constexpr Row kTable[] = {
#define KDL_SCALAR(name, spelling, bits, group) &CastFrom<CppType<Scalar::name>::Type>,
#include "support/scalars.def"
  };
  return kTable[static_cast<size_t>(from)](to);
}

// -- Bits ---------------------------------------------------------------------------------------

template <Wide T>
uint64_t CanonicalBits(const uint64_t* operands, bool*) {
  return ToPattern(CanonicalNan(FromPattern<T>(operands[0])));
}

uint64_t PassThrough(const uint64_t* operands, bool*) { return operands[0]; }
uint64_t SelectEntry(const uint64_t* operands, bool*) {
  return operands[0] != 0 ? operands[1] : operands[2];
}

EvalFn FindToBits(Scalar operand, Scalar result) {
  if (operand == Scalar::F32 && result == Scalar::I32) return &CanonicalBits<float>;
  if (operand == Scalar::F64 && result == Scalar::I64) return &CanonicalBits<double>;
  return nullptr;
}

EvalFn FindFromBits(Scalar operand, Scalar result) {
  bool fits = (operand == Scalar::I32 && result == Scalar::F32) ||
              (operand == Scalar::I64 && result == Scalar::F64);
  return fits ? &PassThrough : nullptr;
}

// -- From ops and scalars to functions ----------------------------------------------------------

template <class F, class T>
uint64_t Entry(const uint64_t* x, bool* division_by_zero) {
  if constexpr (requires(T a) { F::Run(a, a, division_by_zero); }) {
    return ToPattern(F::Run(FromPattern<T>(x[0]), FromPattern<T>(x[1]), division_by_zero));
  } else if constexpr (requires(T a) { F::Run(a); }) {
    return ToPattern(F::Run(FromPattern<T>(x[0])));
  } else if constexpr (requires(T a) { F::Run(a, a); }) {
    return ToPattern(F::Run(FromPattern<T>(x[0]), FromPattern<T>(x[1])));
  } else {
    return ToPattern(F::Run(FromPattern<T>(x[0]), FromPattern<T>(x[1]), FromPattern<T>(x[2])));
  }
}

template <class F, class T>
constexpr EvalFn EntryOrNull() {
  constexpr bool kDefined = requires(T a) { F::Run(a); } || requires(T a) {
    F::Run(a, a);
  } || requires(T a) { F::Run(a, a, a); } || requires(T a, bool* z) { F::Run(a, a, z); };
  if constexpr (kDefined) {
    return &Entry<F, T>;
  } else {
    return nullptr;
  }
}

template <class F>
EvalFn Pick(Scalar scalar) {
  static constexpr EvalFn kTable[] = {
#define KDL_SCALAR(name, spelling, bits, group) EntryOrNull<F, CppType<Scalar::name>::Type>(),
#include "support/scalars.def"
  };
  return kTable[static_cast<size_t>(scalar)];
}

struct Row {
  OpKind kind;
  EvalFn (*pick)(Scalar operand);
};

constexpr Row kRows[] = {
    {OpKind::Add, &Pick<Add>},
    {OpKind::Sub, &Pick<Sub>},
    {OpKind::Mul, &Pick<Mul>},
    {OpKind::Div, &Pick<Div>},
    {OpKind::Rem, &Pick<Rem>},
    {OpKind::Neg, &Pick<Neg>},
    {OpKind::Min, &Pick<Min>},
    {OpKind::Max, &Pick<Max>},
    {OpKind::And, &Pick<BitAnd>},
    {OpKind::Or, &Pick<BitOr>},
    {OpKind::Xor, &Pick<BitXor>},
    {OpKind::Not, &Pick<BitNot>},
    {OpKind::Shl, &Pick<Shl>},
    {OpKind::Shr, &Pick<Shr>},
    {OpKind::Eq, &Pick<Eq>},
    {OpKind::Ne, &Pick<Ne>},
    {OpKind::Lt, &Pick<Lt>},
    {OpKind::Le, &Pick<Le>},
    {OpKind::Gt, &Pick<Gt>},
    {OpKind::Ge, &Pick<Ge>},
    {OpKind::Fma, &Pick<Fma>},
    {OpKind::Flush, &Pick<Flush>},
    {OpKind::FmaFlush, &Pick<FmaFlush>},
    {OpKind::Abs, &Pick<Abs>},
    {OpKind::Floor, &Pick<Floor>},
    {OpKind::Ceil, &Pick<Ceil>},
    {OpKind::Round, &Pick<Round>},
    {OpKind::Sqrt, &Pick<Sqrt>},
    {OpKind::Exp, &Pick<Exp>},
    {OpKind::Exp2, &Pick<Exp2>},
    {OpKind::Expm1, &Pick<Expm1>},
    {OpKind::Log, &Pick<Log>},
    {OpKind::Log2, &Pick<Log2>},
    {OpKind::Log1p, &Pick<Log1p>},
    {OpKind::Sin, &Pick<Sin>},
    {OpKind::Cos, &Pick<Cos>},
    {OpKind::Tanh, &Pick<Tanh>},
    {OpKind::Erf, &Pick<Erf>},
    {OpKind::Pow, &Pick<Pow>},
    {OpKind::Rsqrt, &Pick<Rsqrt>},
    {OpKind::Sigmoid, &Pick<Sigmoid>},
};

/// The largest (or smallest) value, infinities included.
template <class T>
uint64_t ExtremePattern(bool largest) {
  if constexpr (Narrow<T>) {
    return ToPattern(NarrowFrom<T>(largest ? INFINITY : -INFINITY));
  } else if constexpr (Wide<T>) {
    return ToPattern(largest ? std::numeric_limits<T>::infinity()
                             : -std::numeric_limits<T>::infinity());
  } else {
    return ToPattern(largest ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min());
  }
}

uint64_t Extreme(Scalar scalar, bool largest) {
  static constexpr uint64_t (*kTable[])(bool) = {
#define KDL_SCALAR(name, spelling, bits, group) &ExtremePattern<CppType<Scalar::name>::Type>,
#include "support/scalars.def"
  };
  return kTable[static_cast<size_t>(scalar)](largest);
}

}  // namespace

EvalFn FindEval(OpKind kind, Scalar operand, Scalar result) {
  if (kind == OpKind::Broadcast || kind == OpKind::Snapshot) return &PassThrough;
  if (kind == OpKind::Select) return &SelectEntry;
  if (kind == OpKind::Cast) return FindCast(operand, result);
  if (kind == OpKind::ToBits) return FindToBits(operand, result);
  if (kind == OpKind::FromBits) return FindFromBits(operand, result);
  const Row* row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row& r) { return r.kind == kind; });
  return row == std::end(kRows) ? nullptr : row->pick(operand);
}

std::optional<uint64_t> Evaluate(OpKind kind, Scalar operand, Scalar result,
                                 const uint64_t* operands) {
  EvalFn eval = FindEval(kind, operand, result);
  if (!eval) return std::nullopt;
  bool division_by_zero = false;
  uint64_t bits = eval(operands, &division_by_zero);
  return division_by_zero ? std::nullopt : std::optional(bits);
}

uint64_t EvaluateCast(Scalar from, Scalar to, uint64_t bits) {
  bool unused = false;
  return FindCast(from, to)(&bits, &unused);
}

uint64_t FoldIdentity(FoldKind fold, Scalar acc) {
  switch (fold) {
    case FoldKind::Sum:
      return 0;
    case FoldKind::Prod:
      return EvaluateCast(Scalar::Bool, acc, 1);
    case FoldKind::Max:
      return Extreme(acc, false);
    case FoldKind::Min:
      return Extreme(acc, true);
    case FoldKind::Any:
      return 0;
    case FoldKind::All:
      return Extreme(Scalar::Bool, true);
  }
  KDL_UNREACHABLE("fold {}", static_cast<int>(fold));
}

OpKind CombineOf(FoldKind fold) {
  static constexpr OpKind kOps[] = {OpKind::Add, OpKind::Mul, OpKind::Max,
                                    OpKind::Min, OpKind::Or,  OpKind::And};
  return kOps[static_cast<size_t>(fold)];
}

EvalFn FindFold(FoldKind fold, Scalar acc) {
  bool logical = fold == FoldKind::Any || fold == FoldKind::All;
  return logical != (acc == Scalar::Bool) ? nullptr : FindEval(CombineOf(fold), acc, acc);
}

EvalFn FindMultiplyAdd(Scalar acc) { return Pick<MultiplyAdd>(acc); }

int64_t Extended(Scalar scalar, uint64_t bits) {
  return static_cast<int64_t>(EvaluateCast(scalar, Scalar::I64, bits));
}

}  // namespace kdl::ir
