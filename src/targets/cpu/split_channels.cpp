#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "ir/builder.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/analysis/kernel_shape.h"
#include "targets/cpu/analysis/sliding_window.h"
#include "targets/cpu/own_blocks.h"
#include "targets/cpu/passes.h"

// split-channels: gives convolutions a second version with vectors along the channels. Normally, vectors are
// along the output's columns, which are contiguous in memory. However, image widths are often not a multiple
// of the vector length, while numbers of channels are. A launch uses the second version if its register
// blocks take less time, and transposes the output when storing it. That saves time only if each element is
// the sum of many terms; their number is known at launch. The blocks of the second version have as many rows
// as possible, as long as their accumulators fit into the second-level cache.
//
//   spmd (%o: block<o> …, %i: …, %j: …)   ->   if %full { spmd (%o.1: block<o.wide> …, %i.1: block<i.high> …, %j.1: …) { … } }
//   { … contraction … : tile<o i j> }        else { spmd (%o: block<o> …, %i: …, %j: …) { … } }

namespace kdl::cpu {

namespace {

// The number of panels in a block of channels. A panel is as wide as a register block.
constexpr int64_t kPanels = 2;
// The minimum number of terms of an element for which transposing saves time.
constexpr int64_t kTerms = 128;
// The number of sums in flight that is needed to keep a processor busy.
constexpr int64_t kIndependentSums = 8;

struct Convolution {
  const Op* contraction;
  size_t channels;             ///< which of the spmd's induction variables is for channels
  size_t columns;              ///< which of the spmd's induction variables is for columns
  std::optional<AxisId> rows;  ///< the output's row axis, if higher blocks are possible
  int64_t high = 0;            ///< the height of the higher blocks
};

/// Returns the op that loads the factor, possibly before casts, or null if the factor is not loaded.
const Op* FindLoad(const Value* factor) {
  while (factor->def() && factor->def()->kind() == OpKind::Cast) factor = factor->def()->operand(0);
  const Op* load = factor->def();
  return load && load->kind() == OpKind::Load ? load : nullptr;
}

/// Whether the factor is loaded with an index that adds several ranges, like the window of a convolution.
bool LoadsWindow(const Value* factor) {
  const Op* load = FindLoad(factor);
  if (!load) return false;
  const ir::Access access = load->attr<AttrKey::Access>();
  auto index = IndexOf(load);
  auto ranges = [&](const ir::AccessDim& dim) {
    return std::ranges::count_if(dim.terms, [&](const ir::AccessTerm& term) {
      return index[term.operand]->type()->kind == ir::TypeKind::Block;
    });
  };
  return std::ranges::any_of(access.dims, [&](const auto& dim) { return ranges(dim) > 1; });
}

class Splitter {
 public:
  Splitter(ir::Module& module, ir::Function& kernel, const ProcessorFacts& facts)
      : module_(module), function_(kernel), kernel_{kernel, facts, AxisOrder(kernel)} {}

  /// Describes the convolution that the spmd computes. Returns nothing if the spmd computes no convolution,
  /// has other contractions, or shares its domain with other spmds.
  std::optional<Convolution> Find(const Op* spmd) const {
    auto contractions =
        OpsIn(spmd->region(), [](const Op* op) { return op->kind() == OpKind::Contraction; });
    if (spmd->HasAttr(AttrKey::Domain) || contractions.size() != 1) return std::nullopt;
    return MatchConvolution(contractions[0], spmd);
  }

  /// Emits the condition that, for the launch's sizes, register blocks with vectors of channels take less
  /// time than blocks with vectors of columns.
  Value* FillsBetter(ir::Builder& b, const Op* spmd, const Convolution& found) const {
    auto size = [&](size_t binder) {
      return b.Sub(spmd->operand(2 * binder + 1), spmd->operand(2 * binder));
    };
    Value* channels = size(found.channels);
    Value* columns = size(found.columns);
    Value* ours = BlockTime(b, found, channels, columns);
    Value* theirs = BlockTime(b, found, columns, channels);
    Value* better = b.Gt(ours, theirs);
    Value* terms = Terms(b, found.contraction);
    Value* enough = b.Ge(terms, b.I64(kTerms));
    return b.And(enough, better);
  }

