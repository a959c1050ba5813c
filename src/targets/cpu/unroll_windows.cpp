#include <algorithm>
#include <map>
#include <optional>

#include "ir/builder.h"
#include "ir/comparisons.h"
#include "ir/eval/eval.h"
#include "ir/op_info.h"
#include "ir/views.h"
#include "passes/analysis/points.h"
#include "passes/remarks.h"
#include "passes/rewriting/drop_unused.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/analysis/kernel_shape.h"
#include "targets/cpu/analysis/steps.h"
#include "targets/cpu/passes.h"
#include "targets/cpu/unroll_windows.h"

// unroll-windows: unrolls a reduction over a small window that moves along the axes of the result. Neighbors
// are then loaded from the tensor, and the reduction becomes a part of an elementwise loop. Its terms are
// neither stored in a tile nor moved between registers.
//
//   %k = make_block 0, 3, 0
//   %h.1 = load %h[%k] ; %x.1 = load %x[%i + %k] ; %t = mul %h.1, %x.1 : tile<f32; k i>
//   %s = reduce sum %t over k : tile<f32; i>
//   ->
//   %h0 = load %h[0] ; %x0 = load %x[%i] ; %t0 = mul %h0, %x0 : tile<f32; i> ; %s0 = add 0.0, %t0
//   %h1 = load %h[1] ; %x1 = load %x[%i + 1] ; … ; %s1 = add %s0, %t1 ; … %s2
//
// This only applies to the sequential order, and to terms that are so cheap that computing them again for each
// window costs less than storing them. Other windows are left to cache-windows.

namespace kdl::cpu {

namespace {

/// The index along each axis of the window.
using WindowPoint = std::map<AxisId, int64_t>;

/// Returns whether the op takes about as long as a load of its result would.
bool IsCheap(const Op* op) {
  switch (op->kind()) {
    case OpKind::Add:
    case OpKind::Sub:
    case OpKind::Mul:
    case OpKind::Min:
    case OpKind::Max:
    case OpKind::And:
    case OpKind::Or:
    case OpKind::Xor:
    case OpKind::Not:
    case OpKind::Neg:
    case OpKind::Abs:
    case OpKind::Fma:
    case OpKind::Cast:
    case OpKind::Select:
    case OpKind::Shl:
    case OpKind::Shr:
    case OpKind::Iota:
    case OpKind::Broadcast:
    case OpKind::Load:
    case OpKind::SlidingWindow:
      return true;
    default:
      return ir::IsComparison(op->kind());
  }
}

/// A window: axes with constant blocks, of which the last varies fastest.
class SmallWindow {
 public:
  /// Returns the window over which the op reduces, or nothing if it is not known or has more points.
  static std::optional<SmallWindow> FindWindow(const Op* reduction, int64_t most_points) {
    SmallWindow window;
    int64_t points = 1;
    for (AxisId axis : reduction->attr<AttrKey::Axes>()) {
      const Value* block = ir::FindBlock(reduction, axis);
      const Op* made = block ? block->def() : nullptr;
      if (!made || made->kind() != OpKind::MakeBlock) return std::nullopt;
      auto start = ConstantOf(made->operand(ir::MakeBlockOp::at_start));
      auto size = ConstantOf(made->operand(ir::MakeBlockOp::at_size));
      if (!start || !size || *size < 1 || *size > most_points) return std::nullopt;
      constexpr int64_t kLargestStart = int64_t{1} << 40;
      if (*start > kLargestStart || *start < -kLargestStart) return std::nullopt;
      points *= *size;
      if (points > most_points) return std::nullopt;
      window.axes_.push_back({axis, *start, *size});
    }
    return window;
  }

  bool Has(AxisId axis) const {
    return std::ranges::any_of(axes_, [&](const Extent& extent) { return extent.axis == axis; });
  }
  bool HasAxisOf(const Value* value) const {
    return std::ranges::any_of(value->type()->axes, [&](AxisId axis) { return Has(axis); });
  }
  AxisList Without(const AxisList& axes) const {
    AxisList others = axes;
    std::erase_if(others, [&](AxisId axis) { return Has(axis); });
    return others;
  }

