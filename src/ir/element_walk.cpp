#include "ir/element_walk.h"

#include <algorithm>

#include "ir/op_kind.h"

namespace kdl::ir {

namespace {

constexpr int64_t kBlock = 512;

AxisId AddAxis(Builder& builder, Function& kernel, Size size) {
  int64_t extent = IsConstant(size) ? std::clamp<int64_t>(size->value, 1, kBlock) : kBlock;
  Name name = builder.module().context().names.Intern("element");
  return kernel.AddAxis({name, builder.types().sizes().Constant(extent), size, {}});
}

/// Returns the type of the loop variable for a dimension: a block for the last dimension, otherwise a scalar.
Type BinderType(Builder& builder, Function& kernel, Type tensor, size_t dim) {
  if (dim + 1 < tensor->dims.size()) return builder.types().ScalarOf(Scalar::I64);
  return builder.types().Block(AddAxis(builder, kernel, tensor->dims[dim]));
}

void Bind(ElementWalk& walk, Builder& builder, Value* binder) {
  Size one = builder.types().sizes().Constant(1);
  Size zero = builder.types().sizes().Constant(0);
  walk.access.dims.push_back({{{one, static_cast<uint32_t>(walk.index.size())}}, zero});
  walk.index.push_back(binder);
  walk.axes = UnionAxes(walk.axes, binder->type()->axes);
}

}  // namespace

ElementWalk MakeElementSpmd(Builder& builder, Function& kernel, Type tensor,
                            const GivenBinders& given) {
  ElementWalk walk;
  std::vector<Value*> bounds = given.bounds;
  std::vector<Type> types = given.types;
  std::vector<size_t> binder_of(tensor->dims.size());
  for (size_t d = 0; d < tensor->dims.size(); ++d) {
    bool is_given = !given.of_dim.empty() && given.of_dim[d];
    binder_of[d] = is_given ? *given.of_dim[d] : types.size();
    if (is_given) continue;
    bounds.push_back(builder.I64(0));
    bounds.push_back(builder.SizeValue(tensor->dims[d]));
    types.push_back(BinderType(builder, kernel, tensor, d));
  }
  if (types.empty()) {  // the only element of a tensor without dimensions
    bounds = {builder.I64(0), builder.I64(1)};
    types.push_back(builder.types().ScalarOf(Scalar::I64));
  }
  walk.op = builder.Create(OpKind::Spmd, {bounds}, {},
                           {MakeAttr<AttrKey::Distribute>(DistributionKind::Static)});
  for (Type type : types) builder.AddParam(walk.op->region(), type, {});
  for (size_t b : binder_of) Bind(walk, builder, walk.op->region()->param(b));
  builder.SetInsertionPoint(walk.op->region());
  return walk;
}

ElementWalk MakeElementLoops(Builder& builder, Function& kernel, Type tensor,
                             const std::vector<Value*>& given) {
  ElementWalk walk;
  for (size_t d = 0; d < tensor->dims.size(); ++d) {
    if (!given.empty() && given[d]) {
      Bind(walk, builder, given[d]);
      continue;
    }
    if (walk.op) {
      Op* end = builder.Create(OpKind::Yield, {{}}, {});
      builder.SetInsertionPoint(end);
    }
    Type type = BinderType(builder, kernel, tensor, d);
    Value* lo = builder.I64(0);
    Value* hi = builder.SizeValue(tensor->dims[d]);
    bool blocks = type->kind == TypeKind::Block;
    Op* loop = blocks ? builder.Create(OpKind::For, {{lo}, {hi}, {}}, {})
                      : builder.Create(OpKind::Loop, {{lo}, {hi}, {builder.I64(1)}, {}}, {});
    Bind(walk, builder, builder.AddParam(loop->region(), type, {}));
    if (!walk.op) walk.op = loop;
    builder.SetInsertionPoint(loop->region());
  }
  return walk;
}

}  // namespace kdl::ir
