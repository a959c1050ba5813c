#include "targets/simt/reduce_blocks_together.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/op_info.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"
#include "proofs/proofs.h"
#include "support/contains.h"
#include "targets/simt/passes.h"

// Reduces all blocks of a kept row at once, where the source reduces one block after the other.
// Then there is work for all threads, and they wait at few barriers for each row instead of each block. What the loop
// carries from block to block is computed afterwards, in the same order, so the bits are the same. If a reduction needs
// it, as the sum of an online softmax needs the maximum so far, each block computes it again from the results of all
// earlier blocks. Only the last block, which may be short, is still reduced in the loop.
//
//   loop %n in 0 .. %C step 1024 carry(%s.1 = %s) {
//     %c = make_block %n, …
//     %e = elementwise (%i in %r, %j in %c) { yield element %row at (%j) }
//     %u = reduce sum %e over c
//     %s.2 = elementwise (%i in %r) { yield %s.1 + %u } ; yield %s.2 }
//   ->
//   %blocks = make_block 0, %C div 1024, 0 ; %all = make_block 0, 1024, 0
//   %e = elementwise (%i in %r, %b in %blocks, %j in %all) { yield element %row at (%b * 1024 + %j) }
//   %u = reduce sum %e over all : tile<f32; r blocks>
//   %s.3 = elementwise (%i in %r) { loop %b in 0 .. %C div 1024 carry(%s.1 = %s) { yield %s.1 + %u at (%i, %b) } }
//   loop %n in %C div 1024 * 1024 .. %C step 1024 carry(%s.1 = %s.3) { … as before }

namespace kdl::simt {

namespace {

/// A loop over the blocks of a kept row. Its ops are *wide* if they compute elements of a block, and *narrow* if they
/// compute one value for each row.
class BlockLoop {
 public:
  BlockLoop(ir::Module& module, ir::Function& kernel, Op* loop)
      : kernel_(kernel), loop_(loop), b_(module) {}

  /// Returns whether all blocks can be reduced together.
  bool Study() { return FindBlock() && FindOps() && ReadsKeptRow() && FindNeeds(); }

  void ReduceTogether() {
    b_.StandAt(loop_);
    Value* extent = b_.I64(Extent());
    Value* count = b_.Div(loop_->operand(ir::LoopOp::at_hi), extent);
    Value* zero = b_.I64(0);
    blocks_ = MakeBlock(NewAxis(most_blocks_), count);
    all_ = MakeBlock(NewAxis(Extent()), extent);
    for (Op* reduce : reduces_) {
      if (!needs_[reduce].empty()) MakeNeeds(needs_[reduce]);
      ReduceAll(reduce);
    }
    Values inits = FinalValues(zero, count);
    loop_->SetOperand(ir::LoopOp::at_lo, b_.Mul(count, extent));
    for (size_t i = 0; i < inits.size(); ++i) loop_->SetOperand(FirstInit() + i, inits[i]);
  }

 private:
  /// A point at which values of the loop's tiles are computed.
  struct Point {
    Values rows;              ///< the index along each axis of rows
    Value* block;             ///< the number of the block
    Value* column = nullptr;  ///< the index in the row; null if there is none
    std::unordered_map<const Value*, Value*> known;  ///< the values of tiles
  };

  // -- Analysis ------------------------------------------------------------------------------------

  int64_t Extent() const { return kernel_.axis(axis()).extent->value; }
  AxisId axis() const { return block_->type()->axes[0]; }
  size_t FirstInit() const { return loop_->SegmentBegin(ir::LoopOp::at_inits); }
  bool IsOfLoop(const Value* value) const { return MadeIn(value) == loop_->region(); }
  bool IsWide(const Op* elementwise) const { return Contains(elementwise->operands(), block_); }

