#include <algorithm>

#include "ir/tensor_view.h"
#include "irgen/contract_gen.h"

namespace kdl::irgen {

namespace {

using ir::OpKind;
using ir::Value;

/// The affine map of an index list and the operands that its terms name, each once.
struct AccessGen {
  ir::Access access;
  std::vector<Value*> operands;
  std::vector<ir::AxisId> axes;  ///< of the elements that it selects

  uint32_t OperandNumber(Value* value) {
    auto found = std::find(operands.begin(), operands.end(), value);
    if (found == operands.end()) {
      operands.push_back(value);
      axes = ir::UnionAxes(axes, value->type()->axes);
      return static_cast<uint32_t>(operands.size() - 1);
    }
    return static_cast<uint32_t>(found - operands.begin());
  }
};

AccessGen GenAccess(FunctionGen& gen, const sema::IndexInfo& index) {
  AccessGen result;
  for (const sema::IndexDim& dim : index.dims) {
    ir::AccessDim out{{}, gen.Bound(dim.offset)};
    for (const sema::IndexTerm& term : dim.terms) {
      Value* operand = !term.range    ? GenIndex(gen, term.value)
                       : gen.contract ? gen.values.at(term.range)
                                      : gen.blks.at(term.range);
      out.terms.push_back({gen.Bound(term.coefficient), result.OperandNumber(operand)});
    }
    result.access.dims.push_back(std::move(out));
  }
  return result;
}

std::vector<ir::Attr> AccessAttrs(FunctionGen& gen, AccessGen& access, bool has_else, Span span) {
  ir::EdgeKind edge = has_else ? ir::EdgeKind::Else : ir::EdgeKind::Guard;
  std::vector<ir::Attr> attrs = {ir::MakeAttr<ir::AttrKey::Access>(std::move(access.access)),
                                 ir::MakeAttr<ir::AttrKey::Edge>(edge)};
  if (span.valid()) attrs.push_back(ir::MakeAttr<ir::AttrKey::Text>(gen.TextOf(span)));
  return attrs;
}

std::vector<Value*> Optional(Value* value) {
  return value ? std::vector<Value*>{value} : std::vector<Value*>{};
}

}  // namespace

/// It is made once, where all of the function sees it.
Value* GenTable(FunctionGen& gen, const sema::Entity* table) {
  Value*& value = gen.values[table];
  if (value) return value;
  ir::Block* block = gen.builder.block();
  ir::Op* before = gen.builder.before();
  InsertAtRequirements(gen);
  LocScope loc(gen, table->span);
  ir::Type type = gen.builder.types().Tensor(table->type.scalar, table->type.dims);
  value = gen.builder.Make(ir::OpKind::Table, {}, type,
                           {ir::MakeAttr<ir::AttrKey::Name>(table->name),
                            ir::MakeAttr<ir::AttrKey::Elements>(table->elements)});
  SetName(value, table->name);
  gen.builder.SetInsertionPoint(block, before);
  return value;
}

namespace {

Value* GenTensor(FunctionGen& gen, const sema::IndexInfo& index) {
  bool is_table = index.base->kind == sema::EntityKind::Const;
  return is_table ? GenTable(gen, index.base) : gen.values.at(index.base);
}

/// An `in` parameter, a view of one, or a table.
bool IsReadOnly(const FunctionGen& gen, const Value* tensor) {
  const Value* memory = ir::MemoryOf(tensor);
  if (memory->def()) return memory->def()->kind() == OpKind::Table;
  for (const ir::Param& param : gen.function.params) {
    if (param.value == memory) return param.direction == ir::Direction::In;
  }
  return false;
}

}  // namespace

Value* GenElement(FunctionGen& gen, Value* tensor, const sema::IndexInfo& index, Value* otherwise,
                  Span span) {
  AccessGen access = GenAccess(gen, index);
  return gen.builder
      .Create(OpKind::Load, {{tensor}, access.operands, Optional(otherwise), {}},
              {gen.builder.types().ScalarOf(tensor->type()->scalar)},
              AccessAttrs(gen, access, otherwise, span))
      ->result();
}

void GenElementStore(FunctionGen& gen, Value* value, Value* tensor, const sema::IndexInfo& index) {
  AccessGen access = GenAccess(gen, index);
  gen.builder.Create(OpKind::Store, {{value}, {tensor}, access.operands, {}}, {},
                     AccessAttrs(gen, access, false, {}));
}

Value* GenLoad(FunctionGen& gen, const syntax::IndexExpr& expr) {
  if (gen.contract) return GenContractLoad(gen, expr);
  if (gen.function.kind == ir::FunctionKind::Program) return GenHostLoad(gen, expr);
  const sema::IndexInfo& index = *gen.Info(&expr).index;
  Value* tensor = GenTensor(gen, index);
  AccessGen access = GenAccess(gen, index);
  Value* otherwise = nullptr;
  if (index.otherwise)
    otherwise = Round(gen, GenExpr(gen, index.otherwise), tensor->type()->scalar);
  std::vector<ir::AxisId> axes = access.axes;
  if (otherwise) axes = ir::UnionAxes(axes, otherwise->type()->axes);
  // what cannot trap is read everywhere, unless another block may write it meanwhile
  Value* mask = otherwise && IsReadOnly(gen, tensor) ? nullptr : gen.Mask();
  if (mask) axes = ir::UnionAxes(axes, mask->type()->axes);
  ir::Builder::Segments segments = {{tensor}, access.operands, Optional(otherwise), Optional(mask)};
  ir::Type type = gen.builder.types().Tile(tensor->type()->scalar, std::move(axes));
  return gen.builder
      .Create(OpKind::Load, segments, {type}, AccessAttrs(gen, access, otherwise, expr.span))
      ->result();
}

void GenStore(FunctionGen& gen, const syntax::IndexExpr& target, Value* value, Value* mask) {
  if (gen.function.kind == ir::FunctionKind::Program) return GenHostStore(gen, target, value);
  const sema::IndexInfo& index = *gen.Info(&target).index;
  Value* tensor = gen.values.at(index.base);
  AccessGen access = GenAccess(gen, index);
  Value* stored = Round(gen, value, tensor->type()->scalar);
  ir::Builder::Segments segments = {{stored}, {tensor}, access.operands, Optional(mask)};
  gen.builder.Create(OpKind::Store, segments, {}, AccessAttrs(gen, access, false, target.span));
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
