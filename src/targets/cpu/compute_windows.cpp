#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/builder.h"
#include "ir/op_info.h"
#include "ir/views.h"
#include "passes/rewriting/drop_unused.h"
#include "passes/rewriting/rewrite.h"
#include "support/is_within.h"
#include "targets/cpu/analysis/block_sums.h"
#include "targets/cpu/analysis/kernel_shape.h"
#include "targets/cpu/analysis/sliding_window.h"
#include "targets/cpu/passes.h"
#include "targets/cpu/window_block.h"

// compute-windows: computes the terms of a reduction only once if many of them are equal because they depend on
// sums of ranges only, as in a convolution of a tensor that is changed first. The terms become a window, which is a
// tile over the sums, and the op `sliding_window` describes how the reduction's axes map to it.
//
//   %a = sub iota(%i), iota(%r) : tile<i64; i r>
//   %t = select (eq (rem %a, 2), 0), load %x[div %a, 2] else 0.0, 0.0 : tile<f32; i r>
//   contraction %w, %t into %c over r
//   ->
//   %u = make_block start(i) - start(r) - size(r) + 1, size(i) + size(r) - 1, 0 ; %a = iota(%u) : tile<i64; u>
//   %t = select (eq (rem %a, 2), 0), load %x[div %a, 2] else 0.0, 0.0 : tile<f32; u>
//   %s = sliding_window %t[%i - %r] over u : tile<f32; i r>
//   contraction %w, %s into %c over r
//
// If the terms are loaded and not computed, the pass cache-windows does the same.

namespace kdl::cpu {

namespace {

/// Returns the terms of the sum that are blocks, sorted by axis, or nothing if a coefficient is too large.
std::optional<WindowTerms> BlocksOf(const BlockSum& sum) {
  WindowTerms terms;
  for (const auto& [value, factor] : sum.terms) {
    if (value->type()->kind != ir::TypeKind::Block) continue;
    if (!IsWithin(factor, kMostCoefficient)) return std::nullopt;
    terms.push_back({const_cast<Value*>(value), factor});
  }
  std::ranges::sort(terms, {}, [](const WindowTerm& term) { return term.block->type()->axes[0]; });
  return terms;
}

/// Returns the ranges that a dimension of the access adds up, sorted by axis, or nothing if one of them occurs twice or
/// has another coefficient than a small constant.
std::optional<WindowTerms> BlocksOf(ir::LoadOp load, const ir::AccessDim& dim) {
  WindowTerms terms;
  for (const ir::AccessTerm& term : dim.terms) {
    Value* operand = load.index()[term.operand];
    if (operand->type()->kind != ir::TypeKind::Block) continue;
    bool is_small = IsConstant(term.coefficient) && term.coefficient->value != 0 &&
                    IsWithin(term.coefficient->value, kMostCoefficient);
    bool is_new = std::ranges::none_of(
        terms, [&](const WindowTerm& other) { return other.block == operand; });
    if (!is_small || !is_new) return std::nullopt;
    terms.push_back({operand, term.coefficient->value});
  }
  std::ranges::sort(terms, {}, [](const WindowTerm& term) { return term.block->type()->axes[0]; });
  return terms;
}

/// Returns a tile of indices as a sum of ranges, or nothing if the value is something else.
std::optional<BlockSum> IndexSum(const Value* value) {
  if (!IsTileValue(value) || value->type()->scalar != Scalar::I64) return std::nullopt;
  return BlockSum::SumOfIndex(value);
}

AxisId AxisOf(const WindowTerm& term) { return term.block->type()->axes[0]; }

/// The sums of ranges on which a factor of a reduction depends.
class Sums {
 public:
  explicit Sums(Value* factor) { Visit(factor); }

  /// Returns the sums of at least two ranges that can be replaced by an index along a window: the factor depends on
  /// the ranges in no other way.
  std::vector<WindowTerms> Windows() const {
    std::vector<WindowTerms> windows;
    for (const WindowTerms& sum : sums_) {
      bool is_alone = std::ranges::all_of(sum, [&](const WindowTerm& term) {
        AxisId axis = AxisOf(term);
        return !Contains(kept_, axis) && std::ranges::count_if(sums_, [&](const auto& other) {
                                           return HasTerm(other, axis);
                                         }) == 1;
      });
      if (sum.size() > 1 && is_alone) windows.push_back(sum);
    }
    return windows;
  }

