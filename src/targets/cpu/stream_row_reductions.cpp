#include <optional>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "ir/eval/eval.h"
#include "ir/views.h"
#include "passes/analysis/execution_counts.h"
#include "passes/analysis/points.h"
#include "passes/remarks.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"
#include "targets/cpu/analysis/kernel_shape.h"
#include "targets/cpu/analysis/rereads.h"
#include "targets/cpu/analysis/row_fold.h"
#include "targets/cpu/analysis/small_numbers.h"
#include "targets/cpu/passes.h"

// stream-row-reductions: if a reduction reads its terms only once, makes it read them row by row, directly
// from the tensor. The accumulators stay in the L1 cache. The terms are not copied to a tile, and memory is
// read in the order of its addresses.
//
//   %t = load %b[%k, %j] : tile<f32; j k>                 %s = loop %p in start(k) .. end(k) carry(%a = %zero) {
//   %s = contraction %x, %t into %zero over k      ->       %r = load %b[%p, %j] : tile<f32; j> ; %e = element of %x
//                                                           %n = fma %e, %r, %a ; yield %n }
//
// The loop adds in sequential order. Where the language adds pairs of terms, each iteration adds two rows. If a factor is a tile with only a few numbers per row, each iteration
// reads the numbers for its row.
//
// A reduction in 64-lane order (with 64 partial results) is later fused into the elementwise loop that makes
// its larger factor (fuse-reductions). This pass broadcasts the smaller factor to the points of that loop, so
// that the loop computes it, too. The smaller factor stays in the L1 cache, and data that is read once needs
// no copy.
//
//   %t = load %a[%i, %k] ; %s = contraction %t, %x into %zero over k
//   ->  %y = broadcast %x : tile<f32; i k> ; … %t, %y …

namespace kdl::cpu {

namespace {

class RowFolder {
 public:
  RowFolder(PassContext& context, const ir::Function& kernel)
      : context_(context),
        module_(context.module),
        rows_of_chunk_(2 * context.Value(kRowPairs)),
        kernel_{kernel, ProcessorFactsOf(context), AxisOrder(kernel)} {}

  void StreamRows(Op* fold) {
    std::optional<RowFold> found = RowFoldOf(fold, kernel_);
    if (!found || !StaysInCache(fold)) return;
    rows_ = std::move(*found);
    if (context_.remarks) NoteProduct(fold);
    Rewrite(fold);
  }

 private:
  /// Adds a remark if the reduction computes a matrix product.
  void NoteProduct(const Op* fold) const {
    const Op* product = fold->kind() == OpKind::Reduce ? fold->operand(0)->def() : nullptr;
    if (!product || product->kind() != OpKind::Mul) return;
    auto has_own = [&](size_t i) {
      return std::ranges::any_of(product->operand(i)->type()->axes, [&](AxisId axis) {
        return !HasAxis(WithoutBroadcast(product->operand(1 - i)), axis);
      });
    };
    if (!has_own(0) || !has_own(1)) return;
    double products = passes::EstimateRuns(fold);
    for (AxisId axis : product->result()->type()->axes)
      products *= passes::EstimateBlockSize(ir::FindBlock(fold, axis));
    AxisId last = kernel_.order.Sorted(fold->result()->type()->axes).back();
    auto lanes = static_cast<double>(kernel_.LanesAlong(last, Bytes(fold->attr<AttrKey::Acc>())));
    context_.remarks->Add(passes::remark::ProductBySum, kernel_.function.name, fold->loc(),
                          products / lanes * passes::remark::ProductBySum.cycles,
                          kernel_.function.axis(rows_.block->type()->axes[0]).name.str());
  }

  static const Value* WithoutBroadcast(const Value* value) {
    const Op* def = value->def();
    return def && def->kind() == OpKind::Broadcast ? WithoutBroadcast(def->operand(0)) : value;
  }

  /// Whether a row of accumulators stays in the L1 cache.
  bool StaysInCache(const Op* fold) const {
    AxisId last = kernel_.order.Sorted(fold->result()->type()->axes).back();
    return kernel_.Extent(last) * Bytes(fold->attr<AttrKey::Acc>()) <=
           MostAccumulatorBytes(kernel_.facts);
  }

  void Rewrite(Op* fold) {
    ir::Builder b(module_, fold);
    Value* start = b.BlockStart(rows_.block);
    Value* size = b.BlockSize(rows_.block);
    pairs_ = AddsPairs(fold, kernel_.facts);
    widened_ = fold->result()->type()->axes;
    passes::Values result = {InitialAccumulators(b, fold)};
    result = pairs_ ? PairsInChunks(b, fold, start, size, result)
                    : RowsFrom(b, fold, start, size, result);
    result[0]->set_name(fold->result()->name());
    fold->result()->ReplaceAllUsesWith(result[0]);
    ir::Erase(fold);
    for (const Op* op : rows_.makers) ir::Erase(const_cast<Op*>(op));
  }

