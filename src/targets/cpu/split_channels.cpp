#include <algorithm>
#include <optional>

#include "ir/builder.h"
#include "ir/views.h"
#include "passes/rewrite.h"
#include "targets/cpu/analysis/kernel_shape.h"
#include "targets/cpu/own_blocks.h"
#include "targets/cpu/passes.h"

// split-channels: a convolution walks the output's columns as vectors, as memory has them. Images are often as wide as no whole number
// of vectors, and channels are not: where channels fill vectors better, launches walk those, and turn what they store. That
// pays where much is summed up for an element; how much, the launch knows.
//
//   spmd (%o: blk<o> …, %i: …, %j: …)   ->   if %full { spmd (%o.1: blk<o.wide> …, %i.1: …, %j.1: …) { … } }
//   { … contraction … : tile<o i j> }        else { spmd (%o: blk<o> …, %i: …, %j: …) { … } }

namespace kdl::cpu {

namespace {

constexpr int64_t kPanels = 2;   // of register blocks' columns in a block of channels
constexpr int64_t kTerms = 128;  // of an element; fewer do not pay for what is turned
constexpr int64_t kMargin = 16;  // channels fill vectors better by a part of so many, at least

struct Convolution {
  const Op* contraction;
  size_t channels;  ///< the numbers of the spmd's binders
  size_t columns;
};

/// Whether a dimension of what is loaded adds up several ranges.
bool LoadsWindow(const Value* factor) {
  while (factor->def() && factor->def()->kind() == OpKind::Cast) factor = factor->def()->operand(0);
  const Op* load = factor->def();
  if (!load || load->kind() != OpKind::Load) return false;
  const ir::Access access = load->attr<AttrKey::Access>();
  auto index = IndexOf(load);
  auto ranges = [&](const ir::AccessDim& dim) {
    return std::ranges::count_if(dim.terms, [&](const ir::AccessTerm& term) {
      return index[term.operand]->type()->kind == ir::TypeKind::Blk;
    });
  };
  return std::ranges::any_of(access.dims, [&](const auto& dim) { return ranges(dim) > 1; });
}

class Splitter {
 public:
  Splitter(ir::Module& module, ir::Function& kernel, const ProcessorFacts& facts)
      : module_(module), function_(kernel), kernel_{kernel, facts, AxisOrder(kernel)} {}

  /// Nothing where the spmd is no convolution, or has others beside it.
  std::optional<Convolution> Find(const Op* spmd) const {
    auto contractions =
        OpsIn(spmd->region(), [](const Op* op) { return op->kind() == OpKind::Contraction; });
    if (spmd->HasAttr(AttrKey::Domain) || contractions.size() != 1) return std::nullopt;
    return Of(contractions[0], spmd);
  }

  /// Whether the launch's sizes are such that channels fill vectors better.
  Value* FillsBetter(ir::Builder& b, const Op* spmd, const Convolution& found) const {
    int64_t lanes = LanesOf(found.contraction);
    auto size = [&](size_t binder) {
      return b.Sub(spmd->operand(2 * binder + 1), spmd->operand(2 * binder));
    };
    auto whole = [&](Value* elements) {
      Value* each = b.I64(lanes);
      Value* padded = b.Add(elements, b.I64(lanes - 1));
      return b.Mul(b.Div(padded, each), each);
    };
    Value* channels = size(found.channels);
    Value* columns = size(found.columns);
    Value* whole_columns = whole(columns);
    Value* whole_channels = whole(channels);
    Value* ours = b.Mul(channels, whole_columns);
    Value* theirs = b.Mul(columns, whole_channels);
    Value* fewer = b.Mul(ours, b.I64(kMargin - 1));
    Value* more = b.Mul(theirs, b.I64(kMargin));
    Value* better = b.Gt(fewer, more);
    Value* terms = Terms(b, found.contraction);
    Value* enough = b.Ge(terms, b.I64(kTerms));
    return b.And(enough, better);
  }