  static bool HasTerm(const WindowTerms& sum, AxisId axis) {
    return std::ranges::any_of(sum, [&](const WindowTerm& term) { return AxisOf(term) == axis; });
  }

 private:
  void Keep(const AxisList& axes) { kept_.insert(kept_.end(), axes.begin(), axes.end()); }

  void Note(const WindowTerms& sum) {
    if (!sum.empty() && !Contains(sums_, sum)) sums_.push_back(sum);
  }

  void Visit(Value* value) {
    if (!IsTileValue(value) || !seen_.insert(value).second) return;
    if (value->def() && value->def()->kind() == OpKind::Broadcast)
      return Visit(value->def()->operand(0));
    if (std::optional<BlockSum> sum = IndexSum(value)) {
      std::optional<WindowTerms> terms = BlocksOf(*sum);
      bool has_all = terms && terms->size() == value->type()->axes.size();
      return has_all ? Note(*terms) : Keep(value->type()->axes);
    }
    Op* op = value->def();
    bool is_load = op && op->kind() == OpKind::Load;
    if (is_load && MayLoadMore(ir::LoadOp(op))) return VisitLoad(ir::LoadOp(op));
    bool computes = op && op->info().is_computed() && !MayTrap(op);
    if (!computes) return Keep(value->type()->axes);
    for (Value* operand : op->operands()) Visit(operand);
  }

  /// Whether the load may also run for the points of a window for which the original code does not run. If its
  /// indices are sums of ranges, the least and the greatest of them are among the original ones.
  static bool MayLoadMore(ir::LoadOp load) {
    if (load->HasAttr(AttrKey::Copied)) return false;
    auto mode = load->attr<AttrKey::BoundsMode>();
    if (mode == ir::BoundsMode::Else) return true;
    return mode == ir::BoundsMode::Proven && !load.mask() &&
           std::ranges::none_of(load.index(),
                                [](const Value* index) { return IsTileValue(index); });
  }

  void VisitLoad(ir::LoadOp load) {
    for (const ir::AccessDim& dim : load->attr<AttrKey::Access>().dims) {
      if (std::optional<WindowTerms> terms = BlocksOf(load, dim)) {
        Note(*terms);
        continue;
      }
      for (const ir::AccessTerm& term : dim.terms) Keep(load.index()[term.operand]->type()->axes);
    }
    for (Value* operand : load->operands()) Visit(operand);
  }

  std::vector<WindowTerms> sums_;
  AxisList kept_;  ///< axes on which the factor depends in other ways
  std::unordered_set<const Value*> seen_;
};

/// A range over the values of a sum.
struct SumWindow {
  WindowTerms terms;
  AxisId axis;
  Value* block = nullptr;
};

/// Computes a factor of a reduction for windows.
class WindowMaker {
 public:
  WindowMaker(ir::Module& module, ir::Function& kernel, const std::vector<WindowTerms>& sums,
              AxisId last)
      : module_(module) {
    kdl::Name name = module.context().names.Intern("window");
    for (const WindowTerms& terms : sums) {
      Size extent = module.types().sizes().Constant(WindowExtent(kernel, terms));
      ir::Axis axis{name, extent, nullptr, {}};
      axis.innermost = Sums::HasTerm(terms, last);
      windows_.push_back({terms, kernel.AddAxis(axis)});
    }
    for (SumWindow& window : windows_) {
      ir::Builder b = AfterBlocks(window.terms);
      window.block = MakeWindow(b, window.terms, b.I64(0), window.axis);
    }
  }

  /// Replaces the factor of the reduction by a sliding window.
  void UseWindows(Op* fold, size_t operand) {
    Value* factor = fold->operand(operand);
    ir::Access relation;
    AxisList over;
    std::vector<Value*> index;
    for (const SumWindow& window : windows_) {
      ir::AccessDim dim{{}, Number(0)};
      for (const WindowTerm& term : window.terms) {
        dim.terms.push_back({Number(term.coefficient), static_cast<uint32_t>(index.size())});
        index.push_back(term.block);
      }
      relation.dims.push_back(std::move(dim));
      over.push_back(window.axis);
    }
    ir::Builder b(module_, fold);
    Value* slid =
        MakeOne(b, OpKind::SlidingWindow, {{At(factor)}, index}, factor->type(),
                {ir::MakeAttr<AttrKey::Axes>(over), ir::MakeAttr<AttrKey::Access>(relation)});
    slid->set_name(factor->name());
    fold->SetOperand(operand, slid);
  }

