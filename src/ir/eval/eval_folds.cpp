#include "ir/eval/eval.h"
#include "ir/eval/eval_types.h"
#include "ir/op_kind.h"
#include "support/check.h"

namespace kdl::ir {

namespace {

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
  static constexpr auto kTable =
      ByScalar([]<Scalar each>() { return &ExtremePattern<typename CppType<each>::Type>; });
  return kTable[static_cast<size_t>(scalar)](largest);
}

}  // namespace

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

OpKind CombineOf(UpdateKind how) {
  static constexpr OpKind kOps[] = {OpKind::Const, OpKind::Add, OpKind::Max, OpKind::Min,
                                    OpKind::And,   OpKind::Or,  OpKind::Xor, OpKind::Mul};
  static_assert(std::size(kOps) == kUpdateKinds);
  return kOps[static_cast<size_t>(how)];
}

uint64_t UpdateIdentity(UpdateKind how, Scalar acc) {
  switch (how) {
    case UpdateKind::Max:
      return FoldIdentity(FoldKind::Max, acc);
    case UpdateKind::Min:
      return FoldIdentity(FoldKind::Min, acc);
    case UpdateKind::Mul:
      return FoldIdentity(FoldKind::Prod, acc);
    case UpdateKind::And:
      return EvaluateCast(Scalar::I64, acc, ~uint64_t{0});
    default:
      return FoldIdentity(FoldKind::Sum, acc);
  }
}

EvalFn FindFold(FoldKind fold, Scalar acc) {
  bool logical = fold == FoldKind::Any || fold == FoldKind::All;
  return logical != (acc == Scalar::Bool) ? nullptr : FindEval(CombineOf(fold), acc, acc);
}

}  // namespace kdl::ir
