#include "passes/groups/combine_slots.h"

#include "ir/eval/eval.h"
#include "ir/groups.h"
#include "passes/rewriting/structured.h"

namespace kdl::passes {

namespace {

/// Calls `body` to create ops for each pair of the tree, those of the narrowest subtrees first.
void ForEachPair(ir::Builder& builder, Value* count,
                 const std::function<void(const SlotPair&)>& body) {
  Value* one = builder.I64(1);
  LoopBounds levels{builder.I64(0), builder.I64(ir::kMostLevels)};
  MakeLoop(builder, levels, {one}, [&](Value*, const Values& carried) -> Values {
    Value* width = carried[0];
    Value* both = builder.Add(width, width);
    Value* up = builder.Add(count, builder.Sub(width, one));
    LoopBounds pairs{builder.I64(0), builder.Div(up, both)};
    MakeLoop(builder, pairs, [&](Value* pair) {
      Value* left = builder.Mul(pair, both);
      body({left, builder.Add(left, width), width});
    });
    return {both};
  });
}

}  // namespace

void CombineSlots(ir::Builder& builder, Value* memory, ir::UpdateKind how, Value* count,
                  const ir::AxisList& axes, const std::function<Place(Value*)>& place,
                  const std::function<Value*(const SlotPair&)>& condition) {
  ForEachPair(builder, count, [&](const SlotPair& pair) {
    auto combine = [&] {
      Place to = place(pair.left);
      Place from = place(pair.right);
      Value* first = LoadAt(builder, memory, to, axes);
      Value* second = LoadAt(builder, memory, from, axes);
      StoreAt(builder, builder.Binary(ir::CombineOf(how), first, second), memory, to);
    };
    if (condition)
      MakeIf(builder, condition(pair), combine);
    else
      combine();
  });
}

}  // namespace kdl::passes