 private:
  Size Number(int64_t number) { return module_.types().sizes().Constant(number); }

  /// Whether the second value is defined later than the first one. Both are visible at one place.
  static bool IsLater(const Value* first, const Value* second) {
    const ir::Region* outer = MadeIn(first);
    const ir::Region* inner = MadeIn(second);
    if (outer == inner)
      return second->def() && (!first->def() || ComesAfter(second->def(), first->def()));
    for (const Op* op = inner->parent(); op; op = op->parent_region()->parent()) {
      if (op->parent_region() == outer) return true;
    }
    return false;
  }

  /// Returns a builder that inserts where all blocks of the terms have been defined.
  ir::Builder AfterBlocks(const WindowTerms& terms) {
    Value* last = terms[0].block;
    for (const WindowTerm& term : terms)
      if (IsLater(last, term.block)) last = term.block;
    Op* def = last->def();
    ir::Builder b(module_, def ? def->parent_region() : last->parent_region(),
                  def ? def->next() : last->parent_region()->first());
    if (def) b.set_loc(def->loc());
    return b;
  }

  const SumWindow* SumWindowWith(AxisId axis) const {
    auto found = std::ranges::find_if(
        windows_, [&](const SumWindow& window) { return Sums::HasTerm(window.terms, axis); });
    return found == windows_.end() ? nullptr : &*found;
  }

  bool Varies(const Value* value) const {
    return std::ranges::any_of(value->type()->axes,
                               [&](AxisId axis) { return SumWindowWith(axis); });
  }

  /// Returns the axes with those of the sums replaced by those of the windows.
  AxisList Replaced(const AxisList& axes) const {
    AxisList replaced;
    for (AxisId axis : axes) {
      const SumWindow* window = SumWindowWith(axis);
      replaced = ir::UnionAxes(replaced, {window ? window->axis : axis});
    }
    return replaced;
  }

  /// Returns the value at the points of the windows.
  Value* At(Value* value) {
    if (!Varies(value) || value->type()->kind == ir::TypeKind::Block) return value;
    Value*& made = made_[value];
    if (!made) {
      made = Make(value);
      made->set_name(value->name());
    }
    return made;
  }

  Value* Make(Value* value) {
    Op* op = value->def();
    ir::Builder b(module_, op);
    if (op->kind() == OpKind::Broadcast) {
      Value* narrow = At(op->operand(0));
      return b.Broadcast(narrow, Replaced(op->result()->type()->axes));
    }
    if (std::optional<BlockSum> sum = IndexSum(value)) return MakeIndex(b, *sum);
    if (op->kind() == OpKind::Load) return MakeLoad(b, ir::LoadOp(op));
    ir::ValueMap map;
    for (Value* operand : op->operands()) map[operand] = At(operand);
    return passes::CloneRetyped(op, b, map)->result();
  }

  /// Makes the index along a window, plus the other terms of the sum.
  Value* MakeIndex(ir::Builder& b, const BlockSum& sum) {
    const SumWindow* window = nullptr;
    Value* rest = b.I64(sum.constant);
    for (const auto& [value, factor] : sum.terms) {
      if (value->type()->kind == ir::TypeKind::Block) {
        window = SumWindowWith(value->type()->axes[0]);
      } else {
        rest = b.Add(rest, b.Mul(const_cast<Value*>(value), b.I64(factor)));
      }
    }
    ir::Type type = module_.types().Tile(Scalar::I64, {window->axis});
    Value* index = b.Make(OpKind::Iota, {window->block}, type);
    return ConstantOf(rest) == 0 ? index : b.Add(index, rest);
  }

