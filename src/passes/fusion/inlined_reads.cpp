#include "passes/fusion/inlined_reads.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/views.h"
#include "passes/fusion/reads.h"
#include "passes/rewriting/rewrite.h"
#include "support/check.h"

// The loads of a fused kernel are replaced by values of the producer:
//
//   %h.1 = load %h[%i + %r - 2, %j] else 0                   // the producer: store %v to %h[%a, %b]
//   ->
//   %p = make_block max(start(i) - 2, 0), …, 0 : block<p>     // the window of the loads
//   … the body of the producer with %p for %a and %j for %b …
//   %h.1 = gather %v at (iota(i) + iota(r) - 2) over p else 0
//
// An index that is a block itself, such as %j, needs no window.

namespace kdl::passes {

namespace {

/// A load of one of the producer's tensors.
struct InlinedRead {
  Op* load = nullptr;
  const ProducedTensor* tensor = nullptr;
  std::vector<size_t> dims;      ///< for each binder, the dimension of the tensor
  std::vector<IndexSpan> spans;  ///< for each binder
};

/// Loads that read from the same values.
struct ReadGroup {
  std::vector<InlinedRead> reads;
  std::vector<IndexSpan> spans;  ///< for each binder, the indices of all loads
  Op* first() const { return reads[0].load; }
};

class ReadInliner {
 public:
  ReadInliner(ir::Module& module, ir::Function& kernel, const Producer& producer,
              const std::vector<InlinedTensor>& tensors, const Copier& copier, Obstacle& obstacle)
      : module_(module),
        kernel_(kernel),
        producer_(producer),
        tensors_(tensors),
        copier_(copier),
        obstacle_(obstacle) {}

  bool InlineAll() {
    for (const InlinedTensor& tensor : tensors_) {
      if (!AreLoads(tensor)) return false;
    }
    // An index may be the result of another load, so the loads are analysed again after each step.
    while (true) {
      std::vector<Op*> loads = OpsIn(kernel_.body, [&](const Op* op) {
        return op->kind() == OpKind::Load && TensorFor(op) != nullptr;
      });
      if (loads.empty()) return true;
      std::vector<ReadGroup> groups;
      for (Op* load : loads) {
        std::optional<InlinedRead> read = Analyse(load);
        if (!read) return false;
        AddTo(groups, std::move(*read));
      }
      Inline(groups[0]);
    }
  }

 private:
  bool Refuse(const Op* op, std::string reason, std::string help) {
    std::string text =
        (op->HasAttr(AttrKey::Text) ? op->attr<AttrKey::Text>() : op->result()->name()).str();
    obstacle_ = {Obstacle::Kind::Read, 0, std::move(text), op->loc(), std::move(reason),
                 std::move(help)};
    return false;
  }

  const InlinedTensor* TensorFor(const Op* load) const {
    auto found =
        std::ranges::find(tensors_, load->operand(ir::LoadOp::at_tensor), &InlinedTensor::param);
    return found == tensors_.end() ? nullptr : &*found;
  }

  bool AreLoads(const InlinedTensor& tensor) {
    for (const ir::Use& use : tensor.param->uses()) {
      OpKind kind = use.user->kind();
      if (kind == OpKind::Load || kind == OpKind::Store) continue;
      return Refuse(use.user, "it is a view of a tensor that another kernel of the `fuse` writes",
                    "index the tensor itself");
    }
    return true;
  }

  size_t binders() const { return producer_.spmd->region()->params().size(); }
  const Value* Binder(size_t n) const { return producer_.spmd->region()->param(n); }

  std::optional<InlinedRead> Analyse(Op* load) {
    const InlinedTensor& tensor = *TensorFor(load);
    std::string reason;
    std::optional<TensorRead> found = ReadOf(kernel_, load, reason);
    if (!found) {
      Refuse(load, reason, "use sums of ranges as indices, with `else` or `clamp` at the ends");
      return std::nullopt;
    }
    InlinedRead read{load, tensor.tensor, std::vector<size_t>(binders()),
                     std::vector<IndexSpan>(binders())};
    for (size_t d = 0; d < found->dims.size(); ++d) {
      size_t n = tensor.tensor->binders[d];
      read.dims[n] = d;
      read.spans[n] = std::move(found->dims[d]);
    }
    for (size_t n = 0; n < binders(); ++n) {
      if (!IsIndexBlock(Binder(n)) && !IsSingle(read, n)) return std::nullopt;
    }
    return read;
  }

