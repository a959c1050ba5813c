#include "ir/element_walk.h"

#include <algorithm>
#include <utility>

#include "support/check.h"

namespace kdl::ir {

namespace {

constexpr int64_t kBlock = 512;

AxisId AddAxis(Builder& builder, Function& kernel, Size size) {
  int64_t extent = IsConstant(size) ? std::clamp<int64_t>(size->value, 1, kBlock) : kBlock;
  Name name = builder.module().context().names.Intern("element");
  return kernel.AddAxis({name, builder.types().sizes().Constant(extent), size, {}});
}

/// A binder for each dimension: scalars, and a blk for the last.
std::vector<Type> BinderTypes(Builder& builder, Function& kernel, Type tensor) {
  std::vector<Type> types(tensor->dims.size(), builder.types().ScalarOf(Scalar::I64));
  KDL_CHECK(!types.empty(), "a tensor without dimensions is walked");
  types.back() = builder.types().Blk(AddAxis(builder, kernel, tensor->dims.back()));
  return types;
}

void Bind(ElementWalk& walk, Builder& builder, Value* binder) {
  Size one = builder.types().sizes().Constant(1);
  Size zero = builder.types().sizes().Constant(0);
  walk.access.dims.push_back({{{one, static_cast<uint32_t>(walk.index.size())}}, zero});
  walk.index.push_back(binder);
  if (binder->type()->kind == TypeKind::Blk) walk.axes = binder->type()->axes;
}

}  // namespace

ElementWalk MakeElementSpmd(Builder& builder, Function& kernel, Type tensor) {
  ElementWalk walk;
  std::vector<Value*> bounds;
  for (Size dim : tensor->dims) {
    bounds.push_back(builder.I64(0));
    bounds.push_back(builder.SizeValue(dim));
  }
  walk.op = builder.Create(OpKind::Spmd, {bounds}, {}, {MakeAttr<AttrKey::Deal>(DealKind::Static)});
  for (Type type : BinderTypes(builder, kernel, tensor))
    Bind(walk, builder, builder.AddParam(walk.op->region(), type, {}));
  builder.SetInsertionPoint(walk.op->region());
  return walk;
}

ElementWalk MakeElementLoops(Builder& builder, Function& kernel, Type tensor) {
  ElementWalk walk;
  std::vector<Type> types = BinderTypes(builder, kernel, tensor);
  for (size_t d = 0; d < types.size(); ++d) {
    Value* lo = builder.I64(0);
    Value* hi = builder.SizeValue(tensor->dims[d]);
    bool blocks = types[d]->kind == TypeKind::Blk;
    Op* loop = blocks ? builder.Create(OpKind::For, {{lo}, {hi}, {}}, {})
                      : builder.Create(OpKind::Loop, {{lo}, {hi}, {builder.I64(1)}, {}}, {});
    Bind(walk, builder, builder.AddParam(loop->region(), types[d], {}));
    if (!walk.op) walk.op = loop;
    builder.SetInsertionPoint(loop->region());
    if (blocks) continue;
    Op* end = builder.Create(OpKind::Yield, {{}}, {});
    builder.SetInsertionPoint(end);
  }
  return walk;
}

}  // namespace kdl::ir