  std::vector<WindowPoint> Points() const {
    std::vector<WindowPoint> points = {{}};
    for (const Extent& extent : axes_) {
      std::vector<WindowPoint> longer;
      for (const WindowPoint& point : points) {
        for (int64_t n = 0; n < extent.size; ++n) {
          longer.push_back(point);
          longer.back()[extent.axis] = extent.start + n;
        }
      }
      points = std::move(longer);
    }
    return points;
  }

 private:
  struct Extent {
    AxisId axis;
    int64_t start;
    int64_t size;
  };
  std::vector<Extent> axes_;
};

bool IsRead(const Op* op) {
  return op->kind() == OpKind::Load || op->kind() == OpKind::SlidingWindow;
}

size_t IndexSegment(const Op* read) {
  return read->kind() == OpKind::Load ? size_t{ir::LoadOp::at_index}
                                      : size_t{ir::SlidingWindowOp::at_index};
}

/// Returns whether the read's index moves along both an axis of the window and another axis in one dimension:
/// because it is the sum of two ranges, or because it is computed from both.
bool MovesWithResult(const Op* read, const SmallWindow& window) {
  auto index = read->Segment(IndexSegment(read));
  ir::Access access = read->attr<AttrKey::Access>();
  return std::ranges::any_of(access.dims, [&](const ir::AccessDim& dim) {
    bool in_window = false;
    bool around = false;
    for (const ir::AccessTerm& term : dim.terms) {
      const Value* operand = index[term.operand];
      const AxisList& axes = operand->type()->axes;
      in_window = in_window || window.HasAxisOf(operand);
      around = around || !window.Without(axes).empty();
    }
    return in_window && around;
  });
}

/// Returns whether adjacent elements of the result need elements of the tensor or tile that are adjacent or a few
/// elements apart. If not, their loads would not be vectors. Any axis of a tile may be contiguous.
bool IsNearlyContiguous(const Op* read, const SmallWindow& window) {
  auto index = read->Segment(IndexSegment(read));
  ir::Access access = read->attr<AttrKey::Access>();
  auto is_dim = [&](const ir::AccessDim& dim) {
    return std::ranges::all_of(dim.terms, [&](const ir::AccessTerm& term) {
      bool steps = IsConstant(term.coefficient) && term.coefficient->value >= 1 &&
                   term.coefficient->value <= kLargestStep;
      return window.HasAxisOf(index[term.operand]) || steps;
    });
  };
  return read->kind() == OpKind::Load ? is_dim(access.dims.back())
                                      : std::ranges::all_of(access.dims, is_dim);
}

/// Returns the window's axis along the rows of the load's tensor if adjacent elements of the result need elements
/// that are apart.
std::optional<AxisId> AxisInSteps(const Op* load, const SmallWindow& window) {
  auto index = IndexOf(load);
  std::optional<AxisId> axis;
  bool steps = false;
  ir::Access access = load->attr<AttrKey::Access>();
  for (const ir::AccessTerm& term : access.dims.back().terms) {
    const Value* operand = index[term.operand];
    bool is_block = operand->type()->kind == ir::TypeKind::Block;
    if (is_block && window.HasAxisOf(operand)) {
      axis = operand->type()->axes[0];
    } else if (!IsConstant(term.coefficient, 1)) {
      steps = true;
    }
  }
  return steps ? axis : std::nullopt;
}

/// The ops that compute the terms of a reduction from values that do not vary in the window.
struct Terms {
  bool are_cheap = true;
  bool is_moving = false;
  /// The window's axis along rows of which a load skips elements.
  std::optional<AxisId> in_row;
  size_t ops = 0;  ///< the number of ops that compute one term

  bool MayUnroll() const { return are_cheap && is_moving; }