  /// Emits loops that reduce `size` rows from `start` on.
  passes::Values RowsFrom(ir::Builder& b, const Op* fold, Value* start, Value* size,
                          passes::Values result) {
    Value* end = b.Add(start, size);
    if (Value* together = GoTogether(b, fold)) {
      Value* whole = b.Sub(size, b.Rem(size, b.I64(kRowsAtOnce)));
      Value* rest = b.Add(start, b.Select(together, whole, b.I64(0)));
      result = Rows(b, fold, {start, rest, kRowsAtOnce}, result);
      start = rest;
    }
    return Rows(b, fold, {start, end}, result);
  }

  /// Emits a loop over chunks of rows whose terms are added in pairs. If a whole chunk has no small number,
  /// ordinary FMAs add its terms, several rows at a time, since the test has just brought the rows into a
  /// cache. If the number of rows is odd, the last row has no partner.
  passes::Values PairsInChunks(ir::Builder& b, const Op* fold, Value* start, Value* size,
                               passes::Values sums) {
    Value* all = b.Add(start, size);
    Value* paired = b.Sub(all, b.Rem(size, b.I64(2)));
    auto chunk = [&](Value* first, const passes::Values& carried) {
      Value* whole = b.Add(first, b.I64(rows_of_chunk_));
      Value* end = b.Min(whole, paired);
      flushes_ = false;
      widened_ = {};
      Value* plain = NothingToFlush(b, fold, {first, end}, carried[0]);
      widened_ = fold->result()->type()->axes;
      return passes::MakeIf(
          b, b.And(plain, b.Le(whole, paired)), {fold->result()->type()},
          [&] { return Rows(b, fold, {first, whole, kRowsAtOnce}, carried); },
          [&] {
            flushes_ = true;
            return Rows(b, fold, {first, end, 2}, {b.Unary(OpKind::Flush, carried[0])});
          });
    };
    sums = passes::MakeLoop(b, {start, paired, rows_of_chunk_}, sums, chunk);
    return passes::MakeLoop(b, {paired, all}, sums, [&](Value* row, const passes::Values& carried) {
      return passes::Values{TakeRows(b, fold, row, 1, b.Unary(OpKind::Flush, carried[0]))};
    });
  }

  /// Emits the condition that neither the factors of these rows nor the sums are small.
  Value* NothingToFlush(ir::Builder& b, const Op* fold, const passes::LoopBounds& rows,
                        Value* sums) {
    passes::Values found = {SmallIn(b, sums, kLeastSum)};
    found = passes::MakeLoop(b, rows, found, [&](Value* row, const passes::Values& carried) {
      Value* least = carried[0];
      for (Value* whole : TermsOf(fold)) {
        ir::ValueMap at_row = {{rows_.block, row}};
        Value* factor = b.Cast(TermRow(b, whole, at_row), kdl::Scalar::F32);
        least = b.Min(least, SmallIn(b, factor, kLeastFactor));
      }
      return passes::Values{least};
    });
    return IsNoneSmall(b, found[0]);
  }

  /// Emits -1 if an element of the tile is small, and 0 otherwise.
  Value* SmallIn(ir::Builder& b, Value* tile, float limit) const {
    Value* small = MinusOneIfSmall(b, tile, limit);
    if (!IsTileValue(small)) return small;
    return MakeOne(b, OpKind::Reduce, {{small}}, b.types().ScalarOf(kdl::Scalar::I32),
                   {ir::MakeAttr<AttrKey::Reduction>(ir::ReductionKind::Min),
                    ir::MakeAttr<AttrKey::Axes>(kernel_.order.Sorted(small->type()->axes)),
                    ir::MakeAttr<AttrKey::Acc>(kdl::Scalar::I32),
                    ir::MakeAttr<AttrKey::Order>(ir::OrderKind::Lanes64)});
  }

