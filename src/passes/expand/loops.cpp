#include "passes/expand/expander.h"

namespace kdl::passes {

namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

std::vector<ir::Type> TypesOf(const Values& values) {
  std::vector<ir::Type> types;
  for (const Value* value : values) types.push_back(value->type());
  return types;
}

void Fill(Expander& e, ir::Block* region, const std::function<Values()>& make) {
  ir::Block* outer = e.b.block();
  e.b.SetInsertionPoint(region);
  Values values = make();
  e.b.Create(OpKind::Yield, {values}, {});
  e.b.SetInsertionPoint(outer);
}

Values NestFrom(Expander& e, const Op* at, const ir::AxisList& axes, size_t depth,
                Position& position, const Values& carried,
                const std::function<Values(const Values&)>& body) {
  if (depth == axes.size()) return body(carried);
  return MakeLoop(e, e.Facts(at, axes[depth]).size, carried,
                  [&](Value* index, const Values& inner) {
                    position[axes[depth]] = index;
                    return NestFrom(e, at, axes, depth + 1, position, inner, body);
                  });
}

}  // namespace

Values MakeLoop(Expander& e, Value* hi, const Values& inits,
                const std::function<Values(Value*, const Values&)>& body) {
  Op* loop = e.b.Create(OpKind::Loop, {{e.b.I64(0)}, {hi}, {e.b.I64(1)}, inits}, TypesOf(inits));
  Value* index = e.b.AddParam(loop->region(), e.ScalarType(kdl::Scalar::I64), {});
  Values carried;
  for (const Value* init : inits) carried.push_back(e.b.AddParam(loop->region(), init->type(), {}));
  Fill(e, loop->region(), [&] { return body(index, carried); });
  return loop->results();
}

Values MakeNest(Expander& e, const Op* at, const ir::AxisList& axes, Position& position,
                const Values& inits, const std::function<Values(const Values&)>& body) {
  return NestFrom(e, at, axes, 0, position, inits, body);
}

Values MakeIf(Expander& e, Value* condition, const std::vector<ir::Type>& types,
              const std::function<Values()>& then, const std::function<Values()>& otherwise) {
  Op* branch = e.b.Create(OpKind::If, {{condition}}, types);
  Fill(e, branch->region(0), then);
  Fill(e, branch->region(1), otherwise);
  return branch->results();
}

}  // namespace kdl::passes
