#include <algorithm>

#include "targets/cpu/analysis/register_block.h"
#include "targets/cpu/expand/block_steps.h"
#include "targets/cpu/expand/small_numbers.h"

// A register block is `rows` elements along one axis of the result by `columns` vectors along its last axis; its
// accumulators are carried through the loops over the folded axes (block_steps.cpp).
//
// What the contraction packs itself (late_pack.cpp) comes before the rows of each column, and what follows in the last
// turn (epilogue.cpp) behind each block.
// Rows that no whole block covers go by smaller blocks, columns by single vectors with a mask: nothing outside the
// valid elements is read or written.

namespace kdl::cpu {

namespace {

using ir::AxisId;
using ir::Op;
using ir::OpKind;
using ir::Value;

using Shape = RegisterBlock::Shape;

class Chain {
 public:
  Chain(Expander& e, const Accumulation& what)
      : e_(e),
        what_(what),
        block_(RegisterBlock::Of(e, *what.op)),
        row_(block_.row),
        column_(block_.column),
        lanes_(block_.lanes),
        steps_(e, what, block_) {}

  void Run() {
    for (size_t i = 0; i < what_.operands.size(); ++i) {
      const Value* operand = what_.operands[i];
      const Op* pack = IsTileValue(operand) ? LatePackOf(e_, operand) : nullptr;
      if (pack) packs_.push_back({pack, i});
    }
    StudyFactors();
    if (!column_) {
      e_.scalars[what_.op->result()] = steps_.Accumulate({}, {}, nothing_flushes_)[0];
      return;
    }
    PlaceResult();
    MakeNest(e_, what_.op, block_.outer, steps_.position(), {}, [&](const Values&) -> Values {
      Columns();
      return {};
    });
  }

 private:
  void PlaceResult() {
    result_ = HomeAlong(e_, what_.op->result(), *column_);
    auto last = e_.last_turns.find(what_.op);
    if (last != e_.last_turns.end()) last_turn_ = &last->second;
  }

  /// Whether there may be something to flush is known of what is packed only once it is; of windows it is not asked.
  void StudyFactors() {
    if (!what_.unit || !what_.unit->flushes || steps_.is_native() || steps_.ReadsWindows()) return;
    nothing_flushes_ = e_.b.Bool(true);
    for (size_t i = 0; i < what_.operands.size(); ++i) {
      bool is_packed = std::ranges::any_of(packs_, [&](auto& pack) { return pack.operand == i; });
      if (!is_packed) nothing_flushes_ = And(nothing_flushes_, HasNoSmall(i));
    }
  }

  Value* And(Value* a, Value* b) { return e_.b.Binary(OpKind::And, a, b); }

  Value* HasNoSmall(size_t operand) {
    SmallNumbers small(e_, kLeastFactor);
    Value* value = what_.operands[operand];
    if (IsTileValue(value)) return small.NoneIn(what_.op, steps_.home(operand));
    return small.NoneOf({e_.Scalar(value)});
  }

  /// Of the panels of these columns.
  void StudyPanels() {
    panels_flush_nothing_ = nothing_flushes_;
    if (!nothing_flushes_) return;
    e_.windows[*column_] = WindowFrom(column_index_, width_);
    for (const LatePack& pack : packs_)
      panels_flush_nothing_ = And(panels_flush_nothing_, HasNoSmall(pack.operand));
    e_.windows.erase(*column_);
  }

  Window WindowFrom(Value* lo, Value* size) {
    return {lo, e_.b.Binary(OpKind::Add, lo, size), size};
  }

  /// A panel serves all rows. Where they are few, packing takes most of the time, and memory gives long rows sooner than
  /// pieces of them: all columns are packed at once.
  void PackAllForFewRows() {
    if (packs_.empty()) return;
    constexpr int64_t kFewBlocks = 4;
    Value* rows = e_.Facts(what_.op, *row_).size;
    few_rows_ = e_.b.Binary(OpKind::Lt, rows, e_.b.I64(kFewBlocks * block_.largest.rows));
    MakeIf(
        e_, few_rows_, {},
        [&]() -> Values {
          for (const auto& [nest, operand] : packs_) {
            e_.given[nest->result()] = steps_.home(operand);
            ExpandNest(e_, nest);
          }
          return {};
        },
        [] { return Values(); });
  }

