#include "irgen/contracts/carry_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "ir/eval/bound.h"
#include "ir/op_info.h"
#include "ir/views.h"
#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

bool IsReal(const Value* value) {
  return value->type()->kind == ir::TypeKind::Tile && value->type()->scalar == Scalar::F64;
}

void AddSymbols(Size size, std::vector<Name>& names) {
  if (!size) return;
  bool is_new = size->kind == SizeKind::Symbol &&
                std::find(names.begin(), names.end(), size->symbol) == names.end();
  if (is_new) names.push_back(size->symbol);
  AddSymbols(size->lhs, names);
  AddSymbols(size->rhs, names);
}

/// Returns the size names that the function uses, in order of first use.
std::vector<Name> SizeNamesOf(const ir::Function& function) {
  std::vector<Name> names;
  for (const ir::Param& param : function.params) {
    for (Size dim : param.value->type()->dims) AddSymbols(dim, names);
  }
  ir::Walk(function.body, [&](const Op* op) {
    if (op->kind() == OpKind::SizeOf) AddSymbols(op->attr<AttrKey::Size>(), names);
    if (!op->HasAttr(AttrKey::Access)) return;
    for (const ir::AccessDim& dim : op->attr<AttrKey::Access>().dims) {
      AddSymbols(dim.offset, names);
      for (const ir::AccessTerm& term : dim.terms) AddSymbols(term.coefficient, names);
    }
  });
  return names;
}

class Carrier {
 public:
  Carrier(const ir::Clause& clause, std::optional<size_t> value, ir::Module& module)
      : from_(*clause.function),
        params_(clause.params),
        value_(value),
        to_(*module.AddFunction(ir::FunctionKind::Contract, from_.name)),
        constants_(module, to_.body),
        builder_(module, to_.body) {}

  ir::Function* CopyFunction(std::vector<ir::ContractParam>& params) {
    to_.loc = from_.loc;
    for (Name name : SizeNamesOf(from_)) {
      to_.dims.push_back(name);
      builder_.AddParam(to_.body, builder_.I64Type(), name);
    }
    for (size_t i = 0; i < from_.params.size(); ++i) AddParam(from_.params[i], params_[i], params);
    CopyRegion(from_.body);
    DropUnused(to_.body);
    return &to_;
  }

 private:
  /// Copies a parameter. A tensor of computed f64 elements gets a second parameter, for the error bounds of
  /// the elements.
  void AddParam(const ir::Param& param, ir::ContractParam what,
                std::vector<ir::ContractParam>& params) {
    const Value* from = param.value;
    Value* value = builder_.AddParam(to_.body, from->type(), from->name());
    map_[from] = value;
    to_.params.push_back({value, param.direction});
    params.push_back(what);
    bool computed = what.input >= ir::ContractInput::Auxiliary;
    if (!value_ || !computed || from->type()->scalar != Scalar::F64) return;
    Name name =
        builder_.module().context().names.Intern(fmt::format("{}.bound", from->name().text()));
    bounds_[from] = builder_.AddParam(to_.body, from->type(), name);
    to_.params.push_back({bounds_[from], param.direction});
    what.bound = true;
    params.push_back(what);
  }

  Value* CopyOf(const Value* value) const { return map_.at(value); }
  /// Returns the error bound of a value, or null if the bound is 0.
  Value* BoundOf(const Value* value) const {
    auto known = bounds_.find(value);
    return known == bounds_.end() ? nullptr : known->second;
  }
  Value* BoundOrZero(const Value* value) {
    Value* bound = BoundOf(value);
    return bound ? bound : Constant(builder_.types().ScalarOf(Scalar::F64), 0);
  }

  /// Returns a constant. It is created at the start of the function, so that loops do not create it in each
  /// iteration.
  Value* Constant(ir::Type type, uint64_t bits) {
    Value*& known = known_[{type, bits}];
    if (!known) {
      constants_.SetInsertionPoint(to_.body, first_);
      known = constants_.Bits(type->scalar, bits);
    }
    return known;
  }