  /// Finds the block over which the loop runs. Its axis must cover a dimension: then all blocks but the last are full. Windows
  /// can begin where an iteration begins, too, but end anywhere.
  bool FindBlock() {
    if (ConstantOf(loop_->operand(ir::LoopOp::at_lo)) != 0) return false;
    for (Op* op : *loop_->region()) {
      if (op->kind() != OpKind::MakeBlock || op->operand(0) != loop_->region()->param(0)) continue;
      if (block_) return false;
      block_ = op->result();
    }
    return block_ && kernel_.axis(axis()).domain &&
           ConstantOf(loop_->operand(ir::LoopOp::at_step)) == Extent();
  }

  /// Finds the reductions and the axes of rows. Returns false if the loop does anything that cannot be computed for all
  /// blocks at once.
  bool FindOps() {
    bool fits = std::ranges::all_of(
        loop_->results(), [](const Value* result) { return !ir::IsScalar(result->type()); });
    for (Op* op : *loop_->region()) {
      if (op->kind() == OpKind::Reduce) {
        reduces_.push_back(op);
        fits &= op->attr<AttrKey::Order>() == ir::OrderKind::Lanes64 &&
                op->attr<AttrKey::Axes>() == AxisList{axis()} && IsOfLoop(op->operand(0)) &&
                op->operand(0)->def() && op->operand(0)->def()->kind() == OpKind::Elementwise &&
                IsWide(op->operand(0)->def());
      } else if (op->kind() == OpKind::Elementwise) {
        fits &= IsPlain(op) && HasSameRows(op);
      } else {
        bool is_index = (op->info().has(ir::kPure) || op->info().has(ir::kElementwise)) &&
                        op->regions().empty() && !MayTrap(op) && IsIndex(op->result());
        fits &= op->info().has(ir::kTerminator) || is_index;
      }
    }
    return fits && !reduces_.empty() && !rows_.empty();
  }

  /// Returns whether the elementwise loop only computes, from tiles, inputs and values from outside of the loop.
  bool IsPlain(const Op* elementwise) const {
    if (elementwise->results().empty() || elementwise->HasAttr(AttrKey::Map)) return false;
    for (const Op* op : *elementwise->region()) {
      bool is_input = op->kind() == OpKind::Load && op->Segment(ir::LoadOp::at_otherwise).empty() &&
                      op->Segment(ir::LoadOp::at_mask).empty() &&
                      proofs::IsInput(op->operand(ir::LoadOp::at_tensor));
      bool is_plain = is_input || op->info().has(ir::kPure) || op->info().has(ir::kElementwise) ||
                      op->info().has(ir::kTerminator);
      if (!is_plain || !op->regions().empty() || MayTrap(op)) return false;
    }
    return std::ranges::all_of(OutsideOperands(elementwise), [&](const Value* value) {
      return value == block_ || !IsOfLoop(value) || !IsIndex(value) ||
             (value->def() && value->def()->kind() == OpKind::Const);
    });
  }

  static bool IsIndex(const Value* value) {
    return value->type()->kind == ir::TypeKind::Block || ir::IsScalar(value->type());
  }

  /// Returns whether the elementwise loop runs over the same rows as all others of the loop.
  bool HasSameRows(const Op* elementwise) {
    std::vector<Value*> rows = elementwise->operands();
    std::erase(rows, block_);
    if (rows_.empty()) rows_ = rows;
    return rows == rows_;
  }

  /// Returns whether each reduction reads a tile with a whole row, and finds how many blocks such a row has at most.
  bool ReadsKeptRow() {
    for (const Op* reduce : reduces_) {
      int64_t columns = 0;
      for (const Op* wide : ChainOf(reduce)) columns = std::max(columns, ColumnsOfKeptRow(wide));
      if (columns < 2 * Extent()) return false;
      most_blocks_ = columns / Extent();
    }
    return true;
  }

  int64_t ColumnsOfKeptRow(const Op* wide) const {
    int64_t columns = 0;
    for (const Op* op : *wide->region()) {
      if (op->kind() != OpKind::Element || IsOfLoop(op->operand(0))) continue;
      const AxisList& axes = op->operand(0)->type()->axes;
      if (axes.size() == 1 && op->operand(1) == ColumnOf(wide))
        columns = std::max(columns, kernel_.axis(axes[0]).extent->value);
    }
    return columns;
  }