  /// Emits code that estimates the time that register blocks need for `rows` rows of `along` elements each,
  /// if vectors are along the rows. If a block is only one vector wide or has few rows, the latency of the
  /// additions dominates.
  Value* BlockTime(ir::Builder& b, const Convolution& found, Value* rows, Value* along) const {
    int64_t lanes = AccumulatorLanes(found.contraction);
    int64_t high = BlockRows(kernel_.facts, kBlockColumns);
    auto blocks = [&](Value* elements, int64_t block, int64_t of_block, int64_t part,
                      int64_t of_part) {
      Value* each = b.I64(block);
      Value* left = b.Rem(elements, each);
      Value* padded = b.Add(left, b.I64(part - 1));
      Value* each_part = b.I64(part);
      Value* parts = b.Div(padded, each_part);
      Value* whole = b.Div(elements, each);
      Value* of_each = of_block == block ? each : b.I64(of_block);
      Value* of_whole = b.Mul(whole, of_each);
      Value* of_each_part = of_part == part ? each_part : b.I64(of_part);
      Value* of_left = b.Mul(parts, of_each_part);
      return b.Add(of_whole, of_left);
    };
    Value* vectors = blocks(along, kBlockColumns * lanes, kBlockColumns * high, lanes,
                            std::max(high, kIndependentSums));
    Value* terms = blocks(rows, high, high, kIndependentSums / kBlockColumns,
                          kIndependentSums / kBlockColumns);
    return b.Mul(vectors, terms);
  }

  void Split(Op* spmd, const Convolution& found) {
    ir::Builder b(module_, spmd);
    Value* condition = FillsBetter(b, spmd, found);
    AxisId channels = spmd->region()->param(found.channels)->type()->axes[0];
    ir::Axis wide = AxisLike(module_, function_, channels, ".wide", WideExtent(found.contraction));
    wide.innermost = true;
    OtherAxes others;
    others.Set(channels, function_.AddAxis(wide));
    if (found.rows)
      others.Set(*found.rows,
                 function_.AddAxis(AxisLike(module_, function_, *found.rows, ".high", found.high)));
    SplitOff(b, spmd, condition, others);
  }

 private:
  int64_t AccumulatorLanes(const Op* contraction) const {
    return kernel_.facts.vector_bits / 8 / Bytes(contraction->attr<AttrKey::Acc>());
  }

  std::optional<Convolution> MatchConvolution(const Op* contraction, const Op* spmd) const {
    bool plain = contraction->attr<AttrKey::Order>() == ir::OrderKind::Sequential &&
                 !contraction->HasAttr(AttrKey::Instruction);
    const Value* weights = contraction->operand(ir::ContractionOp::at_a);
    const Value* window = contraction->operand(ir::ContractionOp::at_b);
    if (LoadsWindow(weights)) std::swap(weights, window);
    if (!plain || !LoadsWindow(window) || LoadsWindow(weights)) return std::nullopt;
    AxisList kept = kernel_.order.Sorted(contraction->result()->type()->axes);
    if (kept.empty()) return std::nullopt;
    AxisId columns = kept.back();
    kept.pop_back();
    auto at = std::ranges::find_if(kept, [&](AxisId axis) { return !HasAxis(window, axis); });
    if (at == kept.end() || HasAxis(weights, columns)) return std::nullopt;
    AxisId channels = *at;
    kept.erase(at);
    std::optional<size_t> of_channels = FreeBinderOf(function_, spmd, channels);
    std::optional<size_t> of_columns = FreeBinderOf(function_, spmd, columns);
    std::map<AxisId, int64_t> extents = {{channels, WideExtent(contraction)}};
    bool stays_cached =
        StaysInCache(contraction, channels) && TilesStayInCache(kernel_, spmd, extents);
    if (!of_channels || !of_columns || !stays_cached) return std::nullopt;
    Convolution found{contraction, *of_channels, *of_columns, std::nullopt};
    if (kept.empty() || !FreeBinderOf(function_, spmd, kept.back())) return found;
    found.high = HighExtent(contraction, channels, kept.back());
    extents[kept.back()] = found.high;
    bool fits = WindowBytes(FindLoad(window), extents) <= MostBytes() &&
                TilesStayInCache(kernel_, spmd, extents, SharedMakers(window));
    if (fits) found.rows = kept.back();
    return found;
  }

  /// Returns the ops that make a window, if the window can be a tile that contains each element once.
  /// Otherwise returns an empty list.
  static std::vector<const Op*> SharedMakers(const Value* window) {
    if (!MayShareWindow(FindLoad(window))) return {};
    std::vector<const Op*> makers;
    for (const Op* op = window->def(); op->kind() == OpKind::Cast; op = op->operand(0)->def())
      makers.push_back(op);
    makers.push_back(FindLoad(window));
    return makers;
  }

