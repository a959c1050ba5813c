#include <algorithm>
#include <cstdlib>
#include <optional>

#include "ir/builder.h"
#include "ir/views.h"
#include "passes/analysis/axis_order.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"
#include "support/is_within.h"
#include "targets/cpu/analysis/sliding_window.h"
#include "targets/cpu/passes.h"
#include "targets/cpu/window_block.h"

// cache-windows: improves reductions over a load whose index is a sum of several ranges, as in a convolution.
// Such a reduction reads a window of the tensor, and most elements of the window several times. Therefore the
// window becomes a tile of its own, which is loaded once. The op `sliding_window` describes how the
// reduction's axes map to the window's axes.
//
//   %x = load %a[S*%i + %r - P] : tile<f32; i r>      ->   %u = make_block S*start(i) + start(r) - P, its size, 0
//   reduce sum %x over r                                   %w = load %a[%u] : tile<f32; u>
//                                                          %x = sliding_window %w[S*%i + %r - P] over u : tile<f32; i r>
//
// The window extends from the least to the greatest index of the blocks, so it is in bounds if these indices
// are. Along the vectorized axis, the coefficient (S in the example) must be 1. Otherwise the elements of a
// vector would not be contiguous.

namespace kdl::cpu {

namespace {

using ir::AccessDim;

class Sharing {
 public:
  Sharing(ir::Module& module, ir::Function& kernel)
      : kernel_(kernel),
        order_(kernel),
        builder_(module),
        types_(module.types()),
        name_(module.context().names.Intern("window")) {}

  void CacheAllWindows() {
    for (Op* op : OpsOfKind(kernel_, OpKind::Load)) Share(ir::LoadOp(op));
  }

 private:
  void Share(ir::LoadOp load) {
    if (!MayShareWindow(load.op)) return;
    auto access = load->attr<AttrKey::Access>();
    std::vector<size_t> shared;
    for (size_t d = 0; d < access.dims.size(); ++d) {
      if (IsWindow(load, access.dims[d])) shared.push_back(d);
    }
    if (shared.empty() || !Saves(load, access, shared)) return;
    Rewrite(load, access, shared);
  }

  static std::optional<WindowTerms> TermsOf(ir::LoadOp load, const AccessDim& dim) {
    WindowTerms terms;
    for (const ir::AccessTerm& term : dim.terms) {
      Value* operand = load.index()[term.operand];
      bool is_block = operand->type()->kind == ir::TypeKind::Block;
      bool is_small =
          IsConstant(term.coefficient) && IsWithin(term.coefficient->value, kMostCoefficient);
      if (!is_block || !is_small) return std::nullopt;
      terms.push_back({operand, term.coefficient->value});
    }
    return terms;
  }

  bool IsWindow(ir::LoadOp load, const AccessDim& dim) const {
    std::optional<WindowTerms> terms = TermsOf(load, dim);
    if (!terms || terms->size() < 2) return false;
    AxisId last = order_.Sorted(load.result()->type()->axes).back();
    return std::none_of(terms->begin(), terms->end(), [&](const WindowTerm& term) {
      return term.block->type()->axes[0] == last && term.coefficient != 1;
    });
  }

  int64_t ConstantExtent(AxisId axis) const {
    Size extent = kernel_.axis(axis).extent;
    return IsConstant(extent) ? extent->value : 0;
  }

  /// Whether the window has fewer elements than the reduction reads.
  bool Saves(ir::LoadOp load, const ir::Access& access, const std::vector<size_t>& shared) const {
    double seen = 1;
    double window = 1;
    std::vector<AxisId> axes = KeptAxes(load, access, shared);
    for (AxisId axis : load.result()->type()->axes)
      seen *= static_cast<double>(ConstantExtent(axis));
    for (AxisId axis : axes) window *= static_cast<double>(ConstantExtent(axis));
    for (size_t d : shared)
      window *= static_cast<double>(WindowExtent(kernel_, *TermsOf(load, access.dims[d])));
    return window < seen;
  }

  /// Returns the axes of the load that index dimensions other than those in `shared`.
  static std::vector<AxisId> KeptAxes(ir::LoadOp load, const ir::Access& access,
                                      const std::vector<size_t>& shared) {
    std::vector<AxisId> axes;
    for (size_t d = 0; d < access.dims.size(); ++d) {
      if (Contains(shared, d)) continue;
      for (const ir::AccessTerm& term : access.dims[d].terms)
        axes = ir::UnionAxes(axes, load.index()[term.operand]->type()->axes);
    }
    return axes;
  }

