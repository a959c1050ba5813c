#pragma once

#include <initializer_list>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/module.h"
#include "ir/op.h"
#include "support/check.h"

namespace kdl::ir {

/// Creates ops at an insertion point. Operands are passed in segments, one for each operand that the op table
/// declares for the op.
class Builder {
 public:
  explicit Builder(Module& module) : module_(module) {}
  Builder(Module& module, Region* region, Op* before = nullptr)
      : module_(module), region_(region), before_(before) {}
  /// Inserts before `op` and gives new ops the source location of `op`.
  Builder(Module& module, Op* op) : module_(module) { StandAt(op); }

  Module& module() const { return module_; }
  TypeTable& types() const { return module_.types(); }
  Region* region() const { return region_; }
  /// The op before which new ops are inserted; null if they are appended to the region.
  Op* before() const { return before_; }
  void SetInsertionPoint(Region* region, Op* before = nullptr) {
    region_ = region;
    before_ = before;
  }
  /// New ops are inserted before `op`.
  void SetInsertionPoint(Op* op) { SetInsertionPoint(op->parent_region(), op); }
  /// Inserts before `op` and gives new ops the source location of `op`.
  void StandAt(Op* op) {
    SetInsertionPoint(op);
    set_loc(op->loc());
  }
  Loc loc() const { return loc_; }
  void set_loc(Loc loc) { loc_ = loc; }

  using Segments = std::vector<std::vector<Value*>>;
  /// Creates any op. `results` are the types of its results. Its regions are created empty, and belong to
  /// the function of the insertion point.
  Op* Create(OpKind kind, const Segments& operands, std::vector<Type> results,
             std::vector<Attr> attrs = {});
  /// Creates an op with one result, all of whose operands are declared as ONE in the op table; returns the
  /// result.
  Value* Make(OpKind kind, std::initializer_list<Value*> operands, Type result,
              std::vector<Attr> attrs = {});

  // These functions create scalars and elementwise ops. They derive the type of the result from the operands.
  /// Returns a type with the operands' axes (or lanes) and the element type `scalar`.
  Type ElementwiseType(Scalar scalar, std::span<Value* const> operands) const;
  Value* Int(Scalar scalar, int64_t value);
  Value* I64(int64_t value) { return Int(Scalar::I64, value); }
  Value* Bool(bool value) { return Int(Scalar::Bool, value); }
  /// A float constant with exactly these bits of type `scalar`.
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
  Value* Cast(Value* a, Scalar to);       ///< `a` itself if it has that type
  Value* Splat(Value* a, int64_t lanes);  ///< `a` itself if lanes is 1 or it is a vector
  Value* Broadcast(Value* a,
                   const std::vector<AxisId>& axes);  ///< `a` itself if it has those axes

  // These functions create ops that return an i64 property of a block or of the current core.
  Value* BlockStart(Value* block);
  Value* BlockSize(Value* block);
  Value* BlockIndex(Value* block);
  Value* CoreId();
  Value* CoreNum();
  Type I64Type() const { return types().ScalarOf(Scalar::I64); }

  /// Returns a size as an i64 value. Creates the ops that compute it from constants and from the dims and int
  /// generics of the function at the insertion point.
  Value* SizeValue(Size size);

  Value* AddParam(Region* region, Type type, Name name);

 private:
  Module& module_;
  Region* region_ = nullptr;
  Op* before_ = nullptr;
  Loc loc_;
};

/// Maps values of the original code to values of its clone. A value that is not in the map is used unchanged.
using ValueMap = std::unordered_map<const Value*, Value*>;

/// Copies `op` and its regions to the insertion point. Replaces operands as `map` says, and adds the op's
/// results to `map`.
Op* Clone(const Op* op, Builder& builder, ValueMap& map);

/// Copies all ops of `from` except the terminator to the insertion point.
void CloneBody(const Region* from, Builder& builder, ValueMap& map);

/// Copies a function into `module` under a new name. `module` is the function's own module or another module
/// with the same Context.
Function* CloneFunction(const Function& function, Module& module, Name name);

}  // namespace kdl::ir