  /// Returns whether a dimension over which the producer has a single index also has a single index in the load.
  bool IsSingle(const InlinedRead& read, size_t n) {
    const IndexSpan& span = read.spans[n];
    bool is_range =
        span.low != span.high || span.is_clamped ||
        std::ranges::any_of(span.terms, [](const auto& term) { return IsIndexBlock(term.first); });
    std::string_view name = Binder(n)->name().text();
    if (is_range) {
      return Refuse(
          read.load,
          fmt::format("'{}' is a single index in '{}', but a range here", name,
                      producer_.kernel->base_name()),
          fmt::format("write `{} in … by 1` in '{}'", name, producer_.kernel->base_name()));
    }
    bool is_binder = span.terms.size() == 1 && span.terms[0].second == 1 && span.low == 0 &&
                     !span.offset && RunsOver(span.terms[0].first, read, read.dims[n]);
    if (!ir::LoadOp(read.load).otherwise() || is_binder) return true;
    return Refuse(
        read.load,
        fmt::format("'{}' is a single index in '{}', and may be outside of the tensor here", name,
                    producer_.kernel->base_name()),
        fmt::format("write `{} in … by 1` in '{}'", name, producer_.kernel->base_name()));
  }

  /// Returns whether a value is the index of a `spmd for` over all of a dimension of the tensor that is read.
  bool RunsOver(const Value* index, const InlinedRead& read, size_t dim) const {
    const ir::Region* region = index->parent_region();
    if (!region || !region->parent() || region->parent()->kind() != OpKind::Spmd) return false;
    const Op* loop = region->parent();
    size_t binder = std::ranges::find(region->params(), index) - region->params().begin();
    return IsWhole(kernel_, loop, binder, ir::LoadOp(read.load).tensor()->type()->dims[dim]);
  }

  // -- Groups ----------------------------------------------------------------------------------------

  void AddTo(std::vector<ReadGroup>& groups, InlinedRead read) {
    auto fits =
        std::ranges::find_if(groups, [&](const ReadGroup& group) { return Fits(group, read); });
    if (fits == groups.end()) {
      ReadGroup& group = groups.emplace_back();
      group.spans = read.spans;
      group.reads.push_back(std::move(read));
      return;
    }
    for (size_t n = 0; n < binders(); ++n) {
      IndexSpan& all = fits->spans[n];
      const IndexSpan& one = read.spans[n];
      all.low = std::min(all.low, one.low);
      all.high = std::max(all.high, one.high);
      all.is_clamped |= one.is_clamped;
      if (!one.block) all.block = nullptr;
    }
    fits->reads.push_back(std::move(read));
  }

  bool Fits(const ReadGroup& group, const InlinedRead& read) const {
    if (read.load->parent_region() != group.first()->parent_region()) return false;
    for (size_t n = 0; n < binders(); ++n) {
      const IndexSpan& all = group.spans[n];
      const IndexSpan& one = read.spans[n];
      if (!IsShifted(all, one) || (!IsIndexBlock(Binder(n)) && all.low != one.low)) return false;
      for (const auto& [value, factor] : one.terms) {
        const Op* def = value->def();
        if (def && ComesAfter(def, group.first())) return false;
      }
    }
    return true;
  }

  // -- Code ------------------------------------------------------------------------------------------

  void Inline(const ReadGroup& group) {
    ir::Builder b(module_, group.first());
    Copier copier = copier_;
    std::vector<AxisId> windows(binders());  // invalid for binders that are not windows
    AxisList axes;                           // of the values
    for (uint32_t a = 0; a < producer_.kernel->axes.size(); ++a) {
      if (IsBinder(AxisId(a))) continue;
      copier.AxisFor(AxisId(a));
    }
    for (size_t n = 0; n < binders(); ++n) {
      Value* index = nullptr;
      if (!IsIndexBlock(Binder(n))) {
        index = SingleIndex(b, group.spans[n]);
      } else if (IsOwnBlock(group, n, axes)) {
        index = group.spans[n].block;
      } else {
        index = MakeWindow(b, group, n);
        windows[n] = index->type()->axes[0];
      }
      copier.values[Binder(n)] = index;
      if (!IsIndexBlock(index)) continue;
      copier.SetAxis(*producer_.AxisOf(n), index->type()->axes[0]);
      axes = ir::UnionAxes(axes, index->type()->axes);
    }
    for (const Op* op : *producer_.spmd->region()) {
      if (op->kind() != OpKind::Store && op->kind() != OpKind::Yield) copier.Copy(op, b);
    }
    for (const InlinedRead& read : group.reads) Replace(read, copier, windows, axes);
  }