  void Rewrite(ir::LoadOp load, const ir::Access& access, const std::vector<size_t>& shared) {
    builder_.StandAt(load.op);
    ir::Access narrow = access;
    std::vector<Value*> operands(load.index().begin(), load.index().end());
    std::vector<AxisId> axes = KeptAxes(load, access, shared);
    ir::AxisList window_axes;
    ir::Access relation;
    for (size_t d : shared) {
      WindowTerms terms = *TermsOf(load, access.dims[d]);
      int64_t extent = WindowExtent(kernel_, terms);
      AxisId axis = kernel_.AddAxis({name_, types_.sizes().Constant(extent), nullptr, {}});
      Value* offset = builder_.SizeValue(access.dims[d].offset);
      Value* block = MakeWindow(builder_, terms, offset, axis);
      Size one = types_.sizes().Constant(1);
      narrow.dims[d] = {{{one, static_cast<uint32_t>(operands.size())}},
                        types_.sizes().Constant(0)};
      operands.push_back(block);
      axes = ir::UnionAxes(axes, {axis});
      window_axes.push_back(axis);
      relation.dims.push_back(access.dims[d]);
    }
    Value* window = Load(load, narrow, operands, axes);
    SlidingWindow(load, window, relation, window_axes);
  }

  /// Returns the operands that the access uses, without duplicates, and renumbers the operands in the access
  /// accordingly.
  static std::vector<Value*> Compact(ir::Access& access, const std::vector<Value*>& operands) {
    std::vector<Value*> used;
    for (AccessDim& dim : access.dims) {
      for (ir::AccessTerm& term : dim.terms) {
        Value* operand = operands[term.operand];
        auto found = std::find(used.begin(), used.end(), operand);
        term.operand = static_cast<uint32_t>(found - used.begin());
        if (found == used.end()) used.push_back(operand);
      }
    }
    return used;
  }

  Value* Load(ir::LoadOp load, ir::Access access, const std::vector<Value*>& operands,
              const std::vector<AxisId>& axes) {
    std::vector<Value*> index = Compact(access, operands);
    std::vector<ir::Attr> attrs = load->attrs();
    for (ir::Attr& attr : attrs) {
      if (attr.key == AttrKey::Access) attr = ir::MakeAttr<AttrKey::Access>(access);
    }
    ir::Type type = types_.Tile(load.result()->type()->scalar, axes);
    return MakeOne(builder_, OpKind::Load,
                   {{load.tensor()}, index, OneOrNone(load.otherwise()), {}}, type, attrs);
  }

  /// Inserts the `sliding_window`. Casts of the loaded elements move before it, so that each element of the
  /// window is also converted only once.
  void SlidingWindow(ir::LoadOp load, Value* window, ir::Access relation,
                     const ir::AxisList& over) {
    std::vector<Value*> operands(load.index().begin(), load.index().end());
    std::vector<Value*> index = Compact(relation, operands);
    std::vector<Op*> seen = {load.op};
    for (Op* user = load.result()->uses()[0].user; FitsElement(user);
         user = user->result()->uses()[0].user) {
      Scalar scalar = user->result()->type()->scalar;
      window = builder_.Make(user->kind(), {window}, types_.Tile(scalar, window->type()->axes));
      seen.push_back(user);
    }
    ir::Type type = seen.back()->result()->type();
    Op* sliding_window = builder_.Create(
        OpKind::SlidingWindow, {{window}, index}, {type},
        {ir::MakeAttr<AttrKey::Axes>(over), ir::MakeAttr<AttrKey::Access>(std::move(relation))});
    seen.back()->result()->ReplaceAllUsesWith(sliding_window->result());
    for (; !seen.empty(); seen.pop_back()) ir::Erase(seen.back());
  }

  ir::Function& kernel_;
  AxisOrder order_;
  ir::Builder builder_;
  ir::TypeTable& types_;
  Name name_;
};

}  // namespace

void RunCacheWindows(PassContext& context, ir::Function& kernel) {
  Sharing(context.module, kernel).CacheAllWindows();
}

}  // namespace kdl::cpu
