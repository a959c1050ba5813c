#include <algorithm>

#include "ir/views.h"
#include "targets/simt/analysis/mma_shapes.h"
#include "targets/simt/expand/mapped.h"
#include "targets/simt/tiles/product_block.h"

// Expands products to matrix instructions. All threads execute each instruction together, and each thread
// keeps its points of the result in scalars.
//
//   if (size(bk) rem 16 != 0) { loop {threads} … buffer_store 0 to %A[…] }        terms after the block's end
//   loop %w in 0 .. 128 {threads} {
//     %0 = buffer_load %acc[0, 0] …                                               the thread's block
//     %s, … = loop %k in 0 .. size(bk) step 16 carry(%c = %0, …) {
//       yield mma %A, %B at (%w, %k, size(bi), size(bj)) into (%c, …) }
//     buffer_store %s to %acc[0, 0] … }

namespace kdl::simt {

namespace {

using ir::AttrKey;
using ir::AxisId;
using ir::Op;
using ir::OpKind;
using ir::Value;
using passes::MakeIf;
using passes::MakeLoop;
using passes::MakeWorkgroupLoop;
using passes::Values;

// The maximum number of matrix instructions in an unrolled loop over a whole block.
constexpr int64_t kMostWrittenOut = 4;

class MatrixExpander {
 public:
  MatrixExpander(ir::Builder& b, WorkgroupTiles& tiles, const Op* op)
      : b_(b),
        tiles_(tiles),
        op_(op),
        depth_(NamedMmaShape(op)->instruction->depth),
        block_(b, tiles, op),
        folded_(op->attr<AttrKey::Axes>()[0]) {
    // The first factor must be the one that has the rows of the result.
    factors_ = {op->operand(0), op->operand(1)};
    const ir::AxisList& axes = factors_[0]->type()->axes;
    if (std::ranges::find(axes, block_.axes()[0]) == axes.end())
      std::swap(factors_[0], factors_[1]);
  }

  void ExpandTo(Value* target) {
    ZeroEnds();
    Value* zero = b_.I64(0);
    Value* all = b_.I64(block_.threads());
    MakeWorkgroupLoop(b_, {zero, all}, [&](Value* thread) {
      block_.PlaceFor(thread);
      block_.Store(MmaSteps(thread, block_.Load()), target);
    });
  }

 private:
  Value* AxisSize(AxisId axis) { return tiles_.FactsAt(op_, axis).size; }

  /// Sets terms beyond the block's end to zero, because the last matrix instruction also reads them.
  void ZeroEnds() {
    Value* size = AxisSize(folded_);
    Value* depth = b_.I64(depth_);
    Value* over = b_.Rem(size, depth);
    MakeIf(b_, b_.Gt(over, b_.I64(0)), [&] {
      Value* missing = b_.Sub(depth, over);
      for (size_t i = 0; i < 2; ++i) {
        Value* kept = b_.I64(tiles_.Extent(block_.axes()[i]));
        Value* zero = b_.I64(0);
        Value* count = b_.Mul(missing, kept);
        MakeWorkgroupLoop(b_, {zero, count}, [&](Value* number) {
          Value* place = b_.Rem(number, kept);
          Value* term = b_.Add(size, b_.Div(number, kept));
          Values at;
          for (AxisId axis : factors_[i]->type()->axes)
            at.push_back(axis == folded_ ? term : place);
          tiles_.Store(b_.Bits(factors_[i]->type()->scalar, 0), factors_[i],
                       tiles_.BufferOf(factors_[i]), at);
        });
      }
    });
  }

  /// Emits all matrix instructions, unrolled if the block is whole and needs few of them.
  Values MmaSteps(Value* thread, const Values& before) {
    Value* size = AxisSize(folded_);
    int64_t extent = tiles_.Extent(folded_);
    auto in_iteration = [&] {
      Value* zero = b_.I64(0);
      return MakeLoop(b_, {zero, size, depth_}, before,
                      [&](Value* term, const Values& accs) { return MmaStep(thread, term, accs); });
    };
    if (extent / depth_ > kMostWrittenOut) return in_iteration();
    auto written_out = [&] {
      Values accs = before;
      for (int64_t term = 0; term < extent; term += depth_)
        accs = MmaStep(thread, b_.I64(term), accs);
      return accs;
    };
    std::vector<ir::Type> types;
    for (const Value* acc : before) types.push_back(acc->type());
    return MakeIf(b_, b_.Eq(size, b_.I64(extent)), types, written_out, in_iteration);
  }

  Values MmaStep(Value* thread, Value* term, const Values& accs) {
    std::vector<ir::Type> types;
    for (const Value* acc : accs) types.push_back(acc->type());
    ir::NumberList folded;
    for (const Value* factor : factors_) folded.push_back(tiles_.IsLast(factor, folded_) ? 1 : 0);
    Op* step = b_.Create(OpKind::Mma,
                         {{tiles_.BufferOf(factors_[0])},
                          {tiles_.BufferOf(factors_[1])},
                          {thread, term, AxisSize(block_.axes()[0]), AxisSize(block_.axes()[1])},
                          {},
                          accs},
                         types,
                         {*op_->FindAttr(AttrKey::Instruction), *op_->FindAttr(AttrKey::Map),
                          ir::MakeAttr<AttrKey::Folded>(std::move(folded))});
    return step->results();
  }

  ir::Builder& b_;
  WorkgroupTiles& tiles_;
  const Op* op_;
  int64_t depth_;
  ProductBlock block_;
  AxisId folded_;
  /// The factor that has the rows of the result, then the factor that has its columns.
  std::vector<const Value*> factors_;
};

}  // namespace

void ExpandMatrixProduct(ir::Builder& b, WorkgroupTiles& tiles, const Op* op, Value* target) {
  MatrixExpander(b, tiles, op).ExpandTo(target);
}

}  // namespace kdl::simt