  Terms(const Op* reduction, const SmallWindow& window) {
    for (const Value* factor : Factors(reduction)) Visit(factor, window);
  }

  /// Returns the reduced value, or the two factors of the reduced products.
  static std::vector<Value*> Factors(const Op* reduction) {
    if (reduction->kind() == OpKind::Reduce) return {reduction->operand(0)};
    return {reduction->operand(ir::ContractionOp::at_a),
            reduction->operand(ir::ContractionOp::at_b)};
  }

 private:
  void Visit(const Value* value, const SmallWindow& window) {
    if (!are_cheap || !window.HasAxisOf(value)) return;
    const Op* op = value->def();
    are_cheap = op && IsCheap(op) && !MayTrap(op) && !op->HasAttr(AttrKey::Copied);
    if (!are_cheap || op->kind() == OpKind::Iota) return;
    ++ops;
    if (IsRead(op)) {
      is_moving = is_moving || MovesWithResult(op, window);
      are_cheap = IsNearlyContiguous(op, window);
      bool is_load = op->kind() == OpKind::Load;
      if (std::optional<AxisId> axis = is_load ? AxisInSteps(op, window) : std::nullopt)
        in_row = axis;
    }
    for (const Value* operand : op->operands()) {
      if (operand->type()->kind != ir::TypeKind::Block) Visit(operand, window);
    }
  }
};

/// Returns whether the reduction computes its terms one after another in the accumulator's type. The order of
/// integers does not matter.
bool IsPlain(const Op* op) {
  bool is_sequential = op->attr<AttrKey::Order>() == ir::OrderKind::Sequential;
  if (!is_sequential && IsFloat(op->attr<AttrKey::Acc>())) return false;
  if (op->kind() == OpKind::Reduce) return true;
  ir::ContractionOp contraction(const_cast<Op*>(op));
  Scalar acc = op->attr<AttrKey::Acc>();
  auto fits = [&](const Value* factor) {
    Scalar scalar = factor->type()->scalar;
    return IsFloat(acc) ? scalar == acc : IsInteger(scalar);
  };
  bool has_own_order = op->HasAttr(AttrKey::Instruction) && IsFloat(acc);
  return !contraction.plus() && !has_own_order && fits(contraction.a()) && fits(contraction.b());
}

/// Returns whether each factor of a contraction varies along axes of the result that the other factor does
/// not have. Such a product of matrices reuses its factors in registers.
bool IsOuterProduct(const Op* op, const SmallWindow& window) {
  if (op->kind() != OpKind::Contraction) return false;
  AxisList a = window.Without(op->operand(ir::ContractionOp::at_a)->type()->axes);
  AxisList b = window.Without(op->operand(ir::ContractionOp::at_b)->type()->axes);
  auto has_own = [](const AxisList& axes, const AxisList& others) {
    return std::ranges::any_of(axes, [&](AxisId axis) { return !Contains(others, axis); });
  };
  return has_own(a, b) && has_own(b, a);
}

/// Returns the window of a reduction that is unrolled if its terms allow that.
std::optional<SmallWindow> UnrolledWindow(const PassContext& context, const Op* reduction) {
  if (!IsPlain(reduction) || reduction->result()->type()->axes.empty()) return std::nullopt;
  std::optional<SmallWindow> window =
      SmallWindow::FindWindow(reduction, context.Value(kWindowPoints));
  return window && IsOuterProduct(reduction, *window) ? std::nullopt : window;
}

class Unroller {
 public:
  /// `in_row` is the axis of the window along rows, if the elements that adjacent results need are apart.
  Unroller(ir::Module& module, Op* reduction, const SmallWindow& window,
           std::optional<AxisId> in_row)
      : module_(module), reduction_(reduction), window_(window), in_row_(in_row) {}

