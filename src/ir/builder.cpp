#include "ir/builder.h"

#include <algorithm>
#include <array>

#include "ir/comparisons.h"
#include "ir/op_info.h"

namespace kdl::ir {

namespace {

Value* Mapped(const ValueMap& map, Value* value) {
  auto found = map.find(value);
  return found == map.end() ? value : found->second;
}

}  // namespace

Op* Builder::Create(OpKind kind, const Segments& operands, std::vector<Type> results,
                    std::vector<Attr> attrs) {
  const OpInfo& info = Info(kind);
  KDL_CHECK(operands.size() == info.operands.size(), "'{}' needs {} operand groups, got {}",
            info.spelling, info.operands.size(), operands.size());
  Arena& arena = module_.arena();
  Op* op = arena.Make<Op>();
  op->kind_ = kind;
  op->loc_ = loc_;
  for (const std::vector<Value*>& segment : operands) {
    for (Value* value : segment) {
      KDL_CHECK(value, "'{}' has a null operand", info.spelling);
      value->uses_.push_back({op, static_cast<uint32_t>(op->operands_.size())});
      op->operands_.push_back(value);
    }
    op->segment_ends_.push_back(static_cast<uint32_t>(op->operands_.size()));
  }
  for (Type type : results) {
    op->results_.push_back(
        arena.Make<Value>(type, Name(), op, nullptr, static_cast<uint32_t>(op->results_.size())));
  }
  for (Attr& attr : attrs) op->SetAttr(std::move(attr));
  for (int i = 0; i < info.regions; ++i) {
    Region* region = arena.Make<Region>();
    region->parent_ = op;
    region->function_ = region_ ? region_->function() : nullptr;
    op->regions_.push_back(region);
  }
  if (region_) region_->InsertBefore(op, before_);
  return op;
}

Value* Builder::Make(OpKind kind, std::initializer_list<Value*> operands, Type result,
                     std::vector<Attr> attrs) {
  Segments segments;
  for (Value* value : operands) segments.push_back({value});
  segments.resize(Info(kind).operands.size());
  return Create(kind, segments, {result}, std::move(attrs))->result();
}

Value* Builder::Bits(Scalar scalar, uint64_t bits) {
  return Make(OpKind::Const, {}, types().ScalarOf(scalar),
              {MakeAttr<AttrKey::Bits>(static_cast<int64_t>(bits))});
}

Value* Builder::Int(Scalar scalar, int64_t value) {
  uint64_t mask = Bytes(scalar) == 8 ? ~uint64_t{0} : (uint64_t{1} << (Bytes(scalar) * 8)) - 1;
  return Bits(scalar, static_cast<uint64_t>(value) & mask);
}

Value* Builder::Unary(OpKind kind, Value* a) { return Make(kind, {a}, a->type()); }

Value* Builder::Binary(OpKind kind, Value* a, Value* b) {
  KDL_CHECK(a->type()->scalar == b->type()->scalar, "'{}' has operands of types {} and {}",
            Info(kind).spelling, Spelling(a->type()->scalar), Spelling(b->type()->scalar));
  Scalar scalar = IsComparison(kind) ? Scalar::Bool : a->type()->scalar;
  return Make(kind, {a, b}, ElementwiseType(scalar, std::array{a, b}));
}

Value* Builder::Add(Value* a, Value* b) { return Binary(OpKind::Add, a, b); }
Value* Builder::Sub(Value* a, Value* b) { return Binary(OpKind::Sub, a, b); }
Value* Builder::Mul(Value* a, Value* b) { return Binary(OpKind::Mul, a, b); }
Value* Builder::Div(Value* a, Value* b) { return Binary(OpKind::Div, a, b); }
Value* Builder::Rem(Value* a, Value* b) { return Binary(OpKind::Rem, a, b); }
Value* Builder::Min(Value* a, Value* b) { return Binary(OpKind::Min, a, b); }
Value* Builder::Max(Value* a, Value* b) { return Binary(OpKind::Max, a, b); }
Value* Builder::And(Value* a, Value* b) { return Binary(OpKind::And, a, b); }
Value* Builder::Or(Value* a, Value* b) { return Binary(OpKind::Or, a, b); }
Value* Builder::Xor(Value* a, Value* b) { return Binary(OpKind::Xor, a, b); }
Value* Builder::Shr(Value* a, Value* b) { return Binary(OpKind::Shr, a, b); }
Value* Builder::Eq(Value* a, Value* b) { return Binary(OpKind::Eq, a, b); }
Value* Builder::Ne(Value* a, Value* b) { return Binary(OpKind::Ne, a, b); }
Value* Builder::Lt(Value* a, Value* b) { return Binary(OpKind::Lt, a, b); }
Value* Builder::Le(Value* a, Value* b) { return Binary(OpKind::Le, a, b); }
Value* Builder::Gt(Value* a, Value* b) { return Binary(OpKind::Gt, a, b); }
Value* Builder::Ge(Value* a, Value* b) { return Binary(OpKind::Ge, a, b); }
Value* Builder::BlockStart(Value* block) { return Make(OpKind::BlockStart, {block}, I64Type()); }
Value* Builder::BlockSize(Value* block) { return Make(OpKind::BlockSize, {block}, I64Type()); }
Value* Builder::BlockIndex(Value* block) { return Make(OpKind::BlockIndex, {block}, I64Type()); }
Value* Builder::CoreId() { return Make(OpKind::CoreId, {}, I64Type()); }
Value* Builder::CoreNum() { return Make(OpKind::CoreNum, {}, I64Type()); }

Type Builder::ElementwiseType(Scalar scalar, std::span<Value* const> operands) const {
  std::vector<AxisId> axes;
  for (const Value* operand : operands) {
    if (IsVector(operand->type())) return types().Vector(scalar, Lanes(operand->type()));
    axes = UnionAxes(axes, operand->type()->axes);
  }
  return types().Tile(scalar, std::move(axes));
}

Value* Builder::Select(Value* condition, Value* a, Value* b) {
  return Make(OpKind::Select, {condition, a, b},
              ElementwiseType(a->type()->scalar, std::array{condition, a, b}));
}

Value* Builder::Fma(Value* a, Value* b, Value* c) {
  return Make(OpKind::Fma, {a, b, c}, ElementwiseType(a->type()->scalar, std::array{a, b, c}));
}

Value* Builder::Cast(Value* a, Scalar to) {
  if (a->type()->scalar == to) return a;
  return Make(OpKind::Cast, {a}, ElementwiseType(to, std::array{a}));
}

Value* Builder::Splat(Value* a, int64_t lanes) {
  if (lanes == 1 || IsVector(a->type())) return a;
  return Make(OpKind::Splat, {a}, types().Vector(a->type()->scalar, lanes));
}

Value* Builder::Broadcast(Value* a, const std::vector<AxisId>& axes) {
  Type type = types().Tile(a->type()->scalar, axes);
  return a->type() == type ? a : Make(OpKind::Broadcast, {a}, type);
}

Value* Builder::SizeValue(Size size) {
  if (size->kind == SizeKind::Constant) return I64(size->value);
  if (size->kind == SizeKind::Symbol) {
    const Function& function = *region_->function();
    if (Value* dim = function.FindDim(size->symbol)) return dim;
    Type i64 = types().ScalarOf(Scalar::I64);
    if (size->symbol.text() == kCoreNum) return Make(OpKind::CoreNum, {}, i64);
    auto names_it = [&](const Generic& generic) { return generic.name == size->symbol; };
    bool is_generic = std::ranges::any_of(function.generics, names_it);
    KDL_CHECK(is_generic, "'{}' is not a size name of {}", size->symbol.text(),
              function.name.text());
    return Make(OpKind::SizeOf, {}, i64, {MakeAttr<AttrKey::Size>(size)});
  }
  static constexpr OpKind kOps[] = {OpKind::Add, OpKind::Sub, OpKind::Mul,
                                    OpKind::Div, OpKind::Rem, OpKind::Min};
  OpKind kind = kOps[static_cast<int>(size->kind) - static_cast<int>(SizeKind::Add)];
  Value* lhs = SizeValue(size->lhs);
  return Binary(kind, lhs, SizeValue(size->rhs));
}

Value* Builder::AddParam(Region* region, Type type, Name name) {
  Value* value = module_.arena().Make<Value>(type, name, nullptr, region,
                                             static_cast<uint32_t>(region->params_.size()));
  region->params_.push_back(value);
  return value;
}

Op* Clone(const Op* op, Builder& builder, ValueMap& map) {
  Builder::Segments segments;
  for (size_t s = 0; s < op->info().operands.size(); ++s) {
    segments.emplace_back();
    for (Value* value : op->Segment(s)) segments.back().push_back(Mapped(map, value));
  }
  std::vector<Type> types;
  for (Value* result : op->results()) types.push_back(result->type());
  Loc outer = builder.loc();
  builder.set_loc(op->loc());
  Op* copy = builder.Create(op->kind(), segments, std::move(types), op->attrs());
  builder.set_loc(outer);
  for (size_t i = 0; i < op->results().size(); ++i) {
    copy->result(i)->set_name(op->result(i)->name());
    map[op->result(i)] = copy->result(i);
  }
  for (size_t r = 0; r < op->regions().size(); ++r) {
    const Region* from = op->region(r);
    Builder inner(builder.module(), copy->region(r));
    for (Value* param : from->params())
      map[param] = inner.AddParam(copy->region(r), param->type(), param->name());
    for (Op* nested : *from) Clone(nested, inner, map);
  }
  return copy;
}

void CloneBody(const Region* from, Builder& builder, ValueMap& map) {
  for (Op* op : *from) {
    if (!op->info().has(kTerminator)) Clone(op, builder, map);
  }
}

Function* CloneFunction(const Function& function, Module& module, Name name) {
  Function* copy = module.AddFunction(function.kind, name);
  Region* body = copy->body;
  *copy = function;
  copy->name = name;
  copy->body = body;
  Builder builder(module, body);
  ValueMap map;
  for (Value* param : function.body->params())
    map[param] = builder.AddParam(body, param->type(), param->name());
  for (Param& param : copy->params) param.value = map.at(param.value);
  for (Op* op : *function.body) Clone(op, builder, map);
  return copy;
}

}  // namespace kdl::ir
