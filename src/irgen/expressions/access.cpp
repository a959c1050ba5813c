#include "irgen/expressions/access.h"

#include <algorithm>

#include "ir/op_kind.h"
#include "ir/tensor_view.h"
#include "irgen/accesses/elements.h"
#include "irgen/accesses/four_bits.h"
#include "irgen/accesses/slices.h"
#include "irgen/accesses/tile_parts.h"
#include "irgen/contracts/values.h"
#include "irgen/programs/programs.h"
#include "irgen/walk/generate.h"

namespace kdl::irgen {

namespace {

using ir::OpKind;
using ir::Value;

Value* GenTensor(FunctionGen& gen, const sema::IndexInfo& index) {
  bool is_table = index.base->kind == sema::EntityKind::Const;
  return is_table ? GenTable(gen, index.base) : gen.values.at(index.base);
}

/// Returns whether the tensor is an `in` parameter, a view of one, or a table.
bool IsReadOnly(const FunctionGen& gen, const Value* tensor) {
  const Value* memory = ir::MemoryOf(tensor);
  if (memory->def()) return memory->def()->kind() == OpKind::Table;
  for (const ir::Param& param : gen.function.params) {
    if (param.value == memory) return param.direction == ir::Direction::In;
  }
  return false;
}

}  // namespace

Value* GenLoad(FunctionGen& gen, const syntax::IndexExpr& expr) {
  if (gen.contract) return GenContractLoad(gen, expr);
  if (gen.function.kind == ir::FunctionKind::Program) return GenHostLoad(gen, expr);
  const sema::IndexInfo& index = *gen.Info(&expr).index;
  Value* tensor = GenTensor(gen, index);
  if (index.base->type.four_bit)
    return GenFourBitLoad(gen, expr, tensor, GenIndexValue(gen, index.dims.back()));
  AccessGen access = GenAccess(gen, index);
  Value* otherwise = nullptr;
  if (index.otherwise)
    otherwise = Round(gen, GenExpr(gen, index.otherwise), tensor->type()->scalar);
  std::vector<ir::AxisId> axes = access.axes;
  if (otherwise) axes = ir::UnionAxes(axes, otherwise->type()->axes);
  // A load that cannot trap needs no mask, unless another block may write to the element at the same time.
  Value* mask = otherwise && IsReadOnly(gen, tensor) ? nullptr : gen.Mask();
  if (mask) axes = ir::UnionAxes(axes, mask->type()->axes);
  ir::Builder::Segments segments = {{tensor}, access.operands, Optional(otherwise), Optional(mask)};
  ir::Type type = gen.builder.types().Tile(tensor->type()->scalar, std::move(axes));
  return gen.builder
      .Create(OpKind::Load, segments, {type}, AccessAttrs(gen, access, otherwise, expr.span))
      ->result();
}

ir::Op* GenStore(FunctionGen& gen, const syntax::IndexExpr& target, Value* value, Value* mask) {
  if (gen.function.kind == ir::FunctionKind::Program) {
    GenHostStore(gen, target, value);
    return nullptr;
  }
  const sema::IndexInfo& index = *gen.Info(&target).index;
  Value* tensor = gen.values.at(index.base);
  AccessGen access = GenAccess(gen, index);
  Value* stored = Round(gen, value, tensor->type()->scalar);
  ir::Builder::Segments segments = {{stored}, {tensor}, access.operands, Optional(mask)};
  return gen.builder.Create(OpKind::Store, segments, {},
                            AccessAttrs(gen, access, false, target.span));
}

void GenUpdateOf(FunctionGen& gen, const syntax::IndexExpr& target, Value* value, Value* mask,
                 ir::UpdateKind how, ir::ScopeKind scope) {
  const sema::IndexInfo& index = *gen.Info(&target).index;
  Value* tensor = gen.values.at(index.base);
  AccessGen access = GenAccess(gen, index);
  Scalar scalar = tensor->type()->scalar;
  Value* rounded = Round(gen, value, scalar);
  ir::Builder::Segments segments = {{rounded}, {tensor}, access.operands, Optional(mask)};
  std::vector<ir::Attr> attrs = AccessAttrs(gen, access, false, target.span);
  attrs.push_back(ir::MakeAttr<ir::AttrKey::How>(how));
  attrs.push_back(ir::MakeAttr<ir::AttrKey::Scope>(scope));
  gen.builder.Create(OpKind::Update, segments, {}, std::move(attrs));
}

}  // namespace kdl::irgen