  /// Returns the copies of the values, followed by the error bounds of those that have one.
  std::vector<Value*> Both(std::span<Value* const> values) {
    std::vector<Value*> both;
    for (const Value* value : values) both.push_back(CopyOf(value));
    for (const Value* value : values) {
      if (value_ && IsReal(value)) both.push_back(BoundOrZero(value));
    }
    return both;
  }
  void BindBoth(const std::vector<Value*>& from, size_t first, const std::vector<Value*>& to) {
    size_t next = from.size();
    for (size_t i = 0; i < from.size(); ++i) {
      map_[from[i]] = to[i];
      to[i]->set_name(from[i]->name());
    }
    for (size_t i = first; i < from.size(); ++i) {
      if (value_ && IsReal(from[i])) bounds_[from[i]] = to[next++];
    }
  }

  void CopyRegion(const ir::Region* region) {
    for (const Op* op : *region) {
      builder_.set_loc(op->loc());
      Copy(op);
    }
  }

  void Copy(const Op* op) {
    switch (op->kind()) {
      case OpKind::SizeOf:
        map_[op->result()] = builder_.Cast(builder_.SizeValue(op->attr<AttrKey::Size>()),
                                           op->result()->type()->scalar);
        return;
      case OpKind::Const:
        map_[op->result()] =
            Constant(op->result()->type(), static_cast<uint64_t>(op->attr<AttrKey::Bits>()));
        return;
      case OpKind::Loop:
      case OpKind::While:
      case OpKind::If:
        return CopyRegions(op);
      case OpKind::Yield:
        builder_.Create(OpKind::Yield, {Both(op->operands())}, {});
        return;
      case OpKind::Return:
        return CopyReturn(op);
      default:
        break;
    }
    Op* copy = ir::Clone(op, builder_, map_);
    if (!first_ && copy->parent_region() == to_.body) first_ = to_.body->first();
    if (value_) AddBound(op, copy);
  }

  void CopyRegions(const Op* op) {
    // The number of region parameters that are not carried values.
    size_t own = op->kind() == OpKind::Loop ? 1 : 0;
    size_t inits = op->kind() == OpKind::Loop ? size_t{ir::LoopOp::at_inits} : 0;
    ir::Builder::Segments segments;
    for (size_t s = 0; s < op->info().operands.size(); ++s) {
      segments.emplace_back();
      for (const Value* value : op->Segment(s)) segments.back().push_back(CopyOf(value));
    }
    if (op->kind() != OpKind::If) segments[inits] = Both(op->Segment(inits));
    std::vector<ir::Type> types;
    for (const Value* result : op->results()) types.push_back(result->type());
    for (const Value* result : op->results()) {
      if (value_ && IsReal(result)) types.push_back(result->type());
    }
    Op* copy = builder_.Create(op->kind(), segments, types, op->attrs());
    if (copy->parent_region() == to_.body && !first_) first_ = to_.body->first();
    for (size_t r = 0; r < op->regions().size(); ++r) {
      const ir::Region* region = op->region(r);
      builder_.SetInsertionPoint(copy->region(r));
      std::vector<Value*> params;
      for (size_t i = 0; i < own; ++i)
        params.push_back(builder_.AddParam(copy->region(r), region->param(i)->type(), Name()));
      if (op->kind() != OpKind::If) {
        for (ir::Type type : types) params.push_back(builder_.AddParam(copy->region(r), type, {}));
      }
      BindBoth(region->params(), own, params);
      if (op->HasAttr(AttrKey::Reduction)) sums_.insert(region->param(own));
      CopyRegion(region);
    }
    builder_.SetInsertionPoint(copy->parent_region());
    BindBoth(op->results(), 0, copy->results());
  }

  void CopyReturn(const Op* op) {
    std::vector<Value*> values;
    for (size_t i = 0; i < op->operands().size(); ++i) {
      values.push_back(CopyOf(op->operand(i)));
      if (value_ == i) values.push_back(BoundOrZero(op->operand(i)));
    }
    for (const Value* value : values) to_.results.push_back(value->type());
    builder_.Create(OpKind::Return, {values}, {});
  }

