#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/expand/expander.h"

// Emits prefetches, and computes how far an access is from the next aligned address.

namespace kdl::cpu {

void ExpandPrefetch(Expander& e, const ElementAccess& narrow, ir::IntentKind intent) {
  ElementAccess access = Widened(e.b, narrow);
  e.b.Create(OpKind::Prefetch, {{access.tensor}, access.index}, {},
             {ir::MakeAttr<AttrKey::Access>(access.op->attr<AttrKey::Access>()),
              ir::MakeAttr<AttrKey::Intent>(intent)});
}

Value* AlignGap(Expander& e, const ElementAccess& narrow) {
  ElementAccess access = Widened(e.b, narrow);
  return MakeOne(e.b, OpKind::AlignGap, {{access.tensor}, access.index}, e.ScalarType(Scalar::I64),
                 {ir::MakeAttr<AttrKey::Access>(access.op->attr<AttrKey::Access>()),
                  ir::MakeAttr<AttrKey::Lanes>(access.chunk.lanes)});
}

}  // namespace kdl::cpu
