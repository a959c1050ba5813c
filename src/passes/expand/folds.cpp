#include "passes/expand/folds.h"

namespace kdl::passes {

using ir::OpKind;
using ir::Value;

Value* NewLanes(Expander& e, kdl::Scalar scalar, Value* first, Value* others) {
  Value* lanes =
      e.b.Create(OpKind::BufferNew, {}, {e.module.types().Buffer(scalar, {kLanes})})->result();
  MakeLoop(e, e.b.I64(kLanes), {}, [&](Value* lane, const Values&) -> Values {
    e.b.Create(OpKind::BufferStore, {{others}, {lanes}, {lane}}, {});
    return {};
  });
  if (first != others) e.b.Create(OpKind::BufferStore, {{first}, {lanes}, {e.b.I64(0)}}, {});
  return lanes;
}

void UpdateLane(Expander& e, Value* lanes, kdl::Scalar scalar, Value* n,
                const std::function<Value*(Value*)>& step) {
  Value* lane = e.b.Binary(OpKind::And, n, e.b.I64(kLanes - 1));
  Value* old = e.b.Create(OpKind::BufferLoad, {{lanes}, {lane}}, {e.ScalarType(scalar)})->result();
  e.b.Create(OpKind::BufferStore, {{step(old)}, {lanes}, {lane}}, {});
}

Value* FoldLanes(Expander& e, Value* lanes, kdl::Scalar scalar, OpKind combine) {
  auto at = [&](Value* lane) {
    return e.b.Create(OpKind::BufferLoad, {{lanes}, {lane}}, {e.ScalarType(scalar)})->result();
  };
  for (int64_t width = kLanes / 2; width >= 1; width /= 2) {
    MakeLoop(e, e.b.I64(width), {}, [&](Value* lane, const Values&) -> Values {
      Value* low = at(lane);
      Value* high = at(e.b.Binary(OpKind::Add, lane, e.b.I64(width)));
      e.b.Create(OpKind::BufferStore, {{e.b.Binary(combine, low, high)}, {lanes}, {lane}}, {});
      return {};
    });
  }
  return at(e.b.I64(0));
}

void TakeResult(Expander& e, const ir::Op* op, const std::optional<Home>& home,
                const Position& position, Value* value) {
  if (home) {
    StoreElement(e, value, *home, position);
  } else {
    e.scalars[op->result()] = value;
  }
}

}  // namespace kdl::passes