  int64_t WideExtent(const Op* contraction) const {
    return kPanels * kBlockColumns * AccumulatorLanes(contraction);
  }

  /// Returns the size in bytes of the accumulators for a block of channels.
  double AccumulatorBytes(const Op* contraction, AxisId channels) const {
    double bytes = Bytes(contraction->attr<AttrKey::Acc>());
    for (AxisId axis : contraction->result()->type()->axes)
      bytes *=
          static_cast<double>(axis == channels ? WideExtent(contraction) : kernel_.Extent(axis));
    return bytes;
  }

  /// Returns the number of bytes that accumulators may occupy. Windows may occupy as many bytes again.
  double MostBytes() const { return static_cast<double>(kernel_.facts.l2_bytes / 2); }

  /// Whether the accumulators leave room for the factors in the second-level cache.
  bool StaysInCache(const Op* contraction, AxisId channels) const {
    return AccumulatorBytes(contraction, channels) <= MostBytes();
  }

  /// Returns the number of bytes that the load reads, counting each element once, if blocks of these axes
  /// have the given extents.
  double WindowBytes(const Op* load, const std::map<AxisId, int64_t>& extents) const {
    const ir::Access access = load->attr<AttrKey::Access>();
    auto index = IndexOf(load);
    double bytes = Bytes(load->result()->type()->scalar);
    for (const ir::AccessDim& dim : access.dims) {
      double reach = 0;
      for (const ir::AccessTerm& term : dim.terms) {
        ir::Type type = index[term.operand]->type();
        if (type->kind != ir::TypeKind::Block) continue;
        auto own = extents.find(type->axes[0]);
        int64_t extent = own == extents.end() ? kernel_.Extent(type->axes[0]) : own->second;
        double step =
            IsConstant(term.coefficient) ? static_cast<double>(term.coefficient->value) : 1;
        reach += std::abs(step) * static_cast<double>(extent - 1);
      }
      bytes *= reach + 1;
    }
    return bytes;
  }

  /// Returns the number of rows whose accumulators fit into the cache. With blocks of that height, weights
  /// are transposed once for all of these rows, and the windows of different blocks overlap less.
  int64_t HighExtent(const Op* contraction, AxisId channels, AxisId rows) const {
    double times = MostBytes() / AccumulatorBytes(contraction, channels);
    return static_cast<int64_t>(static_cast<double>(kernel_.Extent(rows)) * times);
  }

  /// Emits the number of terms that are added to compute one element.
  Value* Terms(ir::Builder& b, const Op* contraction) const {
    Value* terms = b.I64(1);
    for (AxisId axis : contraction->attr<AttrKey::Axes>())
      terms = b.Mul(terms, Length(b, contraction, axis));
    return terms;
  }

  /// Emits the length of the loop over the axis's blocks if it is known at launch, otherwise the length of a
  /// block.
  Value* Length(ir::Builder& b, const Op* contraction, AxisId axis) const {
    for (const Op* op = contraction->parent_region()->parent(); op;
         op = op->parent_region()->parent()) {
      if (op->kind() != OpKind::For || op->region()->param(0)->type()->axes != AxisList{axis})
        continue;
      Value* lo = Known(b, op->operand(0));
      Value* hi = Known(b, op->operand(1));
      if (lo && hi) return b.Sub(hi, lo);
    }
    return b.I64(kernel_.Extent(axis));
  }

  /// Returns the number in a form that is available before the spmd, or null if the number is computed inside
  /// the spmd.
  Value* Known(ir::Builder& b, Value* number) const {
    if (std::optional<int64_t> constant = ConstantOf(number)) return b.I64(*constant);
    return number->parent_region() == function_.body ? number : nullptr;
  }

  ir::Module& module_;
  ir::Function& function_;
  KernelShape kernel_;  ///< shape of `function_`
};

}  // namespace

void RunSplitChannels(PassContext& context, ir::Function& kernel) {
  const ProcessorFacts& facts = ProcessorFactsOf(context);
  for (Op* spmd : OpsOfKind(kernel, OpKind::Spmd)) {
    Splitter splitter(context.module, kernel, facts);
    if (std::optional<Convolution> found = splitter.Find(spmd)) splitter.Split(spmd, *found);
  }
}

}  // namespace kdl::cpu