  void Split(Op* spmd, const Convolution& found) {
    ir::Builder b(module_, spmd);
    Value* condition = FillsBetter(b, spmd, found);
    AxisId channels = spmd->region()->param(found.channels)->type()->axes[0];
    ir::Axis wide = AxisLike(module_, function_, channels, ".wide", WideExtent(found.contraction));
    wide.innermost = true;
    OtherAxes others;
    others.Set(channels, function_.AddAxis(wide));
    SplitOff(b, spmd, condition, others);
  }

 private:
  int64_t LanesOf(const Op* contraction) const {
    return kernel_.facts.vector_bits / 8 / Bytes(contraction->attr<AttrKey::Acc>());
  }

  std::optional<Convolution> Of(const Op* contraction, const Op* spmd) const {
    bool plain = contraction->attr<AttrKey::Order>() == ir::OrderKind::Chain &&
                 !contraction->HasAttr(AttrKey::Unit);
    const Value* weights = contraction->operand(ir::ContractionOp::at_a);
    const Value* window = contraction->operand(ir::ContractionOp::at_b);
    if (LoadsWindow(weights)) std::swap(weights, window);
    if (!plain || !LoadsWindow(window) || LoadsWindow(weights)) return std::nullopt;
    AxisList kept = kernel_.order.Sorted(contraction->result()->type()->axes);
    auto channels = std::ranges::find_if(kept, [&](AxisId axis) { return !HasAxis(window, axis); });
    if (channels == kept.end() || *channels == kept.back() || HasAxis(weights, kept.back()))
      return std::nullopt;
    std::optional<size_t> of_channels = FreeBinderOf(function_, spmd, *channels);
    std::optional<size_t> of_columns = FreeBinderOf(function_, spmd, kept.back());
    bool stays_near = StaysNear(contraction, *channels) &&
                      TilesStayNear(kernel_, spmd, {{*channels, WideExtent(contraction)}});
    if (!of_channels || !of_columns || !stays_near) return std::nullopt;
    return Convolution{contraction, *of_channels, *of_columns};
  }

  int64_t WideExtent(const Op* contraction) const {
    return kPanels * kBlockColumns * LanesOf(contraction);
  }

  /// Whether the accumulators of a block of channels leave room for factors in the second-level cache.
  bool StaysNear(const Op* contraction, AxisId channels) const {
    double bytes = Bytes(contraction->attr<AttrKey::Acc>());
    for (AxisId axis : contraction->result()->type()->axes)
      bytes *=
          static_cast<double>(axis == channels ? WideExtent(contraction) : kernel_.Extent(axis));
    return bytes <= static_cast<double>(kernel_.facts.l2_bytes / 2);
  }

  /// How many terms an element is the sum of.
  Value* Terms(ir::Builder& b, const Op* contraction) const {
    Value* terms = b.I64(1);
    for (AxisId axis : contraction->attr<AttrKey::Axes>())
      terms = b.Mul(terms, Length(b, contraction, axis));
    return terms;
  }

  /// Of the loop over the axis's blocks, where the launch knows it; else of a block.
  Value* Length(ir::Builder& b, const Op* contraction, AxisId axis) const {
    for (const Op* op = contraction->block()->parent(); op; op = op->block()->parent()) {
      if (op->kind() != OpKind::For || op->region()->param(0)->type()->axes != AxisList{axis})
        continue;
      Value* lo = Known(b, op->operand(0));
      Value* hi = Known(b, op->operand(1));
      if (lo && hi) return b.Sub(hi, lo);
    }
    return b.I64(kernel_.Extent(axis));
  }

  /// The number as it is before the spmd; null: it is made inside.
  Value* Known(ir::Builder& b, Value* number) const {
    if (std::optional<int64_t> constant = ConstantOf(number)) return b.I64(*constant);
    return number->block() == function_.body ? number : nullptr;
  }

  ir::Module& module_;
  ir::Function& function_;
  KernelShape kernel_;  ///< of the function
};

}  // namespace

void RunSplitChannels(PassContext& context, ir::Function& kernel) {
  const ProcessorFacts& facts = FactsOf(context);
  for (Op* spmd : OpsOfKind(kernel, OpKind::Spmd)) {
    Splitter splitter(context.module, kernel, facts);
    if (std::optional<Convolution> found = splitter.Find(spmd)) splitter.Split(spmd, *found);
  }
}

}  // namespace kdl::cpu
