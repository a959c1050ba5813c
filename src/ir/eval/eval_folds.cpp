#include "ir/eval/eval.h"
#include "ir/eval/eval_types.h"
#include "ir/op_kind.h"
#include "support/check.h"

namespace kdl::ir {

namespace {

/// Returns the largest (or smallest) value of T, which may be an infinity.
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
  static constexpr auto kTable =
      ByScalar([]<Scalar each>() { return &ExtremePattern<typename CppType<each>::Type>; });
  return kTable[static_cast<size_t>(scalar)](largest);
}

}  // namespace

uint64_t FoldIdentity(ReductionKind fold, Scalar acc) {
  switch (fold) {
    case ReductionKind::Sum:
      return 0;
    case ReductionKind::Prod:
      return EvaluateCast(Scalar::Bool, acc, 1);
    case ReductionKind::Max:
      return Extreme(acc, false);
    case ReductionKind::Min:
      return Extreme(acc, true);
    case ReductionKind::Any:
      return 0;
    case ReductionKind::All:
      return Extreme(Scalar::Bool, true);
  }
  KDL_UNREACHABLE("unknown reduction {}", static_cast<int>(fold));
}

OpKind CombineOf(ReductionKind fold) {
  static constexpr OpKind kOps[] = {OpKind::Add, OpKind::Mul, OpKind::Max,
                                    OpKind::Min, OpKind::Or,  OpKind::And};
  return kOps[static_cast<size_t>(fold)];
}

OpKind CombineOf(UpdateKind how) {
  static constexpr OpKind kOps[] = {OpKind::Const, OpKind::Add, OpKind::Max, OpKind::Min,
                                    OpKind::And,   OpKind::Or,  OpKind::Xor, OpKind::Mul};
  static_assert(std::size(kOps) == kUpdateKinds);
  return kOps[static_cast<size_t>(how)];
}

uint64_t UpdateIdentity(UpdateKind how, Scalar acc) {
  switch (how) {
    case UpdateKind::Max:
      return FoldIdentity(ReductionKind::Max, acc);
    case UpdateKind::Min:
      return FoldIdentity(ReductionKind::Min, acc);
    case UpdateKind::Mul:
      return FoldIdentity(ReductionKind::Prod, acc);
    case UpdateKind::And:
      return EvaluateCast(Scalar::I64, acc, ~uint64_t{0});
    default:
      return FoldIdentity(ReductionKind::Sum, acc);
  }
}

EvalFn FindFold(ReductionKind fold, Scalar acc) {
  bool logical = fold == ReductionKind::Any || fold == ReductionKind::All;
  return logical != (acc == Scalar::Bool) ? nullptr : FindEval(CombineOf(fold), acc, acc);
}

}  // namespace kdl::ir
