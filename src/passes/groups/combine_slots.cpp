#include "passes/groups/combine_slots.h"

#include "ir/eval/eval.h"
#include "ir/groups.h"
#include "passes/rewriting/structured.h"

namespace kdl::passes {

void CombineSlots(ir::Builder& builder, Value* memory, ir::UpdateKind how, Value* count,
                  const ir::AxisList& axes, const std::function<Place(Value*)>& place) {
  Value* one = builder.I64(1);
  LoopBounds levels{builder.I64(0), builder.I64(ir::kMostLevels)};
  MakeLoop(builder, levels, {one}, [&](Value*, const Values& carried) -> Values {
    Value* width = carried[0];
    Value* both = builder.Add(width, width);
    Value* up = builder.Add(count, builder.Sub(width, one));
    LoopBounds pairs{builder.I64(0), builder.Div(up, both)};
    MakeLoop(builder, pairs, [&](Value* pair) {
      Value* left = builder.Mul(pair, both);
      Place to = place(left);
      Place from = place(builder.Add(left, width));
      Value* first = LoadAt(builder, memory, to, axes);
      Value* second = LoadAt(builder, memory, from, axes);
      StoreAt(builder, builder.Binary(ir::CombineOf(how), first, second), memory, to);
    });
    return {both};
  });
}

}  // namespace kdl::passes