  const Value* ColumnOf(const Op* wide) const {
    auto at = std::ranges::find(wide->operands(), block_) - wide->operands().begin();
    return wide->region()->param(static_cast<size_t>(at));
  }

  /// Returns the wide elementwise loops that compute what the op reduces.
  std::vector<const Op*> ChainOf(const Op* reduce) const {
    std::vector<const Op*> chain = {reduce->operand(0)->def()};
    for (size_t i = 0; i < chain.size(); ++i) {
      for (const Value* value : OutsideOperands(chain[i])) {
        const Op* def = value->def();
        bool is_wide = def && IsOfLoop(value) && def->kind() == OpKind::Elementwise && IsWide(def);
        if (is_wide && !Contains(chain, def)) chain.push_back(def);
      }
    }
    return chain;
  }

  /// Finds the narrow tiles that each reduction needs. Returns false if one of them depends on this reduction or a later
  /// one.
  bool FindNeeds() {
    std::unordered_set<const Op*> before;
    for (const Op* reduce : reduces_) {
      Values& needs = needs_[reduce];
      for (const Op* wide : ChainOf(reduce)) {
        for (Value* value : OutsideOperands(wide)) {
          bool is_narrow = IsOfLoop(value) && !IsIndex(value) && !Contains(needs, value) &&
                           !(value->def() && Contains(ChainOf(reduce), value->def()));
          if (is_narrow) needs.push_back(value);
        }
      }
      if (!DependsOnlyOn(before, SliceOf(needs))) return false;
      std::erase_if(needs, [&](const Value* need) { return before.contains(need->def()); });
      if (!needs.empty()) AddOthers(needs, before);
      before.insert(reduce);
    }
    return true;
  }

  /// Adds the narrow tiles of later narrow loops that can be computed from the same carried tiles, with all blocks at once.
  /// Otherwise, one thread would compute them for one block after the other.
  void AddOthers(Values& needs, const std::unordered_set<const Op*>& before) const {
    const Values known = SliceOf(needs);
    for (const Op* op : *loop_->region()) {
      if (op->kind() != OpKind::Elementwise || IsWide(op)) continue;
      for (Value* result : op->results()) {
        const Values slice = SliceOf({result});
        bool has_carried = std::ranges::all_of(
            slice, [&](const Value* value) { return value->def() || Contains(known, value); });
        if (IsUsedLater(result) && has_carried && DependsOnlyOn(before, slice) &&
            !Contains(needs, result))
          needs.push_back(result);
      }
    }
  }

  /// Returns whether another narrow loop uses the tile.
  bool IsUsedLater(const Value* tile) const {
    return std::ranges::any_of(tile->uses(), [&](const ir::Use& use) {
      const Op* user = use.user->parent_region()->parent();
      return user->kind() == OpKind::Elementwise && user->parent_region() == loop_->region() &&
             user != tile->def() && !IsWide(user);
    });
  }

  /// Returns the tiles of the loop from which the given ones are computed, in this iteration or in earlier ones.
  Values SliceOf(Values slice) const {
    for (size_t i = 0; i < slice.size(); ++i) {
      Values used;
      if (slice[i]->def()) {
        for (Value* value : OutsideOperands(slice[i]->def())) used.push_back(value);
      } else {
        used.push_back(loop_->region()->terminator()->operand(slice[i]->index() - 1));
      }
      for (Value* value : used) {
        if (IsOfLoop(value) && !IsIndex(value) && !Contains(slice, value)) slice.push_back(value);
      }
    }
    return slice;
  }

  static bool DependsOnlyOn(const std::unordered_set<const Op*>& reduces, const Values& slice) {
    return std::ranges::all_of(slice, [&](const Value* value) {
      return !value->def() || value->def()->kind() != OpKind::Reduce ||
             reduces.contains(value->def());
    });
  }

  // -- Rewriting -----------------------------------------------------------------------------------

  AxisId NewAxis(int64_t extent) {
    return kernel_.AddAxis({Name(), b_.types().sizes().Constant(extent), nullptr, {}});
  }