  /// Emits the condition that several rows may be processed together. That is not the case if rows share a
  /// page and the tensor is not in a cache, because hardware prefetchers would not recognize the order in
  /// which memory is read. Returns null if rows are never processed together.
  Value* GoTogether(ir::Builder& b, const Op* fold) const {
    AxisId last = kernel_.order.Sorted(fold->result()->type()->axes).back();
    bool is_short = kernel_.Extent(last) * Bytes(fold->attr<AttrKey::Acc>()) <= kShortRowBytes;
    if (is_short && fold->result()->type()->axes.size() > 1) return b.Bool(true);
    Value* together = nullptr;
    for (const Op* op : rows_.makers) {
      if (op->kind() != OpKind::Load || !HasAxis(op->result(), last)) continue;
      Value* tensor = ir::LoadOp(const_cast<Op*>(op)).tensor();
      int64_t bytes = Bytes(tensor->type()->scalar);
      if (kernel_.Extent(last) * bytes < kPageBytes) return nullptr;
      Value* size = b.BlockSize(ir::FindBlock(fold, last));
      Value* in_pages = b.Ge(size, b.I64(kPageBytes / bytes));
      Value* row = BytesPerIndex(b, tensor, 0);
      Value* all = b.Mul(b.SizeValue(tensor->type()->dims[0]), row);
      Value* is_cached = b.Le(all, b.I64(kernel_.facts.l2_bytes));
      Value* may = b.Or(in_pages, is_cached);
      together = together ? b.And(together, may) : may;
    }
    return together;
  }

  /// Emits a loop that reduces `bounds.step` rows in each iteration, in order.
  passes::Values Rows(ir::Builder& b, const Op* fold, const passes::LoopBounds& bounds,
                      const passes::Values& before) {
    return passes::MakeLoop(b, bounds, before, [&](Value* first, const passes::Values& carried) {
      return passes::Values{TakeRows(b, fold, first, bounds.step, carried[0])};
    });
  }

  /// Returns the accumulators after `count` more rows.
  Value* TakeRows(ir::Builder& b, const Op* fold, Value* first, int64_t count, Value* taken) {
    for (const passes::Values& terms : InOrder(b, TermsFrom(b, fold, first, count)))
      taken = Take(b, fold, terms, taken);
    return taken;
  }

  /// Returns the terms of the rows in the order in which they are added. The second row of a pair is added
  /// first; a row without a partner is added after zeros.
  std::vector<passes::Values> InOrder(ir::Builder& b, std::vector<passes::Values> rows) const {
    if (!pairs_) return rows;
    if (rows.size() == 1) {
      Value* zero = b.Bits(kdl::Scalar::F32, 0);
      return {{zero, zero}, rows[0]};
    }
    for (size_t i = 0; i < rows.size(); i += 2) std::swap(rows[i], rows[i + 1]);
    return rows;
  }

  /// Returns the terms of `count` rows. Scalars are computed before all tiles, so that one elementwise loop
  /// can contain all ops on tiles.
  std::vector<passes::Values> TermsFrom(ir::Builder& b, const Op* fold, Value* first,
                                        int64_t count) {
    auto acc = fold->attr<AttrKey::Acc>();
    std::vector<Value*> whole = TermsOf(fold);
    std::vector<passes::Values> rows(static_cast<size_t>(count), passes::Values(whole.size()));
    std::vector<ir::ValueMap> at_rows;
    for (int64_t i = 0; i < count; ++i)
      at_rows.push_back({{rows_.block, i == 0 ? first : b.Add(first, b.I64(i))}});
    for (bool tiles : {false, true}) {
      for (size_t i = 0; i < rows.size(); ++i) {
        for (size_t t = 0; t < whole.size(); ++t) {
          if ((whole[t]->type()->axes.size() > 1) == tiles)
            rows[i][t] = b.Cast(TermRow(b, whole[t], at_rows[i]), acc);
        }
      }
    }
    return rows;
  }

  Value* InitialAccumulators(ir::Builder& b, const Op* fold) const {
    ir::Type type = fold->result()->type();
    if (fold->kind() == OpKind::Contraction) return ir::ContractionOp(const_cast<Op*>(fold)).into();
    auto acc = fold->attr<AttrKey::Acc>();
    Value* identity = b.Bits(acc, ir::FoldIdentity(fold->attr<AttrKey::Reduction>(), acc));
    return b.Make(OpKind::Broadcast, {identity}, type);
  }

  /// Returns the accumulators after one more row.
  Value* Take(ir::Builder& b, const Op* fold, const passes::Values& terms, Value* before) const {
    if (pairs_ && flushes_)
      return b.Make(OpKind::FmaFlush, {terms[0], terms[1], before}, before->type());
    if (fold->kind() == OpKind::Reduce)
      return b.Binary(ir::CombineOf(fold->attr<AttrKey::Reduction>()), before, terms[0]);
    if (IsFloat(fold->attr<AttrKey::Acc>()))
      return b.Make(OpKind::Fma, {terms[0], terms[1], before}, before->type());
    return b.Add(before, b.Mul(terms[0], terms[1]));
  }

