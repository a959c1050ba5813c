#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "ir/comparisons.h"
#include "ir/op_info.h"
#include "ir/views.h"
#include "passes/analysis/integer_ranges.h"
#include "passes/rewriting/drop_unused.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/passes.h"
#include "targets/cpu/saturation.h"

// narrow-integers: computes with 8 or 16 bits instead of 16 or 32 where the operands come from narrow types,
// where all intermediate results fit, and where only narrow types or conditions are made from the results.
// Vectors then have more elements.
//
//   %a = cast %x : tile<i32; i> ; %b = cast %y : tile<i32; i>       (x and y are tiles of u8)
//   %c = sub %a, %b ; %d = abs %c : tile<i32; i> ; %e = cast %d : tile<u8; i>
//   ->
//   %a = cast %x : tile<i16; i> ; %b = cast %y : tile<i16; i>
//   %c = sub %a, %b ; %d = abs %c : tile<i16; i> ; %e = cast %d : tile<u8; i>
//
// Before that, sums and differences that are limited to the range of a narrow unsigned type are computed in that
// type (saturation.h).

namespace kdl::cpu {

namespace {

/// Whether processors have vector instructions for the op on integers of `bits` bits, and it computes the same
/// there if its operands and its exact result fit.
bool MayBeNarrow(OpKind kind, int bits) {
  switch (kind) {
    case OpKind::Add:
    case OpKind::Sub:
    case OpKind::Neg:
    case OpKind::Abs:
    case OpKind::Min:
    case OpKind::Max:
    case OpKind::Select:
    case OpKind::Broadcast:
    case OpKind::SlidingWindow:
      return true;
    case OpKind::Mul:
    case OpKind::Div:
    case OpKind::Rem:
    case OpKind::Shr:
      return bits > 8;
    default:
      return ir::IsComparison(kind);
  }
}

/// Returns the operands that are integers of the type that may become narrower: not the condition of a select,
/// and not the blocks of a sliding window.
std::vector<Value*> NumbersOf(const Op* op) {
  if (op->kind() == OpKind::SlidingWindow) return {op->operand(ir::SlidingWindowOp::at_tile)};
  std::vector<Value*> numbers(op->operands().begin(), op->operands().end());
  if (op->kind() == OpKind::Select) numbers.erase(numbers.begin());
  return numbers;
}

class Narrower {
 public:
  /// `bits` is the width to which integers are narrowed, 8 or 16.
  Narrower(ir::Module& module, ir::Function& kernel, int bits)
      : module_(module), kernel_(kernel), bits_(bits) {}

  bool NarrowAll() {
    FindCandidates();
    DropCandidatesWithWideUses();
    bool changed = false;
    for (const std::vector<Op*>& component : Components()) {
      std::optional<Scalar> type = TypeFor(component);
      if (!type) continue;
      narrow_.clear();
      for (Op* op : component) Narrow(op, *type);
      for (Op* op : component) Replace(op);
      changed = true;
    }
    return changed;
  }

 private:
  bool IsNarrow(Scalar scalar) const {
    return scalar == Scalar::Bool || (IsInteger(scalar) && Info(scalar).bits <= bits_);
  }
  bool IsWide(const Value* value) const {
    Scalar scalar = value->type()->scalar;
    return IsInteger(scalar) && Info(scalar).bits > bits_ && Info(scalar).bits <= 32;
  }

  void FindCandidates() {
    ir::Walk(kernel_.body, [&](Op* op) {
      if (IsCandidate(op)) {
        candidates_.insert(op);
        order_.push_back(op);
      }
    });
  }

  bool IsCandidate(const Op* op) {
    if (!MayBeNarrow(op->kind(), bits_) || op->results().size() != 1) return false;
    std::vector<Value*> numbers = NumbersOf(op);
    auto is_wide = [&](const Value* number) { return IsWide(number); };
    bool are_wide = std::ranges::all_of(numbers, is_wide) && !op->result()->type()->axes.empty();
    if (!are_wide || (!ir::IsComparison(op->kind()) && !IsWide(op->result()))) return false;
    // A shift by more bits than the type has would wrap.
    if (op->kind() == OpKind::Shr) {
      std::optional<int64_t> count = ConstantOf(op->operand(1));
      if (!count || passes::ShiftedBits(op->result()->type()->scalar, *count) >= bits_)
        return false;
    }
    bool is_exact = ir::IsComparison(op->kind()) || FitsSomeType(ranges_.ExactRangeOf(op));
    return is_exact && std::ranges::all_of(numbers, [&](const Value* number) {
             return FitsSomeType(ranges_.RangeOf(number)) &&
                    (candidates_.contains(number->def()) || IsConvertible(number));
           });
  }

  /// Returns the types that integers may become.
  std::array<Scalar, 2> Types() const {
    if (bits_ == 8) return {Scalar::U8, Scalar::I8};
    return {Scalar::I16, Scalar::U16};
  }
  bool FitsSomeType(const std::optional<Interval>& range) const {
    return range && std::ranges::any_of(Types(), [&](Scalar type) {
             return range->IsWithin(*passes::ValuesOf(type));
           });
  }

  /// Whether the number can be made with fewer bits at no cost: a scalar, or a tile that is cast from a narrow
  /// type.
  bool IsConvertible(const Value* number) const {
    const Op* def = number->def();
    if (ir::IsScalar(number->type())) return def != nullptr;
    return def && def->kind() == OpKind::Cast && IsNarrow(def->operand(0)->type()->scalar);
  }