  Value* MakeBlock(AxisId axis, Value* size) {
    Value* zero = b_.I64(0);
    return b_.Make(OpKind::MakeBlock, {zero, size, zero}, b_.types().Block(axis));
  }

  /// Emits an elementwise loop over the rows and over other blocks. `make` returns the values at a point, whose element
  /// types are those of `like`.
  Values ElementwiseLoop(const Values& others, const Values& like,
                         const std::function<Values(const Values&)>& make) {
    Values blocks = rows_;
    blocks.insert(blocks.end(), others.begin(), others.end());
    AxisList axes;
    for (const Value* block : blocks) axes.push_back(block->type()->axes[0]);
    std::ranges::sort(axes);
    std::vector<ir::Type> types;
    for (const Value* value : like) types.push_back(b_.types().Tile(value->type()->scalar, axes));
    Op* loop = b_.Create(OpKind::Elementwise, {blocks}, types);
    Values params;
    for (size_t i = 0; i < blocks.size(); ++i)
      params.push_back(b_.AddParam(loop->region(), b_.I64Type(), {}));
    FillRegion(b_, loop->region(), [&] { return make(params); });
    for (size_t i = 0; i < like.size(); ++i) loop->result(i)->set_name(like[i]->name());
    return loop->results();
  }

  Values RowsOf(const Values& params) const {
    return {params.begin(), params.begin() + static_cast<std::ptrdiff_t>(rows_.size())};
  }

  /// Emits the reduction of all blocks.
  void ReduceAll(Op* reduce) {
    Value* terms =
        ElementwiseLoop({blocks_, all_}, {reduce->operand(0)}, [&](const Values& params) {
          Value* block = params[rows_.size()];
          Value* column = b_.Add(b_.Mul(block, b_.I64(Extent())), params.back());
          Point point{RowsOf(params), block, column, {}};
          return Values{ValueAt(reduce->operand(0), point)};
        })[0];
    AxisList axes = reduce->result()->type()->axes;
    axes.push_back(blocks_->type()->axes[0]);
    std::ranges::sort(axes);
    Op* together =
        b_.Create(OpKind::Reduce, {{terms}},
                  {b_.types().Tile(reduce->result()->type()->scalar, axes)}, reduce->attrs());
    together->SetAttr(ir::MakeAttr<AttrKey::Axes>(AxisList{all_->type()->axes[0]}));
    together->result()->set_name(reduce->result()->name());
    of_blocks_[reduce->result()] = together->result();
  }

  /// Emits the values that narrow tiles have in each block.
  void MakeNeeds(const Values& needs) {
    std::vector<size_t> carried;  // the numbers of the carried tiles that they need
    for (const Value* value : SliceOf(needs)) {
      if (!value->def()) carried.push_back(value->index() - 1);
    }
    Values made = ElementwiseLoop({blocks_}, needs, [&](const Values& params) {
      Point point{RowsOf(params), params.back(), nullptr, {}};
      SetCarried(point, carried, CarriedBefore(point, carried, b_.I64(0), params.back()));
      Values values;
      for (Value* need : needs) values.push_back(ValueAt(need, point));
      return values;
    });
    for (size_t i = 0; i < needs.size(); ++i) of_blocks_[needs[i]] = made[i];
  }

  /// Emits the values of all carried tiles after the last block.
  Values FinalValues(Value* first, Value* count) {
    std::vector<size_t> carried(loop_->results().size());
    for (size_t i = 0; i < carried.size(); ++i) carried[i] = i;
    return ElementwiseLoop({}, loop_->results(), [&](const Values& params) {
      return CarriedBefore({RowsOf(params), nullptr, nullptr, {}}, carried, first, count);
    });
  }

  /// Emits a loop over the blocks before `end`. Returns the values of carried tiles after it.
  Values CarriedBefore(const Point& at, const std::vector<size_t>& carried, Value* first,
                       Value* end) {
    if (carried.empty()) return {};
    Values inits;
    for (size_t i : carried) inits.push_back(ElementAt(loop_->operand(FirstInit() + i), at));
    return MakeLoop(b_, {first, end}, inits, [&](Value* block, const Values& before) {
      Point point{at.rows, block, nullptr, {}};
      SetCarried(point, carried, before);
      Values next;
      for (size_t i : carried)
        next.push_back(ValueAt(loop_->region()->terminator()->operand(i), point));
      return next;
    });
  }

