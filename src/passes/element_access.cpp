#include "passes/element_access.h"

namespace kdl::passes {

using ir::AttrKey;
using ir::OpKind;
using ir::Value;

Value* IndexValue(ir::Builder& b, const ir::AccessDim& dim, std::span<Value* const> index) {
  Value* sum = nullptr;
  for (const ir::AccessTerm& term : dim.terms) {
    Value* part = index[term.operand];
    if (!IsConstant(term.coefficient, 1))
      part = b.Binary(OpKind::Mul, part, b.SizeValue(term.coefficient));
    sum = sum ? b.Binary(OpKind::Add, sum, part) : part;
  }
  if (!sum) return b.SizeValue(dim.offset);
  return IsConstant(dim.offset, 0) ? sum : b.Binary(OpKind::Add, sum, b.SizeValue(dim.offset));
}

size_t LeadingDims(const ir::Op* access) {
  bool has = access->HasAttr(AttrKey::Leading);
  return has ? static_cast<size_t>(access->attr<AttrKey::Leading>()) : 0;
}

void MakeCheck(ir::Builder& b, const ir::Op* access, size_t dim, Value* index, Value* bound) {
  b.Create(OpKind::Check, {{index}, {bound}}, {},
           {ir::MakeAttr<AttrKey::Dimension>(static_cast<int64_t>(dim - LeadingDims(access))),
            ir::MakeAttr<AttrKey::Text>(access->attr<AttrKey::Text>())});
}

Value* AndInside(ir::Builder& b, Value* inside, Value* index, Value* bound) {
  inside = b.Binary(OpKind::And, inside, b.Binary(OpKind::Ge, index, b.I64(0)));
  return b.Binary(OpKind::And, inside, b.Binary(OpKind::Lt, index, bound));
}

std::vector<ir::Attr> ProvenAttrs(const ir::Op* access) {
  return {ir::MakeAttr<AttrKey::Access>(access->attr<AttrKey::Access>()),
          ir::MakeAttr<AttrKey::Edge>(ir::EdgeKind::Proven)};
}

Value* Updated(ir::Builder& b, ir::UpdateKind how, Value* element, Value* value) {
  static constexpr OpKind kOps[] = {OpKind::Const, OpKind::Add, OpKind::Max, OpKind::Min,
                                    OpKind::And,   OpKind::Or,  OpKind::Xor};
  if (how == ir::UpdateKind::Set) return value;
  Scalar scalar = value->type()->scalar;
  Scalar wide = IsNarrowFloat(scalar) ? Scalar::F32 : scalar;
  Value* before = b.Cast(element, wide);
  Value* operand = b.Cast(value, wide);
  return b.Cast(b.Binary(kOps[static_cast<size_t>(how)], before, operand), scalar);
}

bool IsOfLaunch(const ir::Op* update) {
  return update->attr<AttrKey::Scope>() == ir::ScopeKind::Launch;
}

void MakeLaunchUpdate(ir::Builder& b, const ir::Op* access, Value* value, Value* tensor,
                      const std::vector<Value*>& index) {
  std::vector<ir::Attr> attrs = ProvenAttrs(access);
  attrs.push_back(ir::MakeAttr<AttrKey::How>(access->attr<AttrKey::How>()));
  attrs.push_back(ir::MakeAttr<AttrKey::Scope>(ir::ScopeKind::Launch));
  b.Create(OpKind::Update, {{value}, {tensor}, index, {}}, {}, std::move(attrs));
}

}  // namespace kdl::passes
