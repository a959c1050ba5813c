#include "irgen/stages/pipes.h"

#include "ir/op_kind.h"
#include "irgen/accesses/elements.h"
#include "irgen/walk/generate.h"

// Generates stages, which run concurrently, and the pipes that connect them.

namespace kdl::irgen {

namespace {

using ir::AttrKey;
using ir::OpKind;
using ir::Value;

/// Returns the axes of the tile in the order of the pipe's dimensions, not in sorted order.
ir::AxisList Positions(FunctionGen& gen, const sema::PipeInfo& access) {
  ir::AxisList axes;
  for (const sema::Entity* range : access.ranges) axes.push_back(gen.RangeAxis(range));
  return axes;
}

std::vector<ir::Attr> AccessAttrs(FunctionGen& gen, const sema::PipeInfo& access, Span span) {
  return {ir::MakeAttr<AttrKey::Axes>(Positions(gen, access)),
          ir::MakeAttr<AttrKey::Text>(gen.QuotedSource(span))};
}

}  // namespace

void GenPipe(FunctionGen& gen, const sema::Entity* pipe) {
  ir::Type type = gen.builder.types().Pipe(pipe->type.scalar, pipe->type.dims);
  ir::Op* op = gen.builder.Create(
      OpKind::Pipe, {{}}, {type},
      {ir::MakeAttr<AttrKey::Name>(pipe->name), ir::MakeAttr<AttrKey::Depth>(pipe->depth)});
  op->result()->set_name(pipe->name);
  gen.values[pipe] = op->result();
}

void GenStage(FunctionGen& gen, const syntax::StageStmt& stage) {
  ir::Op* op =
      gen.builder.Create(OpKind::Stage, {}, {}, {ir::MakeAttr<AttrKey::Name>(stage.name.name)});
  gen.builder.SetInsertionPoint(op->region());
  GenBlock(gen, *stage.body);
  gen.builder.Create(OpKind::Yield, {{}}, {});
  gen.builder.SetInsertionPoint(op->parent_region());
}

void GenPush(FunctionGen& gen, const sema::PipeInfo& push, Span span) {
  Value* pipe = gen.values.at(push.pipe);
  Value* tile = Round(gen, GenExpr(gen, push.tile), pipe->type()->scalar);
  gen.builder.Create(OpKind::Push, {{tile}, {pipe}}, {}, AccessAttrs(gen, push, span));
}

Value* GenPop(FunctionGen& gen, const sema::PipeInfo& pop, Span span) {
  Value* pipe = gen.values.at(pop.pipe);
  std::vector<ir::AxisId> axes;
  for (ir::AxisId axis : Positions(gen, pop)) axes = ir::UnionAxes(axes, {axis});
  ir::Type type = gen.builder.types().Tile(pipe->type()->scalar, std::move(axes));
  return gen.builder.Create(OpKind::Pop, {{pipe}}, {type}, AccessAttrs(gen, pop, span))->result();
}

}  // namespace kdl::irgen