  /// Packs what the rows of these columns read, always in the same place.
  void Pack() {
    if (packs_.empty()) return;
    for (const auto& [nest, operand] : packs_) {
      Home& home = steps_.home(operand);
      Value* panel = e_.b.Binary(OpKind::Div, column_index_, e_.b.I64(home.panel));
      home.place = e_.b.Select(few_rows_, panel, e_.b.I64(0));
      home.first = e_.b.Binary(OpKind::Mul, panel, e_.b.I64(home.panel));
    }
    MakeIf(
        e_, few_rows_, {}, [] { return Values(); },
        [&]() -> Values {
          for (const auto& [nest, operand] : packs_) {
            e_.given[nest->result()] = steps_.home(operand);
            e_.windows[*column_] = WindowFrom(column_index_, width_);
            ExpandNest(e_, nest);
            e_.windows.clear();
          }
          return {};
        });
  }

  void Columns() {
    PackAllForFewRows();
    const Shape& largest = block_.largest;
    Value* size = e_.Facts(what_.op, *column_).size;
    Value* first = e_.b.I64(0);
    if (largest.columns > 1) {
      int64_t step = largest.columns * lanes_;
      Value* blocks = e_.b.Binary(OpKind::Div, size, e_.b.I64(step));
      Value* end = e_.b.Binary(OpKind::Mul, blocks, e_.b.I64(step));
      MakeLoop(e_, {first, end, step}, {}, [&](Value* index, const Values&) -> Values {
        steps_.MoveColumn(column_index_ = index);
        width_ = e_.b.I64(step);
        Pack();
        StudyPanels();
        Rows(largest, {lanes_});
        return {};
      });
      first = end;
    }
    MakeLoop(e_, {first, size, lanes_}, {}, [&](Value* index, const Values&) -> Values {
      steps_.MoveColumn(column_index_ = index);
      width_ = e_.b.I64(1);
      Piece piece{lanes_};
      if (lanes_ > 1) {
        piece.count = e_.b.Binary(OpKind::Sub, size, index);
        width_ = e_.b.Binary(OpKind::Min, piece.count, e_.b.I64(lanes_));
        piece.mask =
            e_.b.Make(OpKind::LaneMask, {piece.count}, e_.TypeOf(kdl::Scalar::Bool, lanes_));
      }
      Pack();
      StudyPanels();
      Rows({largest.rows, 1}, piece);
      return {};
    });
  }

  /// All rows in one column: blocks of the largest height, then of smaller ones.
  void Rows(Shape shape, const Piece& piece) {
    if (!row_) return StoreBlock(shape, piece);
    Value* size = e_.Facts(what_.op, *row_).size;
    Value* first = e_.b.I64(0);
    for (int64_t rows : Heights(shape.rows)) {
      Value* rest = e_.b.Binary(OpKind::Sub, size, first);
      Value* blocks = e_.b.Binary(OpKind::Div, rest, e_.b.I64(rows));
      Value* end =
          e_.b.Binary(OpKind::Add, first, e_.b.Binary(OpKind::Mul, blocks, e_.b.I64(rows)));
      MakeLoop(e_, {first, end, rows}, {}, [&](Value* index, const Values&) -> Values {
        steps_.MoveRow(row_index_ = index);
        StoreBlock({rows, shape.columns}, piece);
        return {};
      });
      first = end;
    }
  }

  /// The largest blocks, then what is left of them: by fours and twos where that saves much, then one by one.
  static std::vector<int64_t> Heights(int64_t largest) {
    std::vector<int64_t> heights = {largest};
    for (int64_t less : {4, 2, 1}) {
      if (2 * less <= largest) heights.push_back(less);
    }
    return heights;
  }

  void StoreBlock(Shape shape, const Piece& piece) {
    if (!piece.mask) Prefetch(shape, piece);
    Values block = steps_.Accumulate(shape, piece, panels_flush_nothing_);
    auto keep = [&]() -> Values {
      BlockSteps::ForEach(shape, [&](size_t n, int64_t row, int64_t column) {
        steps_.Place(row, column);
        StorePiece(e_, block[n], result_, steps_.position(), piece);
      });
      return {};
    };
    if (!last_turn_) {
      keep();
      return;
    }
    MakeIf(
        e_, IsLastTurn(), {},
        [&]() -> Values {
          if (IsShort(last_turn_->epilogue)) {
            Finish(block, shape, piece);
          } else {
            keep();
            FinishFromTile(shape);
          }
          return {};
        },
        keep);
  }