  void Unroll() {
    ir::Builder b(module_, reduction_);
    Scalar acc = reduction_->attr<AttrKey::Acc>();
    Value* sum = IsExtremum() ? nullptr : Start(b, acc);
    for (const std::vector<WindowPoint>& points : Parts(acc)) {
      bool is_part = points.size() < window_.Points().size();
      Value* part = is_part ? nullptr : sum;
      for (const WindowPoint& point : points) {
        std::vector<Value*> terms;
        made_.clear();
        for (Value* factor : Terms::Factors(reduction_))
          terms.push_back(b.Cast(At(factor, point), acc));
        part = part ? Accumulate(b, part, terms) : terms[0];
      }
      sum = is_part && sum ? Accumulate(b, sum, {part}) : part;
    }
    sum->set_name(reduction_->result()->name());
    reduction_->result()->ReplaceAllUsesWith(sum);
    ir::Erase(reduction_);
  }

 private:
  /// Whether a reduction of a single term returns that term.
  bool IsExtremum() const {
    if (reduction_->kind() != OpKind::Reduce) return false;
    auto how = reduction_->attr<AttrKey::Reduction>();
    return how == ir::ReductionKind::Max || how == ir::ReductionKind::Min;
  }

  /// Returns the points in parts that are reduced one after another, each starting with its own first term. If the
  /// order does not matter and elements are apart, a part has the same index along the rows: it is then computed
  /// from whole rows, and only its result is taken apart.
  std::vector<std::vector<WindowPoint>> Parts(Scalar acc) const {
    std::vector<WindowPoint> points = window_.Points();
    bool is_sum = reduction_->kind() == OpKind::Reduce && IsInteger(acc) &&
                  reduction_->attr<AttrKey::Reduction>() == ir::ReductionKind::Sum;
    if (!in_row_ || !(is_sum || IsExtremum())) return {points};
    std::map<int64_t, std::vector<WindowPoint>> parts;
    for (const WindowPoint& point : points) parts[point.at(*in_row_)].push_back(point);
    std::vector<std::vector<WindowPoint>> all;
    for (auto& [index, part] : parts) all.push_back(std::move(part));
    return all;
  }

  Value* Start(ir::Builder& b, Scalar acc) {
    if (reduction_->kind() == OpKind::Contraction)
      return reduction_->operand(ir::ContractionOp::at_into);
    return b.Bits(acc, ir::FoldIdentity(reduction_->attr<AttrKey::Reduction>(), acc));
  }

  Value* Accumulate(ir::Builder& b, Value* sum, const std::vector<Value*>& terms) {
    if (terms.size() == 1)
      return b.Binary(ir::CombineOf(reduction_->attr<AttrKey::Reduction>()), sum, terms[0]);
    if (IsFloat(sum->type()->scalar)) return b.Fma(terms[0], terms[1], sum);
    return b.Add(sum, b.Mul(terms[0], terms[1]));
  }

  /// Returns the value at a point of the window, which no longer has the window's axes.
  Value* At(Value* value, const WindowPoint& point) {
    if (!window_.HasAxisOf(value)) return value;
    Value*& made = made_[value];
    if (!made) {
      Op* op = value->def();
      ir::Builder b(module_, op);
      made = Make(b, op, point);
    }
    return made;
  }

  Value* Make(ir::Builder& b, Op* op, const WindowPoint& point) {
    if (op->kind() == OpKind::Iota) return b.I64(point.at(op->result()->type()->axes[0]));
    if (IsRead(op)) return MakeRead(b, op, point);
    if (op->kind() == OpKind::Broadcast) {
      Value* value = At(op->operand(0), point);
      AxisList axes = window_.Without(op->result()->type()->axes);
      if (axes == value->type()->axes) return value;
      ir::Type type = module_.types().Tile(value->type()->scalar, axes);
      return passes::MakeOne(b, OpKind::Broadcast, {{value}}, type);
    }
    ir::ValueMap map;
    for (Value* operand : op->operands()) map[operand] = At(operand, point);
    return passes::CloneRetyped(op, b, map)->result();
  }

