#pragma once

#include <initializer_list>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/module.h"
#include "ir/op.h"
#include "support/check.h"

namespace kdl::ir {

/// Makes ops at an insertion point. Operands are given segment by segment, as the table lists them.
class Builder {
 public:
  explicit Builder(Module& module) : module_(module) {}
  Builder(Module& module, Region* region, Op* before = nullptr)
      : module_(module), region_(region), before_(before) {}
  /// Before `op`, and for the same place in the sources.
  Builder(Module& module, Op* op) : module_(module) { StandAt(op); }

  Module& module() const { return module_; }
  TypeTable& types() const { return module_.types(); }
  Region* region() const { return region_; }
  /// Ops go before it; null: to the block's end.
  Op* before() const { return before_; }
  void SetInsertionPoint(Region* region, Op* before = nullptr) {
    region_ = region;
    before_ = before;
  }
  /// Before `op`.
  void SetInsertionPoint(Op* op) { SetInsertionPoint(op->parent_region(), op); }
  /// Before `op`, and for the same place in the sources.
  void StandAt(Op* op) {
    SetInsertionPoint(op);
    set_loc(op->loc());
  }
  Loc loc() const { return loc_; }
  void set_loc(Loc loc) { loc_ = loc; }

  using Segments = std::vector<std::vector<Value*>>;
  /// The general form. `results` are the types of the results; regions are made empty, with `function` set.
  Op* Create(OpKind kind, const Segments& operands, std::vector<Type> results,
             std::vector<Attr> attrs = {});
  /// An op of One operands and one result.
  Value* Make(OpKind kind, std::initializer_list<Value*> operands, Type result,
              std::vector<Attr> attrs = {});

  // Scalars and elementwise: the result's type follows from the operands.
  /// The operands' axes, or lanes, with `scalar` as the element.
  Type ElementwiseType(Scalar scalar, std::span<Value* const> operands) const;
  Value* Int(Scalar scalar, int64_t value);
  Value* I64(int64_t value) { return Int(Scalar::I64, value); }
  Value* Bool(bool value) { return Int(Scalar::Bool, value); }
  /// A float constant by its exact bits in `scalar`.
  Value* Bits(Scalar scalar, uint64_t bits);
  Value* Unary(OpKind kind, Value* a);
  Value* Binary(OpKind kind, Value* a, Value* b);  ///< comparisons give bool
  Value* Add(Value* a, Value* b);
  Value* Sub(Value* a, Value* b);
  Value* Mul(Value* a, Value* b);
  Value* Div(Value* a, Value* b);
  Value* Rem(Value* a, Value* b);
  Value* Min(Value* a, Value* b);
  Value* Max(Value* a, Value* b);
  Value* And(Value* a, Value* b);
  Value* Or(Value* a, Value* b);
  Value* Xor(Value* a, Value* b);
  Value* Shr(Value* a, Value* b);
  Value* Eq(Value* a, Value* b);
  Value* Ne(Value* a, Value* b);
  Value* Lt(Value* a, Value* b);
  Value* Le(Value* a, Value* b);
  Value* Gt(Value* a, Value* b);
  Value* Ge(Value* a, Value* b);
  Value* Select(Value* condition, Value* a, Value* b);
  Value* Fma(Value* a, Value* b, Value* c);
  Value* Cast(Value* a, Scalar to);       ///< `a` itself where it is of that scalar
  Value* Splat(Value* a, int64_t lanes);  ///< `a` itself where lanes is 1 or it is a vector
  Value* Broadcast(Value* a,
                   const std::vector<AxisId>& axes);  ///< `a` itself where it has those axes

  // Numbers, as i64: the facts of a block, and of the core that runs.
  Value* BlockStart(Value* block);
  Value* BlockSize(Value* block);
  Value* BlockIndex(Value* block);
  Value* CoreId();
  Value* CoreNum();
  Type I64Type() const { return types().ScalarOf(Scalar::I64); }

  /// A size as an i64, from the dims and int generics of the function around the insertion point, and constants.
  Value* SizeValue(Size size);

  Value* AddParam(Region* region, Type type, Name name);

 private:
  Module& module_;
  Region* region_ = nullptr;
  Op* before_ = nullptr;
  Loc loc_;
};

/// old value -> new value while cloning; what is not in it stands for itself.
using ValueMap = std::unordered_map<const Value*, Value*>;

/// Copies `op`, with its regions, to the builder's insertion point; operands and the results are mapped through `map`.
Op* Clone(const Op* op, Builder& builder, ValueMap& map);

/// Copies all ops of `from` but its terminator to the builder's insertion point.
void CloneBody(const Region* from, Builder& builder, ValueMap& map);

/// Copies a function into `module` (its own or another of the same Context) under a new name.
Function* CloneFunction(const Function& function, Module& module, Name name);

}  // namespace kdl::ir