  Value* TermRow(ir::Builder& b, Value* term, ir::ValueMap& at_row) {
    const Op* def = term->def();
    if (!Contains(rows_.makers, def)) {
      AxisId folded = rows_.block->type()->axes[0];
      return HasAxis(term, folded) ? RowElements(b, term, at_row.at(rows_.block), folded) : term;
    }
    if (def->kind() == OpKind::Flush && !flushes_) return TermRow(b, def->operand(0), at_row);
    if (auto known = at_row.find(term); known != at_row.end()) return known->second;
    for (Value* operand : def->operands()) {
      if (IsTileValue(operand)) at_row[operand] = TermRow(b, operand, at_row);
    }
    Value* copy = CloneRetyped(def, b, at_row)->result();
    if (def->kind() == OpKind::Load && Bytes(copy->type()->scalar) < Bytes(kdl::Scalar::F32))
      copy = b.Broadcast(copy, ir::UnionAxes(copy->type()->axes, widened_));
    return at_row[term] = copy;
  }

  /// Returns the elements for this row from a tile that has only a few numbers per row.
  static Value* RowElements(ir::Builder& b, Value* tile, Value* row, AxisId folded) {
    AxisList others = tile->type()->axes;
    std::erase(others, folded);
    return MakeOne(b, OpKind::Gather, {{tile}, {row}, {}, {}},
                   b.types().Tile(tile->type()->scalar, std::move(others)),
                   {ir::MakeAttr<AttrKey::Axes>(AxisList{folded}),
                    ir::MakeAttr<AttrKey::BoundsMode>(ir::BoundsMode::Proven)});
  }

  PassContext& context_;
  ir::Module& module_;
  int64_t rows_of_chunk_;
  KernelShape kernel_;
  RowFold rows_;
  bool pairs_ = false;   ///< whether the terms of two rows are added in each step
  bool flushes_ = true;  ///< whether small numbers must be flushed
  /// The axes over which narrow numbers are widened. If these are all axes of the result, one elementwise
  /// loop loads, widens and multiplies them.
  AxisList widened_;
};

/// Whether a later pass will make the tile in an elementwise loop, in the same region as the reduction.
bool IsMadeByElementwiseLoop(const Value* tile, const Op* fold) {
  const Op* def = tile->def();
  return def && def->parent_region() == fold->parent_region() && passes::IsPointwise(def) &&
         NothingWritesBetween(def, fold);
}

void SplatFactor(ir::Module& module, Op* fold) {
  AxisList all = ir::UnionAxes(fold->result()->type()->axes, fold->attr<AttrKey::Axes>());
  std::vector<Value*> factors = TermsOf(fold);
  auto has_all = [&](const Value* factor) { return factor->type()->axes.size() == all.size(); };
  if (has_all(factors[1])) std::swap(factors[0], factors[1]);
  bool fits =
      has_all(factors[0]) && !has_all(factors[1]) && IsMadeByElementwiseLoop(factors[0], fold);
  if (!fits) return;
  Op* maker = factors[0]->def();
  const Op* other = factors[1]->def();
  bool comes_later =
      other && other->parent_region() == fold->parent_region() && ComesAfter(other, maker);
  ir::Builder b(module, fold->parent_region(), comes_later ? fold : maker->next());
  b.set_loc(fold->loc());
  for (size_t i : {size_t{ir::ContractionOp::at_a}, size_t{ir::ContractionOp::at_b}}) {
    if (fold->operand(i) == factors[1]) fold->SetOperand(i, b.Broadcast(factors[1], all));
  }
  // If the larger factor's maker moves next to the reduction, one elementwise loop makes both factors. A load
  // need not move, because tiles are loaded where they are read. An op that may trap must stay before later
  // ops that may trap.
  bool may_wait = maker->kind() != OpKind::Load && !passes::MayTrap(maker);
  if (comes_later && may_wait && factors[0]->uses().size() == 1) {
    fold->parent_region()->Remove(maker);
    fold->parent_region()->InsertBefore(maker, fold);
  }
}

}  // namespace

void RunStreamRowReductions(PassContext& context, ir::Function& kernel) {
  if (context.keeps_tiles) return;  // tiles would disappear
  RowFolder folder(context, kernel);
  for (OpKind kind : {OpKind::Reduce, OpKind::Contraction})
    for (Op* fold : passes::OpsOfKind(kernel, kind)) folder.StreamRows(fold);
  for (Op* fold : passes::OpsOfKind(kernel, OpKind::Contraction)) {
    if (fold->attr<AttrKey::Order>() == ir::OrderKind::Lanes64) SplatFactor(context.module, fold);
  }
}

}  // namespace kdl::cpu