  void AddBound(const Op* op, Op* copy) {
    if (op->kind() == OpKind::Store) return StoreBound(op, copy);
    if (op->results().size() != 1 || !IsReal(op->result())) return;
    const Value* result = op->result();
    if (op->kind() == OpKind::Load) {
      if (BoundOf(op->operand(0))) bounds_[result] = Twin(copy, op)->result();
    } else if (op->kind() == OpKind::Select) {
      if (!BoundOf(op->operand(1)) && !BoundOf(op->operand(2))) return;
      bounds_[result] = builder_.Select(CopyOf(op->operand(0)), BoundOrZero(op->operand(1)),
                                        BoundOrZero(op->operand(2)));
    } else if (op->kind() == OpKind::Cast) {
      Scalar scalar = op->operand(0)->type()->scalar;
      if (IsInteger(scalar)) bounds_[result] = Bound(OpKind::Cast, copy->result(), {});
    } else if (sums_.contains(op->operands().empty() ? nullptr : op->operand(0))) {
      bounds_[result] = SumBound(op);
    } else if (ir::FindBound(op->kind())) {
      bounds_[result] = Bound(op->kind(), copy->result(), op->operands());
      if (!bounds_[result]) bounds_.erase(result);
    }
  }

  /// Creates an access to the error bounds of the elements that `op` accesses.
  Op* Twin(Op* copy, const Op* op) {
    size_t tensor = op->kind() == OpKind::Store ? size_t{ir::StoreOp::at_tensor} : 0;
    ir::ValueMap same;
    Op* twin = ir::Clone(copy, builder_, same);
    twin->SetOperand(tensor, BoundOf(op->operand(tensor)));
    return twin;
  }
  void StoreBound(const Op* op, Op* copy) {
    if (!BoundOf(op->operand(ir::StoreOp::at_tensor))) return;
    Value* bound = BoundOrZero(op->operand(0));
    Twin(copy, op)->SetOperand(0, bound);
  }

  /// Returns the error bound of a result. Returns null if the result is exact, that is, if the rule adds
  /// nothing and no operand has an error bound.
  Value* Bound(OpKind rule, Value* value, const std::vector<Value*>& operands) {
    bool any = std::any_of(operands.begin(), operands.end(),
                           [&](const Value* operand) { return BoundOf(operand) != nullptr; });
    std::vector<Value*> values;
    std::vector<Value*> bounds;
    for (const Value* operand : operands) {
      if (!any) break;
      values.push_back(CopyOf(operand));
      bounds.push_back(BoundOrZero(operand));
    }
    uint64_t one = std::bit_cast<uint64_t>(1.0);
    if (!any && ir::FindBound(rule)(&one, nullptr) == 0) return nullptr;
    return MakeBound(rule, value, values, bounds);
  }

  Value* MakeBound(OpKind rule, Value* value, const std::vector<Value*>& operands,
                   const std::vector<Value*>& bounds) {
    Name name = builder_.module().context().names.Intern(ir::Info(rule).spelling);
    return builder_
        .Create(OpKind::Bound, {{value}, operands, bounds}, {value->type()},
                {ir::MakeAttr<AttrKey::Rule>(name)})
        ->result();
  }

  /// Returns the error bound of `sum + e`: the bound of the sum so far, plus |e|, plus the bound of e. The
  /// last two terms are the bound of `e + 0`, so the rule of `add` computes them.
  Value* SumBound(const Op* add) {
    const Value* term = add->operand(1);
    Value* e = CopyOf(term);
    Value* zero = Constant(e->type(), 0);
    Value* own = BoundOf(term) ? MakeBound(OpKind::Add, e, {e, zero}, {BoundOf(term), zero})
                               : MakeBound(OpKind::Add, e, {}, {});
    return builder_.Add(BoundOrZero(add->operand(0)), own);
  }

  const ir::Function& from_;
  const std::vector<ir::ContractParam>& params_;
  std::optional<size_t> value_;
  ir::Function& to_;
  ir::Builder constants_;
  ir::Builder builder_;
  Op* first_ = nullptr;  ///< the first op that is not one of the constants
  ir::ValueMap map_;
  ir::ValueMap bounds_;  ///< nonzero error bounds of values of `from_`
  std::unordered_set<const Value*> sums_;
  std::map<std::pair<ir::Type, uint64_t>, Value*> known_;
};

}  // namespace

void CarryBounds(ir::Clause& clause, std::optional<size_t> value, ir::Module& module) {
  std::vector<ir::ContractParam> params;
  clause.function = Carrier(clause, value, module).CopyFunction(params);
  clause.params = std::move(params);
}

}  // namespace kdl::irgen
