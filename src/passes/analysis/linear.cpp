#include "passes/analysis/linear.h"

#include <set>

#include "ir/views.h"

namespace kdl::passes {

namespace {

using ir::OpKind;
using ir::Value;

/// The loop's operands that bound parameter `param` of its region; nothing for carried values.
struct LoopBounds {
  const Value* lo;
  const Value* hi;
};

std::optional<LoopBounds> LoopBoundsOf(const Value* param) {
  ir::Op* op = param->block() ? param->block()->parent() : nullptr;
  if (!op) return std::nullopt;
  if (op->kind() == OpKind::Spmd) {
    size_t first = static_cast<size_t>(param->index()) * 2;
    return LoopBounds{op->operand(first), op->operand(first + 1)};
  }
  bool is_binder = (op->kind() == OpKind::For || op->kind() == OpKind::Loop) && param->index() == 0;
  return is_binder ? std::optional(LoopBounds{op->operand(0), op->operand(1)}) : std::nullopt;
}

class Bounder {
 public:
  Bounder(const ir::Function& function, ir::TypeTable& types)
      : function_(function), types_(types) {}

  std::optional<Interval> Of(const Value* value) {
    if (value->type()->scalar != Scalar::I64) return std::nullopt;
    return value->def() ? OfResult(value) : OfParam(value);
  }

 private:
  std::optional<Interval> OfParam(const Value* param) {
    if (param->block() == function_.body) {
      if (param->index() >= function_.dims.size()) return std::nullopt;
      Linear dim = LinearOf(types_.sizes().Symbol(function_.dims[param->index()]));
      return Interval{dim, dim};
    }
    std::optional<LoopBounds> bounds = LoopBoundsOf(param);
    if (!bounds) return std::nullopt;
    auto lo = Of(bounds->lo);
    auto hi = Of(bounds->hi);
    if (!lo || !hi) return std::nullopt;
    return Interval{lo->lo, hi->hi - Linear{1, {}}};
  }

  std::optional<Interval> OfResult(const Value* value) {
    ir::Op* def = value->def();
    switch (def->kind()) {
      case OpKind::Const: {
        Linear constant{def->attr<ir::AttrKey::Bits>(), {}};
        return Interval{constant, constant};
      }
      case OpKind::SizeOf: {
        Linear size = LinearOf(def->attr<ir::AttrKey::Size>());
        return Interval{size, size};
      }
      case OpKind::Add:
        return Combine(def, [](const Interval& a, const Interval& b) {
          return Interval{a.lo + b.lo, a.hi + b.hi};
        });
      case OpKind::Sub:
        return Combine(def, [](const Interval& a, const Interval& b) {
          return Interval{a.lo - b.hi, a.hi - b.lo};
        });
      case OpKind::Mul:
        return OfProduct(def);
      case OpKind::BlkStart:
      case OpKind::Iota:
        return Of(def->operand(0));
      case OpKind::MakeBlk:
        return Combine(def, [](const Interval& start, const Interval& size) {
          return Interval{start.lo, start.hi + size.hi - Linear{1, {}}};
        });
      default:
        return std::nullopt;
    }
  }

  template <class Join>
  std::optional<Interval> Combine(const ir::Op* op, Join join) {
    auto a = Of(op->operand(0));
    auto b = Of(op->operand(1));
    return a && b ? std::optional(join(*a, *b)) : std::nullopt;
  }

  std::optional<Interval> OfProduct(const ir::Op* op) {
    auto a = Of(op->operand(0));
    auto b = Of(op->operand(1));
    if (!a || !b) return std::nullopt;
    if (!(b->lo.is_constant() && b->hi.is_constant())) std::swap(a, b);
    if (!(b->lo.is_constant() && b->hi.is_constant()) || b->lo.constant != b->hi.constant)
      return std::nullopt;
    int64_t factor = b->lo.constant;
    return factor >= 0 ? Interval{a->lo * factor, a->hi * factor}
                       : Interval{a->hi * factor, a->lo * factor};
  }

  const ir::Function& function_;
  ir::TypeTable& types_;
};

/// The size that a value is, where it is one.
Size SizeOfValue(const Value* value, const ir::Function& function, ir::TypeTable& types) {
  if (value->def()) {
    return value->def()->kind() == OpKind::SizeOf ? value->def()->attr<ir::AttrKey::Size>()
                                                  : nullptr;
  }
  bool is_dim = value->block() == function.body && value->index() < function.dims.size();
  return is_dim ? types.sizes().Symbol(function.dims[value->index()]) : nullptr;
}

bool IsZero(const Value* value) {
  return value->def() && value->def()->kind() == OpKind::Const &&
         value->def()->attr<ir::AttrKey::Bits>() == 0;
}

/// Sizes that are at least 1 where `op` runs: those that loops around it walk from 0.
std::set<Size> PositiveSizes(const ir::Op* op, const ir::Function& function, ir::TypeTable& types) {
  std::set<Size> positive;
  for (const ir::Block* block = op->block(); block;
       block = block->parent() ? block->parent()->block() : nullptr) {
    for (const Value* param : block->params()) {
      std::optional<LoopBounds> bounds = LoopBoundsOf(param);
      if (!bounds || !IsZero(bounds->lo)) continue;
      if (Size size = SizeOfValue(bounds->hi, function, types)) positive.insert(size);
    }
  }
  return positive;
}

}  // namespace

Linear operator+(Linear a, const Linear& b) {
  a.constant += b.constant;
  for (const auto& [atom, coefficient] : b.terms) {
    if ((a.terms[atom] += coefficient) == 0) a.terms.erase(atom);
  }
  return a;
}

Linear operator*(Linear a, int64_t factor) {
  if (factor == 0) return {};
  a.constant *= factor;
  for (auto& [atom, coefficient] : a.terms) coefficient *= factor;
  return a;
}

Linear operator-(Linear a, const Linear& b) { return std::move(a) + b * -1; }

Linear LinearOf(Size size) {
  switch (size->kind) {
    case SizeKind::Constant:
      return {size->value, {}};
    case SizeKind::Add:
      return LinearOf(size->lhs) + LinearOf(size->rhs);
    case SizeKind::Sub:
      return LinearOf(size->lhs) - LinearOf(size->rhs);
    case SizeKind::Mul: {
      Linear lhs = LinearOf(size->lhs);
      Linear rhs = LinearOf(size->rhs);
      if (lhs.is_constant()) return rhs * lhs.constant;
      if (rhs.is_constant()) return lhs * rhs.constant;
      break;
    }
    default:
      break;
  }
  return {0, {{size, 1}}};
}

std::optional<Interval> BoundsOf(const Value* value, const ir::Function& function,
                                 ir::TypeTable& types) {
  return Bounder(function, types).Of(value);
}

Answer IsNonNegative(const Linear& form, const ir::Op* op, const ir::Function& function,
                     ir::TypeTable& types) {
  std::set<Size> positive = PositiveSizes(op, function, types);
  Linear least = form;  // with every positive size written as 1 + a size
  bool can_grow = true;
  bool can_shrink = true;
  for (const auto& [atom, coefficient] : form.terms) {
    if (positive.contains(atom)) least.constant += coefficient;
    can_grow = can_grow && coefficient >= 0 && atom->kind == SizeKind::Symbol;
    can_shrink = can_shrink && coefficient <= 0 && atom->kind == SizeKind::Symbol;
  }
  if (can_grow && least.constant >= 0) return Answer::Yes;
  if (can_shrink && least.constant < 0) return Answer::No;
  return Answer::Unknown;
}

}  // namespace kdl::passes
