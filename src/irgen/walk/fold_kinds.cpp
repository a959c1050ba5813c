#include "irgen/walk/fold_kinds.h"

#include <array>

#include "ir/op_kind.h"
#include "support/check.h"

namespace kdl::irgen {

ir::ReductionKind ReductionKindOf(sema::ReduceKind kind) {
  switch (kind) {
    case sema::ReduceKind::Sum:
    case sema::ReduceKind::CumSum:
    case sema::ReduceKind::Mean:
      return ir::ReductionKind::Sum;
    case sema::ReduceKind::Prod:
    case sema::ReduceKind::CumProd:
      return ir::ReductionKind::Prod;
    case sema::ReduceKind::Max:
    case sema::ReduceKind::CumMax:
    case sema::ReduceKind::ArgMax:
      return ir::ReductionKind::Max;
    case sema::ReduceKind::Min:
    case sema::ReduceKind::ArgMin:
      return ir::ReductionKind::Min;
    case sema::ReduceKind::Any:
      return ir::ReductionKind::Any;
    case sema::ReduceKind::All:
      return ir::ReductionKind::All;
    case sema::ReduceKind::Dot:
    case sema::ReduceKind::Reduce:
    case sema::ReduceKind::Scan:
      break;
  }
  KDL_UNREACHABLE("a contraction or a reduction with a fn has no ReductionKind");
}

ir::Value* GenFloatBits(ir::Builder& b, ir::Value* value) {
  Scalar bits = value->type()->scalar == Scalar::F64 ? Scalar::I64 : Scalar::I32;
  return b.Make(ir::OpKind::ToBits, {value}, b.ElementwiseType(bits, std::array{value}));
}

}  // namespace kdl::irgen