  /// Makes a read at one point of the window, whose index becomes part of the offsets.
  Value* MakeRead(ir::Builder& b, Op* op, const WindowPoint& point) {
    ir::Access access = op->attr<AttrKey::Access>();
    auto index = op->Segment(IndexSegment(op));
    std::vector<Value*> kept;
    for (ir::AccessDim& dim : access.dims) {
      std::vector<ir::AccessTerm> terms;
      for (const ir::AccessTerm& term : dim.terms) {
        Value* operand = index[term.operand];
        bool is_block = operand->type()->kind == ir::TypeKind::Block;
        if (is_block && window_.HasAxisOf(operand)) {
          SizeTable& sizes = module_.types().sizes();
          Size at = sizes.Constant(point.at(operand->type()->axes[0]));
          Size step = sizes.Binary(SizeKind::Mul, term.coefficient, at);
          dim.offset = sizes.Binary(SizeKind::Add, dim.offset, step);
          continue;
        }
        terms.push_back({term.coefficient, static_cast<uint32_t>(kept.size())});
        kept.push_back(At(operand, point));
      }
      dim.terms = std::move(terms);
    }
    auto segments = passes::SegmentsOf(op, [&](Value* value) {
      return value->type()->kind == ir::TypeKind::Block ? value : At(value, point);
    });
    segments[IndexSegment(op)] = kept;
    AxisList axes = window_.Without(op->result()->type()->axes);
    ir::Type type = module_.types().Tile(op->result()->type()->scalar, axes);
    Value* read = passes::MakeOne(b, op->kind(), segments, type, op->attrs());
    read->def()->SetAttr(ir::MakeAttr<AttrKey::Access>(access));
    // The elements of a whole block exist.
    bool is_clipped =
        op->kind() == OpKind::Load && op->attr<AttrKey::BoundsMode>() == ir::BoundsMode::Clip;
    if (axes.empty() && is_clipped)
      read->def()->SetAttr(ir::MakeAttr<AttrKey::BoundsMode>(ir::BoundsMode::Proven));
    read->set_name(op->result()->name());
    return read;
  }

  ir::Module& module_;
  Op* reduction_;
  const SmallWindow& window_;
  std::optional<AxisId> in_row_;
  ir::ValueMap made_;  ///< values at the current point of the window
};

/// Adds a remark if the unrolled terms take much code.
void NoteGrowth(PassContext& context, const ir::Function& kernel, const Op& reduction,
                const Terms& terms, const SmallWindow& window) {
  // With 56 operations, the code of a kernel becomes 2.05 times as long, with 100 operations 2.6 times
  // (tests/bench/NOTES.md, Remarks).
  constexpr size_t kManyOps = 50;
  size_t points = window.Points().size();
  size_t ops = points * (terms.ops + 1);  // each term is also accumulated
  if (!context.remarks || ops < kManyOps) return;
  context.remarks->Add(passes::remark::CodeGrows, kernel.name, reduction.loc(),
                       passes::remark::CodeGrows.cycles, points, ops);
}

}  // namespace

bool IsUnrolled(const PassContext& context, const Op* reduction) {
  std::optional<SmallWindow> window = UnrolledWindow(context, reduction);
  return window && Terms(reduction, *window).MayUnroll();
}

void RunUnrollWindows(PassContext& context, ir::Function& kernel) {
  bool changed = false;
  for (OpKind kind : {OpKind::Reduce, OpKind::Contraction}) {
    for (Op* op : passes::OpsOfKind(kernel, kind)) {
      std::optional<SmallWindow> window = UnrolledWindow(context, op);
      if (!window) continue;
      Terms terms(op, *window);
      if (!terms.MayUnroll()) continue;
      NoteGrowth(context, kernel, *op, terms, *window);
      Unroller(context.module, op, *window, terms.in_row).Unroll();
      changed = true;
    }
  }
  if (changed) passes::DropUnused(kernel.body);
}

}  // namespace kdl::cpu
