#include "passes/rewriting/structured.h"

#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"

namespace kdl::passes {

void FillRegion(ir::Builder& b, ir::Region* region, const std::function<Values()>& make) {
  ir::Region* outer = b.region();
  Op* before = b.before();
  b.SetInsertionPoint(region);
  Values values = make();
  b.Create(OpKind::Yield, {values}, {});
  b.SetInsertionPoint(outer, before);
}

Values MakeLoop(ir::Builder& b, const LoopBounds& bounds, const Values& inits,
                const std::function<Values(Value*, const Values&)>& body) {
  Value* step = b.I64(bounds.step);
  Op* loop = b.Create(OpKind::Loop, {{bounds.lo}, {bounds.hi}, {step}, inits}, TypesOf(inits));
  if (bounds.unroll > 1) loop->SetAttr(ir::MakeAttr<ir::AttrKey::Unroll>(bounds.unroll));
  Value* index = b.AddParam(loop->region(), b.I64Type(), {});
  Values carried;
  for (const Value* init : inits) carried.push_back(b.AddParam(loop->region(), init->type(), {}));
  FillRegion(b, loop->region(), [&] { return body(index, carried); });
  return loop->results();
}

namespace {

/// Converts a function without a result to one that returns an empty list of values.
std::function<Values()> Giving(const std::function<void()>& make) {
  return [&make]() -> Values {
    make();
    return {};
  };
}

Op* LoopWithout(ir::Builder& b, const LoopBounds& bounds, const std::function<void(Value*)>& body) {
  Value* step = b.I64(bounds.step);
  Op* loop = b.Create(OpKind::Loop, {{bounds.lo}, {bounds.hi}, {step}, {}}, {});
  Value* index = b.AddParam(loop->region(), b.I64Type(), {});
  FillRegion(b, loop->region(), Giving([&] { body(index); }));
  return loop;
}

}  // namespace

void MakeLoop(ir::Builder& b, const LoopBounds& bounds, const std::function<void(Value*)>& body) {
  LoopWithout(b, bounds, body);
}

void MakeLoops(ir::Builder& b, const Values& sizes,
               const std::function<void(const Values&)>& body) {
  const std::function<void(const Values&)> elementwise = [&](const Values& place) {
    if (place.size() == sizes.size()) return body(place);
    Value* zero = b.I64(0);
    MakeLoop(b, {zero, sizes[place.size()]}, [&](Value* index) {
      Values deeper = place;
      deeper.push_back(index);
      elementwise(deeper);
    });
  };
  elementwise({});
}

void MakeWorkgroupLoop(ir::Builder& b, const LoopBounds& bounds,
                       const std::function<void(Value*)>& body) {
  LoopWithout(b, bounds, body)->SetAttr(ir::MakeAttr<AttrKey::Threads>(1));
}

void OnFirstThread(ir::Builder& b, const std::function<void()>& effect) {
  Value* zero = b.I64(0);
  Value* one = b.I64(1);
  MakeWorkgroupLoop(b, {zero, one}, [&](Value*) { effect(); });
}

Values MakeIf(ir::Builder& b, Value* condition, const std::vector<ir::Type>& types,
              const std::function<Values()>& then, const std::function<Values()>& otherwise) {
  Op* branch = b.Create(OpKind::If, {{condition}}, types);
  FillRegion(b, branch->region(0), then);
  FillRegion(b, branch->region(1), otherwise);
  return branch->results();
}

void MakeIf(ir::Builder& b, Value* condition, const std::function<void()>& then,
            const std::function<void()>& otherwise) {
  MakeIf(b, condition, {}, Giving(then), Giving(otherwise));
}

Op* MakeBranch(ir::Builder& b, Value* condition) {
  Op* branch = b.Create(OpKind::If, {{condition}}, {});
  for (ir::Region* region : branch->regions()) FillRegion(b, region, [] { return Values(); });
  return branch;
}

}  // namespace kdl::passes