  /// A value whose users need all of its bits is not narrowed: it would have to be widened again.
  void DropCandidatesWithWideUses() {
    for (bool changed = true; changed;) {
      changed = false;
      for (auto op = order_.rbegin(); op != order_.rend(); ++op) {
        if (!candidates_.contains(*op) || HasNarrowUses(*op)) continue;
        candidates_.erase(*op);
        changed = true;
        DropUsers(*op);
      }
    }
  }

  void DropUsers(const Op* op) {
    for (const ir::Use& use : op->result()->uses()) {
      if (candidates_.erase(use.user) > 0) DropUsers(use.user);
    }
  }

  bool HasNarrowUses(const Op* op) const {
    if (ir::IsComparison(op->kind())) return true;
    return std::ranges::all_of(op->result()->uses(), [&](const ir::Use& use) {
      bool casts = use.user->kind() == OpKind::Cast && IsNarrow(use.user->result()->type()->scalar);
      return casts || candidates_.contains(use.user);
    });
  }

  /// Returns the candidates, divided into sets that do not use each other's results.
  std::vector<std::vector<Op*>> Components() const {
    std::vector<std::vector<Op*>> components;
    std::unordered_set<const Op*> done;
    for (Op* first : order_) {
      if (!candidates_.contains(first) || !done.insert(first).second) continue;
      std::vector<Op*> component = {first};
      auto add = [&](Op* op) {
        if (op && candidates_.contains(op) && done.insert(op).second) component.push_back(op);
      };
      for (size_t n = 0; n < component.size(); ++n) {
        for (Value* number : NumbersOf(component[n])) add(number->def());
        for (const ir::Use& use : component[n]->result()->uses()) add(use.user);
      }
      std::vector<Op*> sorted;
      for (Op* op : order_) {
        if (Contains(component, op)) sorted.push_back(op);
      }
      components.push_back(std::move(sorted));
    }
    return components;
  }

  /// Returns a type that holds all numbers of the ops, or nothing. Unsigned numbers are easier to divide.
  std::optional<Scalar> TypeFor(const std::vector<Op*>& component) {
    bool divides = std::ranges::any_of(component, [](const Op* op) {
      return op->kind() == OpKind::Div || op->kind() == OpKind::Rem;
    });
    std::array<Scalar, 2> types = Types();
    if (divides && IsSigned(types[0])) std::swap(types[0], types[1]);
    for (Scalar type : types) {
      Interval all = *passes::ValuesOf(type);
      bool fits = std::ranges::all_of(component, [&](const Op* op) {
        bool result = ir::IsComparison(op->kind()) || ranges_.ExactRangeOf(op)->IsWithin(all);
        std::vector<Value*> numbers = NumbersOf(op);
        return result && std::ranges::all_of(numbers, [&](const Value* number) {
                 return ranges_.RangeOf(number)->IsWithin(all);
               });
      });
      if (fits) return type;
    }
    return std::nullopt;
  }

  void Narrow(Op* op, Scalar type) {
    ir::Builder b(module_, op);
    ir::ValueMap map;
    for (Value* number : NumbersOf(op)) map[number] = Converted(number, type);
    Op* copy = passes::CloneRetyped(op, b, map);
    bool compares = ir::IsComparison(op->kind());
    Scalar result = compares ? Scalar::Bool : type;
    copy->result()->set_type(module_.types().Tile(result, op->result()->type()->axes));
    narrow_[op->result()] = copy->result();
  }

  Value* Converted(Value* number, Scalar type) {
    Value*& made = narrow_[number];
    if (made) return made;
    Op* def = number->def();
    ir::Builder b(module_, def->next());
    b.set_loc(def->loc());
    if (auto constant = ConstantOf(number)) return made = b.Int(type, *constant);
    bool is_cast = def->kind() == OpKind::Cast && IsNarrow(def->operand(0)->type()->scalar);
    made = b.Cast(is_cast ? def->operand(0) : number, type);
    made->set_name(number->name());
    return made;
  }

  /// Replaces the uses of a narrowed op outside of the component: casts to narrow types and conditions.
  void Replace(Op* op) {
    Value* narrow = narrow_.at(op->result());
    std::vector<ir::Use> uses = op->result()->uses();
    for (const ir::Use& use : uses) {
      if (!candidates_.contains(use.user) || ir::IsComparison(op->kind()))
        use.user->SetOperand(use.operand, narrow);
    }
  }

  ir::Module& module_;
  ir::Function& kernel_;
  int bits_;
  passes::IntegerRanges ranges_;
  std::vector<Op*> order_;
  std::unordered_set<const Op*> candidates_;
  std::unordered_map<const Value*, Value*> narrow_;
};

/// Casts integers directly to a narrow type, not by way of a wider one.
bool SkipWideCasts(ir::Module& module, ir::Function& kernel) {
  bool changed = false;
  for (Op* op : passes::OpsOfKind(kernel, OpKind::Cast)) {
    const Op* wide = op->operand(0)->def();
    if (!wide || wide->kind() != OpKind::Cast) continue;
    Scalar from = wide->operand(0)->type()->scalar;
    Scalar by = op->operand(0)->type()->scalar;
    Scalar to = op->result()->type()->scalar;
    if (!IsInteger(from) || !IsInteger(by) || !IsInteger(to) || Bytes(by) < Bytes(to)) continue;
    ir::Builder b(module, op);
    op->result()->ReplaceAllUsesWith(b.Cast(wide->operand(0), to));
    changed = true;
  }
  return changed;
}

}  // namespace

void RunNarrowIntegers(PassContext& context, ir::Function& kernel) {
  bool changed = UseSaturation(context.module, kernel);
  for (int bits : {8, 16}) changed |= Narrower(context.module, kernel, bits).NarrowAll();
  changed |= SkipWideCasts(context.module, kernel);
  if (changed) passes::DropUnused(kernel.body);
}

}  // namespace kdl::cpu
