#include "irgen/accesses/elements.h"

#include <algorithm>

#include "ir/op_kind.h"
#include "irgen/walk/generate.h"
#include "irgen/walk/sizes.h"

namespace kdl::irgen {

using ir::OpKind;
using ir::Value;

uint32_t AccessGen::OperandNumber(Value* value) {
  auto found = std::find(operands.begin(), operands.end(), value);
  if (found == operands.end()) {
    operands.push_back(value);
    axes = ir::UnionAxes(axes, value->type()->axes);
    return static_cast<uint32_t>(operands.size() - 1);
  }
  return static_cast<uint32_t>(found - operands.begin());
}

AccessGen GenAccess(FunctionGen& gen, const sema::IndexInfo& index) {
  AccessGen result;
  for (const sema::IndexDim& dim : index.dims) {
    ir::AccessDim out{{}, gen.Bound(dim.offset)};
    for (const sema::IndexTerm& term : dim.terms) {
      Value* operand = !term.range    ? GenIndex(gen, term.value)
                       : gen.contract ? gen.values.at(term.range)
                                      : gen.blocks.at(term.range);
      out.terms.push_back({gen.Bound(term.coefficient), result.OperandNumber(operand)});
    }
    result.access.dims.push_back(std::move(out));
  }
  return result;
}

std::vector<ir::Attr> AccessAttrs(FunctionGen& gen, AccessGen& access, bool has_else, Span span) {
  ir::BoundsMode bounds_mode = has_else ? ir::BoundsMode::Else : ir::BoundsMode::Guard;
  std::vector<ir::Attr> attrs = {ir::MakeAttr<ir::AttrKey::Access>(std::move(access.access)),
                                 ir::MakeAttr<ir::AttrKey::BoundsMode>(bounds_mode)};
  if (span.valid()) attrs.push_back(ir::MakeAttr<ir::AttrKey::Text>(gen.QuotedSource(span)));
  return attrs;
}

std::vector<Value*> Optional(Value* value) {
  return value ? std::vector<Value*>{value} : std::vector<Value*>{};
}

/// Returns the tensor of a constant table. Creates it only once, at the start of the function, where all ops
/// of the function can use it.
Value* GenTable(FunctionGen& gen, const sema::Entity* table) {
  Value*& value = gen.values[table];
  if (value) return value;
  ir::Region* region = gen.builder.region();
  ir::Op* before = gen.builder.before();
  InsertAtRequirements(gen);
  LocScope loc(gen, table->span);
  ir::Type type = gen.builder.types().Tensor(table->type.scalar, table->type.dims);
  value = gen.builder.Make(ir::OpKind::Table, {}, type,
                           {ir::MakeAttr<ir::AttrKey::Name>(table->name),
                            ir::MakeAttr<ir::AttrKey::Elements>(table->elements)});
  SetName(value, table->name);
  gen.builder.SetInsertionPoint(region, before);
  return value;
}

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

}  // namespace kdl::irgen
