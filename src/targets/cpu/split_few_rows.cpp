#include <algorithm>
#include <optional>
#include <vector>

#include "ir/builder.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"
#include "targets/cpu/analysis/kernel_shape.h"
#include "targets/cpu/analysis/row_fold.h"
#include "targets/cpu/own_blocks.h"
#include "targets/cpu/passes.h"

// split-few-rows: gives products a second version for launches with few rows. Such products use each element
// of their second factor only a few times. Packing that factor would cost more than multiplying, and memory
// bandwidth is the bottleneck. The blocks of the second version have axes of their own. The pass
// stream-row-reductions lowers these blocks. They have as many columns as possible, as long as a row of
// accumulators stays in the L1 cache.
//
//   spmd (%i: block<i> in 0 .. %M, %j: …)   ->   if %M <= 4 { spmd (%i.1: block<i.few> in 0 .. %M, %j.1: block<j.few> in …) { … }
//   { … }                                      } else { spmd (%i: block<i> …) { … } }

namespace kdl::cpu {

namespace {

/// The products of an spmd. `rows` and `columns` say which of the spmd's induction variables are for the rows
/// and the columns of all these products.
struct Product {
  size_t rows;
  size_t columns;
  int64_t bytes;                   ///< the size of an accumulator
  int64_t few;                     ///< the maximum number of rows of the second version
  std::vector<const Op*> passing;  ///< ops that make factors for which no memory is needed

  /// Returns the number of columns in a block of the second version.
  int64_t Columns(const ProcessorFacts& facts) const { return MostAccumulatorBytes(facts) / bytes; }
};

class Chooser {
 public:
  Chooser(const ir::Function& kernel, const ProcessorFacts& facts)
      : kernel_{kernel, facts, AxisOrder(kernel)} {}

  /// Finds the products of an spmd. Returns nothing if the spmd has no product, or if one of its products
  /// could not be reduced row by row even with few rows.
  std::optional<Product> Find(const Op* spmd) const {
    std::optional<Product> found;
    bool all = !spmd->HasAttr(AttrKey::Domain);
    ir::Walk(spmd->region(), [&](const Op* op) {
      if (!all || op->kind() != OpKind::Contraction) return;
      std::optional<Product> one = MatchProduct(op, spmd);
      bool agrees = one && (!found || (one->rows == found->rows && one->columns == found->columns));
      if (agrees && found) {
        one->few = std::min(one->few, found->few);
        one->bytes = std::max(one->bytes, found->bytes);
        one->passing.insert(one->passing.end(), found->passing.begin(), found->passing.end());
      }
      all = agrees;
      found = one;
    });
    return all && found && StaysInCache(spmd, *found) ? found : std::nullopt;
  }

 private:
  bool StaysInCache(const Op* spmd, const Product& product) const {
    auto axis = [&](size_t binder) { return spmd->region()->param(binder)->type()->axes[0]; };
    return TilesStayInCache(kernel_, spmd,
                            {{axis(product.rows), product.few},
                             {axis(product.columns), product.Columns(kernel_.facts)}},
                            product.passing);
  }

  std::optional<Product> MatchProduct(const Op* op, const Op* spmd) const {
    AxisList axes = kernel_.order.Sorted(op->result()->type()->axes);
    if (axes.size() != 2) return std::nullopt;
    std::optional<size_t> rows = FreeBinderOf(kernel_.function, spmd, axes[0]);
    std::optional<size_t> columns = FreeBinderOf(kernel_.function, spmd, axes[1]);
    if (!rows || !columns || kernel_.Extent(axes[0]) <= kFewRows) return std::nullopt;
    std::optional<RowFold> fold = RowFoldOf(op, kernel_, axes[0]);
    if (!fold) return std::nullopt;
    // Rows that are added in pairs are tested and widened again for each row of the result.
    int64_t few = AddsPairs(op, kernel_.facts) ? kFewRows / 2 : kFewRows;
    return Product{*rows, *columns, Bytes(op->attr<AttrKey::Acc>()), few, fold->makers};
  }

  KernelShape kernel_;
};

void Split(ir::Module& module, ir::Function& kernel, Op* spmd, const Product& product,
           const ProcessorFacts& facts) {
  const auto& binders = spmd->region()->params();
  Value* lo = spmd->operand(2 * product.rows);
  Value* hi = spmd->operand(2 * product.rows + 1);
  bool is_known = ConstantOf(lo) && ConstantOf(hi);
  if (is_known && *ConstantOf(hi) - *ConstantOf(lo) > product.few) return;
  OtherAxes few;
  AxisId rows_axis = binders[product.rows]->type()->axes[0];
  AxisId columns_axis = binders[product.columns]->type()->axes[0];
  auto like = [&](AxisId axis, int64_t extent) {
    few.Set(axis, kernel.AddAxis(AxisLike(module, kernel, axis, ".few", extent)));
  };
  like(rows_axis, product.few);
  like(columns_axis, product.Columns(facts));
  if (is_known) return few.Retype(module.types(), spmd);
  ir::Builder b(module, spmd);
  Value* rows = b.Sub(hi, lo);
  SplitOff(b, spmd, b.Le(rows, b.I64(product.few)), few);
}

}  // namespace

void RunSplitFewRows(PassContext& context, ir::Function& kernel) {
  const ProcessorFacts& facts = ProcessorFactsOf(context);
  for (Op* spmd : OpsOfKind(kernel, OpKind::Spmd)) {
    std::optional<Product> product = Chooser(kernel, facts).Find(spmd);
    if (product) Split(context.module, kernel, spmd, *product, facts);
  }
}

}  // namespace kdl::cpu