  Value* MakeLoad(ir::Builder& b, ir::LoadOp load) {
    ir::Access access = load->attr<AttrKey::Access>();
    std::vector<Value*> index;
    for (ir::AccessDim& dim : access.dims) {
      std::vector<ir::AccessTerm> terms;
      const SumWindow* window = nullptr;
      for (const ir::AccessTerm& term : dim.terms) {
        Value* operand = load.index()[term.operand];
        if (operand->type()->kind == ir::TypeKind::Block && Varies(operand)) {
          window = SumWindowWith(operand->type()->axes[0]);
          continue;
        }
        terms.push_back({term.coefficient, static_cast<uint32_t>(index.size())});
        index.push_back(At(operand));
      }
      if (window) {
        terms.push_back({Number(1), static_cast<uint32_t>(index.size())});
        index.push_back(window->block);
      }
      dim.terms = std::move(terms);
    }
    auto segments = passes::SegmentsOf(load.op, [&](Value* value) { return At(value); });
    segments[ir::LoadOp::at_index] = index;
    ir::Type type =
        module_.types().Tile(load.result()->type()->scalar, Replaced(load.result()->type()->axes));
    Value* made = passes::MakeOne(b, OpKind::Load, segments, type, load->attrs());
    made->def()->SetAttr(ir::MakeAttr<AttrKey::Access>(access));
    return made;
  }

  ir::Module& module_;
  std::vector<SumWindow> windows_;
  std::unordered_map<const Value*, Value*> made_;
};

class WindowComputer {
 public:
  WindowComputer(ir::Module& module, ir::Function& kernel)
      : module_(module), kernel_(kernel), order_(kernel) {}

  /// Returns whether it changed the kernel.
  bool ComputeAll() {
    bool changed = false;
    for (OpKind kind : {OpKind::Reduce, OpKind::Contraction}) {
      for (Op* fold : OpsOfKind(kernel_, kind)) {
        if (fold->attr<AttrKey::Order>() != ir::OrderKind::Sequential) continue;
        for (size_t operand = 0; operand < FactorsOf(fold); ++operand)
          changed = Compute(fold, operand) || changed;
      }
    }
    return changed;
  }

 private:
  static size_t FactorsOf(const Op* fold) {
    return fold->kind() == OpKind::Contraction ? size_t{ir::ContractionOp::at_into} : 1;
  }

  bool Compute(Op* fold, size_t operand) {
    Value* factor = fold->operand(operand);
    if (!IsTileValue(factor) || factor->uses().size() != 1) return false;
    AxisId last = order_.Sorted(factor->type()->axes).back();
    std::vector<WindowTerms> sums = Sums(factor).Windows();
    std::erase_if(sums, [&](const WindowTerms& sum) { return !RunsAlong(sum, last); });
    if (sums.empty() || IsOnlyLoaded(factor) || !Saves(sums)) return false;
    WindowMaker(module_, kernel_, sums, last).UseWindows(fold, operand);
    return true;
  }

  /// Whether adjacent elements of the factor along the axis are adjacent in the window.
  static bool RunsAlong(const WindowTerms& sum, AxisId axis) {
    return std::ranges::all_of(
        sum, [&](const WindowTerm& term) { return AxisOf(term) != axis || term.coefficient == 1; });
  }

  /// Whether the pass cache-windows can load the factor as a window.
  static bool IsOnlyLoaded(const Value* factor) {
    const Op* op = factor->def();
    while (op && FitsElement(op)) op = op->operand(0)->def();
    return op && op->kind() == OpKind::Load && MayShareWindow(op) &&
           std::ranges::none_of(IndexOf(op), [](const Value* index) { return IsTileValue(index); });
  }

  /// Whether the windows have fewer elements than the ranges of their sums together.
  bool Saves(const std::vector<WindowTerms>& sums) const {
    double terms = 1;
    double windows = 1;
    for (const WindowTerms& sum : sums) {
      windows *= static_cast<double>(WindowExtent(kernel_, sum));
      for (const WindowTerm& term : sum) terms *= ExtentOf(AxisOf(term));
    }
    return windows < terms;
  }

  double ExtentOf(AxisId axis) const {
    Size extent = kernel_.axis(axis).extent;
    return IsConstant(extent) ? static_cast<double>(extent->value) : 0;
  }

  ir::Module& module_;
  ir::Function& kernel_;
  AxisOrder order_;
};

}  // namespace

void RunComputeWindows(PassContext& context, ir::Function& kernel) {
  if (WindowComputer(context.module, kernel).ComputeAll()) passes::DropUnused(kernel.body);
}

}  // namespace kdl::cpu