  bool IsBinder(AxisId axis) const {
    for (size_t n = 0; n < binders(); ++n) {
      if (producer_.AxisOf(n) == axis) return true;
    }
    return false;
  }

  /// Returns whether all loads have the same block as their index, which is a part of the dimension.
  bool IsOwnBlock(const ReadGroup& group, size_t n, const AxisList& used) const {
    const Value* block = group.spans[n].block;
    if (!block || Contains(used, block->type()->axes[0])) return false;
    return std::ranges::all_of(group.reads, [&](const InlinedRead& read) {
      ir::LoadOp load(read.load);
      Size size = load.tensor()->type()->dims[read.dims[n]];
      return !load.otherwise() || kernel_.axis(block->type()->axes[0]).domain == size;
    });
  }

  static Value* SingleIndex(ir::Builder& b, const IndexSpan& span) {
    Value* sum = span.offset ? b.SizeValue(span.offset) : nullptr;
    for (const auto& [value, factor] : span.terms) {
      Value* term = b.Cast(value, Scalar::I64);
      if (factor != 1) term = b.Mul(term, b.I64(factor));
      sum = sum ? b.Add(sum, term) : term;
    }
    if (!sum) return b.I64(span.low);
    return span.low == 0 ? sum : b.Add(sum, b.I64(span.low));
  }

  Value* MakeWindow(ir::Builder& b, const ReadGroup& group, size_t n) {
    Size size = ir::LoadOp(group.first()).tensor()->type()->dims[group.reads[0].dims[n]];
    WindowEnds ends = EndsOf(b, kernel_, group.spans[n], size, b.SizeValue(size));
    Name name = producer_.kernel->axis(*producer_.AxisOf(n)).name;
    AxisId axis = kernel_.AddAxis({name, ends.extent, nullptr, {}});
    Value* block =
        b.Make(OpKind::MakeBlock, {ends.start, ends.size, b.I64(0)}, b.types().Block(axis));
    block->set_name(Binder(n)->name());
    return block;
  }

  void Replace(const InlinedRead& read, const Copier& copier, const std::vector<AxisId>& windows,
               const AxisList& axes) {
    ir::LoadOp load(read.load);
    ir::Builder b(module_, read.load);
    ir::StoreOp store(const_cast<Op*>(read.tensor->store));
    Value* value = copier.ValueFor(store.value());
    KDL_CHECK(value->type()->scalar == load.result()->type()->scalar, "a store converts its value");
    value = b.Broadcast(value, axes);
    AxisList over;
    std::vector<Value*> index;
    for (size_t n = 0; n < binders(); ++n) {
      if (!windows[n].valid()) continue;
      over.push_back(windows[n]);
      index.push_back(IndexValue(b, read.load, read.dims[n]));
    }
    if (!over.empty()) {
      bool has_else = load.otherwise() != nullptr;
      std::vector<ir::Attr> attrs = {ir::MakeAttr<AttrKey::Axes>(over),
                                     ir::MakeAttr<AttrKey::BoundsMode>(
                                         has_else ? ir::BoundsMode::Else : ir::BoundsMode::Proven)};
      if (read.load->HasAttr(AttrKey::Text))
        attrs.push_back(ir::MakeAttr<AttrKey::Text>(read.load->attr<AttrKey::Text>()));
      std::span<Value* const> otherwise = read.load->Segment(ir::LoadOp::at_otherwise);
      std::span<Value* const> mask = read.load->Segment(ir::LoadOp::at_mask);
      value = MakeOne(
          b, OpKind::Gather,
          {{value}, index, {otherwise.begin(), otherwise.end()}, {mask.begin(), mask.end()}},
          load.result()->type(), attrs);
      value->set_name(load.result()->name());
    }
    load.result()->ReplaceAllUsesWith(b.Broadcast(value, load.result()->type()->axes));
    ir::Erase(read.load);
  }

  ir::Module& module_;
  ir::Function& kernel_;
  const Producer& producer_;
  const std::vector<InlinedTensor>& tensors_;
  const Copier& copier_;
  Obstacle& obstacle_;
};

}  // namespace

bool InlineReads(ir::Module& module, ir::Function& kernel, const Producer& producer,
                 const std::vector<InlinedTensor>& tensors, const Copier& copier,
                 Obstacle& obstacle) {
  return ReadInliner(module, kernel, producer, tensors, copier, obstacle).InlineAll();
}

}  // namespace kdl::passes