  void SetCarried(Point& point, const std::vector<size_t>& carried, const Values& values) const {
    for (size_t i = 0; i < carried.size(); ++i)
      point.known[loop_->region()->param(carried[i] + 1)] = values[i];
  }

  /// Emits the value of a tile at a point.
  Value* ValueAt(Value* tile, Point& point) {
    auto known = point.known.find(tile);
    if (known != point.known.end()) return known->second;
    auto of_blocks = of_blocks_.find(tile);
    if (of_blocks != of_blocks_.end())
      return point.known[tile] = ElementAt(of_blocks->second, point);
    if (!IsOfLoop(tile)) return point.known[tile] = ElementAt(tile, point);
    Compute(tile->def(), point);
    return point.known.at(tile);
  }

  /// Emits the results of an elementwise loop at a point.
  void Compute(const Op* elementwise, Point& point) {
    ir::ValueMap map;
    for (const Value* value : OutsideOperands(elementwise)) {
      if (IsOfLoop(value) && value != block_ && IsIndex(value)) ir::Clone(value->def(), b_, map);
    }
    size_t row = 0;
    for (size_t i = 0; i < elementwise->operands().size(); ++i) {
      bool is_column = elementwise->operand(i) == block_;
      map[elementwise->region()->param(i)] = is_column ? point.column : point.rows[row++];
    }
    for (const Op* op : *elementwise->region()) {
      if (op->info().has(ir::kTerminator)) continue;
      if (op->kind() == OpKind::Element && IsOfLoop(op->operand(0))) {
        map[op->result()] = ValueAt(op->operand(0), point);
        continue;
      }
      Op* copy = ir::Clone(op, b_, map);
      if (op->kind() == OpKind::Load)
        copy->SetAttr(ir::MakeAttr<AttrKey::BoundsMode>(ir::BoundsMode::Proven));
    }
    for (size_t i = 0; i < elementwise->results().size(); ++i) {
      if (!of_blocks_.contains(elementwise->result(i)))
        point.known[elementwise->result(i)] =
            Mapped(map, elementwise->region()->terminator()->operand(i));
    }
  }

  /// Emits the element of a tile over rows, and perhaps blocks.
  Value* ElementAt(Value* tile, const Point& point) {
    Values index;
    for (AxisId axis : tile->type()->axes) {
      auto row = std::ranges::find_if(
          rows_, [&](const Value* block) { return block->type()->axes[0] == axis; });
      index.push_back(row == rows_.end() ? point.block
                                         : point.rows[static_cast<size_t>(row - rows_.begin())]);
    }
    return b_.Create(OpKind::Element, {{tile}, index}, {b_.types().ScalarOf(tile->type()->scalar)})
        ->result();
  }

  ir::Function& kernel_;
  Op* loop_;
  ir::Builder b_;
  Value* block_ = nullptr;  ///< the block over which the loop runs
  Values rows_;             ///< the blocks of rows
  std::vector<Op*> reduces_;
  std::unordered_map<const Op*, Values> needs_;  ///< the narrow tiles that each reduction needs
  int64_t most_blocks_ = 0;
  Value* blocks_ = nullptr;  ///< the block of the numbers of all blocks
  Value* all_ = nullptr;     ///< the block of the places in a block
  /// Tiles with the values of narrow tiles of the loop in all blocks.
  std::unordered_map<const Value*, Value*> of_blocks_;
};

}  // namespace

void ReduceBlocksTogether(ir::Module& module, ir::Function& kernel) {
  for (Op* op : OpsOfKind(kernel, OpKind::Loop)) {
    BlockLoop loop(module, kernel, op);
    if (!op->HasAttr(AttrKey::Blocks) && loop.Study()) loop.ReduceTogether();
  }
}

}  // namespace kdl::simt