  /// While a block of rows passes, its share of the next columns' panel is asked for; so is what it will store.
  void Prefetch(Shape shape, const Piece& piece) {
    if (!packs_.empty()) {
      MakeIf(
          e_, few_rows_, {}, [] { return Values(); },
          [&]() -> Values {
            PrefetchPanel(shape);
            return {};
          });
    }
    if (!last_turn_) return;
    MakeIf(
        e_, IsLastTurn(), {},
        [&]() -> Values {
          BlockSteps::ForEach(shape, [&](size_t, int64_t row, int64_t column) {
            steps_.Place(row, column);
            PrefetchStoresAt(e_, last_turn_->epilogue, steps_.position(), piece);
          });
          return {};
        },
        [] { return Values(); });
  }

  void PrefetchPanel(Shape shape) {
    for (const LatePack& pack : packs_) {
      if (pack.nest->operands().size() != 2) continue;
      AxisId folded = pack.nest->operand(0)->type()->axes[0];
      Value* terms = e_.Facts(what_.op, folded).size;
      Value* rows = e_.Facts(what_.op, *row_).size;
      auto share = [&](Value* row) {
        return e_.b.Binary(OpKind::Div, e_.b.Binary(OpKind::Mul, terms, row), rows);
      };
      Value* lo = share(row_index_);
      Value* hi = share(e_.b.Binary(OpKind::Add, row_index_, e_.b.I64(shape.rows)));
      e_.windows[folded] = {lo, hi, e_.b.Binary(OpKind::Sub, hi, lo)};
      Value* next = e_.b.Binary(OpKind::Add, column_index_, width_);
      e_.windows[*column_] = WindowFrom(next, width_);
      PrefetchLoads(e_, pack.nest);
      e_.windows.clear();
    }
  }

  /// No index comes after this one. The distance to the end is taken as a u64, which holds every one.
  Value* IsLastTurn() {
    Value* left = e_.b.Binary(OpKind::Sub, last_turn_->hi, last_turn_->index);
    Value* rest = e_.b.Cast(left, kdl::Scalar::U64);
    Value* step = e_.b.Cast(last_turn_->step, kdl::Scalar::U64);
    Value* is_last = e_.b.Binary(OpKind::Le, rest, step);
    return e_.b.Binary(OpKind::And, last_turn_->is_long, is_last);
  }

  /// Few enough ops that a copy for each vector of a block is small, and leaves the accumulators in registers.
  static bool IsShort(const Op* nest) {
    constexpr int kFew = 4;
    int count = 0;
    for (const Op* op : *nest->region()) count += op->info().has(ir::kElementwise) ? 1 : 0;
    return count <= kFew;
  }

  void Finish(const Values& block, Shape shape, const Piece& piece) {
    BlockSteps::ForEach(shape, [&](size_t n, int64_t row, int64_t column) {
      steps_.Place(row, column);
      ExpandNestAt(e_, last_turn_->epilogue, steps_.position(), piece, last_turn_->tile, block[n]);
    });
  }

  void FinishFromTile(Shape shape) {
    e_.given[last_turn_->tile] = result_;
    e_.windows[*row_] = WindowFrom(row_index_, e_.b.I64(shape.rows));
    e_.windows[*column_] = WindowFrom(column_index_, width_);
    ExpandNest(e_, last_turn_->epilogue);
    e_.windows.clear();
  }

  Expander& e_;
  const Accumulation& what_;
  RegisterBlock block_;
  std::optional<AxisId> row_;
  std::optional<AxisId> column_;
  int64_t lanes_;
  BlockSteps steps_;
  struct LatePack {
    const Op* nest;
    size_t operand;
  };
  std::vector<LatePack> packs_;
  Value* few_rows_ = nullptr;            ///< where there are packs
  const LastTurn* last_turn_ = nullptr;  ///< of `into`
  Home result_;
  Value* row_index_ = nullptr;
  Value* column_index_ = nullptr;
  Value* nothing_flushes_ = nullptr;  ///< of the factors but for panels, a bool; null: not known
  Value* panels_flush_nothing_ = nullptr;  ///< the same with these columns' panels
  Value* width_ = nullptr;                 ///< existing columns from there on that belong together
};

}  // namespace

void AccumulateChain(Expander& e, const Accumulation& what) { Chain(e, what).Run(); }

}  // namespace kdl::cpu
