#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"
#include "support/check.h"
#include "targets/cpu/expand/elementwise_body.h"

// Loads whose index grows by 1 every few points, as in enlarged images, where adjacent points share elements. A chunk may
// begin at any of these points. So every second point is loaded as one short vector, and the others as another one:
//
//   %e = load %x[%j / 2]        the same for %x[%j / 2 + 2 * (%j % 2) - 1]
//   ->
//   %a = load %x[%first / 2] : vec<f32 x 4> ; %b = load %x[(%first + 1) / 2] : vec<f32 x 4>
//   %e = zip %a, %b : vec<f32 x 8>

namespace kdl::cpu {

void ElementwiseLoopBody::ExpandRepeated(Op* op, int64_t repeats) {
  KDL_CHECK(!chunk_.mask, "a load is masked whose elements are repeated {} times", repeats);
  Values rows;
  for (int64_t ahead = 0; ahead < repeats; ++ahead) {
    ElementAccess access{op,      e_.Scalar(TensorOf(op)), {}, nullptr,
                         nullptr, {chunk_.lanes / repeats}};
    for (Value* index : IndexOf(op)) access.index.push_back(AtPoint(index, ahead));
    rows.push_back(ExpandLoad(e_.b, access));
  }
  ir::Type type = e_.VectorType(op->result()->type()->scalar, chunk_.lanes);
  map_[op->result()] = Permuted(MakeOne(e_.b, OpKind::Zip, {rows}, type));
}

}  // namespace kdl::cpu
