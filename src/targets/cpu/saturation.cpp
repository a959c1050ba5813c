#include "targets/cpu/saturation.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "ir/builder.h"
#include "ir/op_kind.h"
#include "passes/analysis/integer_ranges.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/passes.h"

// LLVM recognizes these forms of addition and subtraction with saturation, in which no intermediate result
// leaves the range of the narrow type:
//
//   min(a + b, 255)  ->  min(a, 255 - b) + b       (a and b are u8 numbers, possibly in a wider type)
//   max(a - b, 0)    ->  max(a, b) - b

namespace kdl::cpu {

namespace {

using passes::Interval;

class SaturationFinder {
 public:
  explicit SaturationFinder(ir::Module& module) : module_(module) {}

  /// Returns a value that is equal to the op's result and simpler, or null.
  Value* Simpler(Op* op) {
    if (op->kind() != OpKind::Min && op->kind() != OpKind::Max) return nullptr;
    if (!IsInteger(op->result()->type()->scalar)) return nullptr;
    for (size_t i : {0, 1}) {
      Value* one = op->operand(i);
      Value* other = op->operand(1 - i);
      std::optional<Interval> range = ranges_.RangeOf(one);
      std::optional<Interval> limit = ranges_.RangeOf(other);
      if (!range || !limit) return nullptr;
      bool is_result = op->kind() == OpKind::Min ? range->hi <= limit->lo : range->lo >= limit->hi;
      if (is_result && one->type() == op->result()->type() && !LimitsPack(*range, limit->lo))
        return one;
      if (limit->lo != limit->hi || !one->def()) continue;
      Value* found = op->kind() == OpKind::Min ? SumUpTo(op, one->def(), limit->lo)
                                               : DifferenceFromZero(op, one->def(), limit->lo);
      if (found) return found;
    }
    return nullptr;
  }

 private:
  /// Whether the limit is one of the two that the narrowing instruction with signed saturation has, and the
  /// numbers need the other one. LLVM only finds the instruction if it sees both limits.
  static bool LimitsPack(const Interval& numbers, int64_t limit) {
    return std::ranges::any_of(std::array{Scalar::I8, Scalar::I16}, [&](Scalar type) {
      Interval all = *passes::ValuesOf(type);
      return (limit == all.lo || limit == all.hi) && !numbers.IsWithin(all);
    });
  }

  Value* SumUpTo(Op* op, const Op* sum, int64_t limit) {
    if (sum->kind() != OpKind::Add) return nullptr;
    for (Scalar type : {Scalar::U8, Scalar::U16}) {
      if (limit != passes::ValuesOf(type)->hi || !HasNarrowOperands(sum, type)) continue;
      ir::Builder b(module_, op);
      Value* x = Narrow(b, sum->operand(0), type);
      Value* y = Narrow(b, sum->operand(1), type);
      if (ConstantOf(x)) std::swap(x, y);
      auto constant = ConstantOf(y);
      Value* room = constant ? b.Int(type, limit - *constant) : b.Sub(b.Int(type, limit), y);
      return b.Cast(b.Add(b.Min(x, room), y), op->result()->type()->scalar);
    }
    return nullptr;
  }

  Value* DifferenceFromZero(Op* op, const Op* difference, int64_t limit) {
    if (difference->kind() != OpKind::Sub || limit != 0) return nullptr;
    for (Scalar type : {Scalar::U8, Scalar::U16}) {
      if (!HasNarrowOperands(difference, type)) continue;
      ir::Builder b(module_, op);
      Value* x = Narrow(b, difference->operand(0), type);
      Value* y = Narrow(b, difference->operand(1), type);
      return b.Cast(b.Sub(b.Max(x, y), y), op->result()->type()->scalar);
    }
    return nullptr;
  }

  /// Whether the operands have values of the type and can be made in it at no cost, and the op is wider.
  bool HasNarrowOperands(const Op* op, Scalar type) {
    if (Bytes(op->result()->type()->scalar) <= Bytes(type)) return false;
    return std::ranges::all_of(op->operands(), [&](Value* operand) {
      std::optional<Interval> range = ranges_.RangeOf(operand);
      bool is_free = ir::IsScalar(operand->type()) ||
                     Bytes(Narrowest(operand, type)->type()->scalar) <= Bytes(type);
      return is_free && range && range->IsWithin(*passes::ValuesOf(type));
    });
  }

  /// Returns the value before it was cast to integers that are at least as wide as the type.
  static Value* Narrowest(Value* value, Scalar type) {
    while (value->def() && value->def()->kind() == OpKind::Cast &&
           Bytes(value->type()->scalar) > Bytes(type) &&
           IsInteger(value->def()->operand(0)->type()->scalar))
      value = value->def()->operand(0);
    return value;
  }

  static Value* Narrow(ir::Builder& b, Value* value, Scalar type) {
    if (auto constant = ConstantOf(value)) return b.Int(type, *constant);
    return b.Cast(Narrowest(value, type), type);
  }

  ir::Module& module_;
  passes::IntegerRanges ranges_;
};

}  // namespace

bool UseSaturation(ir::Module& module, ir::Function& kernel) {
  SaturationFinder finder(module);
  bool changed = false;
  ir::Walk(kernel.body, [&](Op* op) {
    if (op->results().size() != 1 || op->result()->type()->axes.empty()) return;
    Value* simpler = finder.Simpler(op);
    if (!simpler) return;
    op->result()->ReplaceAllUsesWith(simpler);
    changed = true;
  });
  return changed;
}

}  // namespace kdl::cpu
