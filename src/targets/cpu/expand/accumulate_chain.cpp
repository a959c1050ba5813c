#include <algorithm>
#include <map>

#include "targets/cpu/analysis/register_block.h"
#include "targets/cpu/expand/accumulate.h"
#include "targets/cpu/expand/slide.h"
#include "targets/cpu/expand/small_numbers.h"

// A register block is `rows` elements along one axis of the result by `columns` vectors along its last axis; its
// accumulators are carried through the loops over the folded axes. What an operand lacks, the row or the column, it is
// read once for.
//
//   for each row block i, column block j
//     loop %k carry(acc[rows][columns])
//       b[columns] = buffer_load b[k, j + c * L] : vec
//       for each row: a = buffer_load a[i + r, k]; acc[r][c] = fma a, b[c], acc[r][c]
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
        is_native_(IsNative(e.facts, what.unit)) {}

  void Run() {
    for (Value* operand : what_.operands) {
      slides_.emplace_back();
      homes_.emplace_back();
      if (!IsTileValue(operand)) continue;
      if (operand->def()->kind() == OpKind::Slide && !FindHome(e_, operand)) {
        slides_.back() = SlidingOf(e_, operand->def());
        continue;
      }
      homes_.back() = HomeOf(e_, operand);
      if (const Op* pack = LatePackOf(e_, operand)) packs_.push_back({pack, homes_.size() - 1});
    }
    StudyFactors();
    if (!column_) {
      e_.scalars[what_.op->result()] = Block({}, {})[0];
      return;
    }
    PlaceResult();
    MakeNest(e_, what_.op, block_.outer, position_, {}, [&](const Values&) -> Values {
      Columns();
      return {};
    });
  }

 private:
  void PlaceResult() {
    Value* into = what_.into;
    result_ = HomeOf(e_, what_.op->result());
    if (into && IsTileValue(into)) start_ = HomeOf(e_, into);
    auto last = e_.last_turns.find(what_.op);
    if (last != e_.last_turns.end()) last_turn_ = &last->second;
  }

  /// Whether there may be something to flush is known of what is packed only once it is; of windows it is not asked.
  void StudyFactors() {
    bool slides = std::ranges::any_of(slides_, [](const auto& slide) { return slide.has_value(); });
    if (!what_.unit || !what_.unit->flushes || is_native_ || slides) return;
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
    if (IsTileValue(value)) return small.NoneIn(what_.op, homes_[operand]);
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
            e_.given[nest->result()] = homes_[operand];
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
      Home& home = homes_[operand];
      Value* panel = e_.b.Binary(OpKind::Div, column_index_, e_.b.I64(home.panel));
      home.place = e_.b.Select(few_rows_, panel, e_.b.I64(0));
      home.first = e_.b.Binary(OpKind::Mul, panel, e_.b.I64(home.panel));
    }
    MakeIf(
        e_, few_rows_, {}, [] { return Values(); },
        [&]() -> Values {
          for (const auto& [nest, operand] : packs_) {
            e_.given[nest->result()] = homes_[operand];
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
        column_index_ = index;
        width_ = e_.b.I64(step);
        Pack();
        StudyPanels();
        Rows(largest, {lanes_});
        return {};
      });
      first = end;
    }
    MakeLoop(e_, {first, size, lanes_}, {}, [&](Value* index, const Values&) -> Values {
      column_index_ = index;
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
        row_index_ = index;
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
    Values block = Block(shape, piece);
    auto keep = [&]() -> Values {
      ForEach(shape, [&](size_t n, int64_t row, int64_t column) {
        Place(row, column);
        StorePiece(e_, block[n], result_, position_, piece);
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
          ForEach(shape, [&](size_t, int64_t row, int64_t column) {
            Place(row, column);
            PrefetchStoresAt(e_, last_turn_->epilogue, position_, piece);
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
    ForEach(shape, [&](size_t n, int64_t row, int64_t column) {
      Place(row, column);
      ExpandNestAt(e_, last_turn_->epilogue, position_, piece, last_turn_->tile, block[n]);
    });
  }

  void FinishFromTile(Shape shape) {
    e_.given[last_turn_->tile] = result_;
    e_.windows[*row_] = WindowFrom(row_index_, e_.b.I64(shape.rows));
    e_.windows[*column_] = WindowFrom(column_index_, width_);
    ExpandNest(e_, last_turn_->epilogue);
    e_.windows.clear();
  }

  template <class Visit>
  void ForEach(Shape shape, Visit&& visit) {
    size_t n = 0;
    for (int64_t row = 0; row < shape.rows; ++row) {
      for (int64_t column = 0; column < shape.columns; ++column) visit(n++, row, column);
    }
  }

  /// The position of a vector of the block.
  void Place(int64_t row, int64_t column) {
    if (row_) position_[*row_] = e_.b.Binary(OpKind::Add, row_index_, e_.b.I64(row));
    if (column_) {
      Value* skipped = e_.b.I64(column * lanes_);
      position_[*column_] = e_.b.Binary(OpKind::Add, column_index_, skipped);
    }
  }

  /// The accumulators of a block after all terms.
  Values Block(Shape shape, const Piece& piece) {
    Values starts = Starts(shape, piece);
    if (what_.unit) return AfterFlushes(shape, piece, starts);
    return MakeNest(e_, what_.op, what_.folded, position_, starts,
                    [&](const Values& carried) { return AfterTerm(shape, piece, carried); });
  }

  /// The accumulators after the term at the position.
  Values AfterTerm(Shape shape, const Piece& piece, const Values& accs) {
    Values next;
    read_.clear();
    ForEach(shape, [&](size_t n, int64_t row, int64_t column) {
      Values terms = Terms(row, column, piece);
      next.push_back(is_plain_ ? e_.b.Fma(terms[0], terms[1], accs[n])
                               : what_.step(accs[n], terms));
    });
    return next;
  }

  /// The accumulators after all steps of the unit, which take plain terms where there is nothing to flush.
  Values AfterFlushes(Shape shape, const Piece& piece, const Values& starts) {
    Value* factors = column_ ? panels_flush_nothing_ : nothing_flushes_;
    if (!factors) return AfterSteps(shape, piece, starts);
    std::vector<ir::Type> types;
    for (const Value* start : starts) types.push_back(start->type());
    return MakeIf(
        e_, And(factors, SmallNumbers(e_, kLeastSum).NoneOf(starts)), types,
        [&] {
          is_plain_ = true;
          Values after = AfterSteps(shape, piece, starts);
          is_plain_ = false;
          return after;
        },
        [&] { return AfterSteps(shape, piece, starts); });
  }

  /// The accumulators after all steps of the unit; the last one of a row may lack terms.
  Values AfterSteps(Shape shape, const Piece& piece, const Values& starts) {
    AxisId along = what_.folded.back();
    ir::AxisList around(what_.folded.begin(), what_.folded.end() - 1);
    int64_t depth = what_.unit->depth;
    return MakeNest(e_, what_.op, around, position_, Taken(starts), [&](const Values& carried) {
      Window window = e_.WindowOf(what_.op, along);
      Value* full = e_.b.Binary(OpKind::Add, window.lo, RoundDown(e_, window.size, depth));
      auto whole = [&](Value* index, const Values& accs) {
        return AfterStep(shape, piece, {along, index, nullptr}, accs);
      };
      auto rest = [&](Value* index, const Values& accs) {
        return AfterStep(shape, piece, {along, index, window.hi}, accs);
      };
      Values accs = MakeLoop(e_, {window.lo, full, depth}, carried, whole);
      return MakeLoop(e_, {full, window.hi, depth}, accs, rest);
    });
  }

  /// The accumulators as the unit takes them, where it takes a step at all.
  Values Taken(const Values& starts) {
    if (!what_.unit->flushes || is_native_ || is_plain_) return starts;
    Value* steps = e_.b.Bool(true);
    for (AxisId axis : what_.folded) {
      Value* some = e_.b.Binary(OpKind::Gt, e_.WindowOf(what_.op, axis).size, e_.b.I64(0));
      steps = e_.b.Binary(OpKind::And, steps, some);
    }
    Values taken;
    for (Value* start : starts) {
      Value* flushed = e_.b.Unary(OpKind::Flush, start);
      taken.push_back(e_.b.Select(steps, flushed, start));
    }
    return taken;
  }

  /// A step's terms begin at the index; where there is an end, those behind it have the factors +0.
  Values AfterStep(Shape shape, const Piece& piece, const Stretch& terms, Values accs) {
    if (is_native_) return AfterInstructions(shape, piece, terms, accs);
    for (int turn = 0; turn < what_.unit->depth; ++turn) {
      MoveTo(terms, TermAt(*what_.unit, turn));
      accs = AfterTerm(shape, piece, accs);
    }
    exists_ = nullptr;
    return accs;
  }

  /// To a term of a step.
  void MoveTo(const Stretch& terms, int64_t number) {
    Value* index = e_.b.Binary(OpKind::Add, terms.begin, e_.b.I64(number));
    exists_ = nullptr;
    if (terms.end) {
      exists_ = e_.b.Binary(OpKind::Lt, index, terms.end);
      Value* last = e_.b.Binary(OpKind::Sub, terms.end, e_.b.I64(1));
      index = e_.b.Binary(OpKind::Min, index, last);
    }
    position_[terms.axis] = index;
  }

  /// The same in instructions, which take the terms of a step side by side.
  Values AfterInstructions(Shape shape, const Piece& piece, const Stretch& terms,
                           const Values& accs) {
    Name name = what_.op->attr<ir::AttrKey::Unit>();
    Values next;
    read_.clear();
    ForEach(shape, [&](size_t n, int64_t row, int64_t column) {
      Value* a = StepFactors(0, row, column, piece, terms);
      Value* b = StepFactors(1, row, column, piece, terms);
      next.push_back(e_.b.Make(OpKind::UnitStep, {a, b, accs[n]}, accs[n]->type(),
                               {ir::MakeAttr<ir::AttrKey::Unit>(name)}));
    });
    return next;
  }

  /// An operand's factors of a step at a row and column of the block.
  Value* StepFactors(size_t operand, int64_t row, int64_t column, const Piece& piece,
                     const Stretch& terms) {
    const Value* value = what_.operands[operand];
    bool walks_rows = row_ && HasAxis(value, *row_);
    bool walks_columns = column_ && HasAxis(value, *column_);
    Value*& read = read_[{operand, walks_rows ? row : 0, walks_columns ? column : 0}];
    if (read) return read;
    Place(row, column);
    Piece part = walks_columns ? piece : Piece{};
    int64_t depth = what_.unit->depth;
    const Home& home = homes_[operand];
    bool side_by_side = part.lanes == 1 && home.buffer && home.axes.back() == terms.axis;
    if (side_by_side && !terms.end) {
      MoveTo(terms, 0);
      return read = LoadPiece(e_, home, value->type()->scalar, position_, {depth});
    }
    Values rows;
    for (int64_t number = 0; number < depth; ++number) {
      MoveTo(terms, number);
      Value* factor = IsTileValue(value) ? Load(operand, part) : e_.Scalar(what_.operands[operand]);
      rows.push_back(OrZero(factor));
    }
    exists_ = nullptr;
    ir::Type type = e_.TypeOf(value->type()->scalar, depth * part.lanes);
    return read = e_.b.Create(OpKind::Zip, {rows}, {type})->result();
  }

  /// What the accumulators of a block start from.
  Values Starts(Shape shape, const Piece& piece) {
    auto same = [&](Value* value) {
      auto count = static_cast<size_t>(shape.rows * shape.columns);
      return Values(count, e_.b.Splat(value, piece.lanes));
    };
    if (!what_.into) return same(what_.identity);
    if (!IsTileValue(what_.into)) return same(e_.Scalar(what_.into));
    ir::GetOp get(what_.into->def());
    if (!get.value()) return Loads(shape, piece);
    std::vector<ir::Type> types(static_cast<size_t>(shape.rows * shape.columns),
                                e_.TypeOf(what_.acc, piece.lanes));
    return MakeIf(
        e_, e_.Scalar(get.condition()), types, [&] { return same(e_.Scalar(get.value())); },
        [&] { return Loads(shape, piece); });
  }

  Values Loads(Shape shape, const Piece& piece) {
    Values loads;
    ForEach(shape, [&](size_t, int64_t row, int64_t column) {
      Place(row, column);
      loads.push_back(LoadPiece(e_, start_, what_.acc, position_, piece));
    });
    return loads;
  }

  Value* Load(size_t operand, const Piece& piece) {
    kdl::Scalar scalar = what_.operands[operand]->type()->scalar;
    if (slides_[operand]) return LoadSlid(e_, *slides_[operand], scalar, position_, piece);
    return LoadPiece(e_, homes_[operand], scalar, position_, piece);
  }

  Value* OrZero(Value* factor) {
    if (!exists_) return factor;
    return e_.b.Select(exists_, factor,
                       e_.b.Splat(e_.b.Bits(factor->type()->scalar, 0), ir::Lanes(factor->type())));
  }

  Values Terms(int64_t row, int64_t column, const Piece& piece) {
    Values terms;
    for (size_t i = 0; i < what_.operands.size(); ++i) {
      Value* operand = what_.operands[i];
      if (!IsTileValue(operand)) {
        terms.push_back(OrZero(e_.b.Cast(e_.Scalar(operand), what_.acc)));
        continue;
      }
      bool walks_rows = row_ && HasAxis(operand, *row_);
      bool walks_columns = column_ && HasAxis(operand, *column_);
      Value*& read = read_[{i, walks_rows ? row : 0, walks_columns ? column : 0}];
      if (!read) {
        Place(row, column);
        Value* loaded = Load(i, walks_columns ? piece : Piece{});
        read = OrZero(e_.b.Cast(loaded, what_.acc));
      }
      terms.push_back(read);
    }
    return terms;
  }

  Expander& e_;
  const Accumulation& what_;
  RegisterBlock block_;
  std::optional<AxisId> row_;
  std::optional<AxisId> column_;
  int64_t lanes_;
  bool is_native_;                              ///< a step of the unit is one instruction
  std::vector<Home> homes_;                     ///< of the operands that have one
  std::vector<std::optional<Sliding>> slides_;  ///< of those that are read in a window
  struct LatePack {
    const Op* nest;
    size_t operand;
  };
  std::vector<LatePack> packs_;
  Value* few_rows_ = nullptr;            ///< where there are packs
  const LastTurn* last_turn_ = nullptr;  ///< of `into`
  Home result_;
  Home start_;  ///< of `into`
  Position position_;
  Value* row_index_ = nullptr;
  Value* column_index_ = nullptr;
  Value* nothing_flushes_ = nullptr;  ///< of the factors but for panels, a bool; null: not known
  Value* panels_flush_nothing_ = nullptr;  ///< the same with these columns' panels
  bool is_plain_ = false;                  ///< terms are made that flush nothing
  Value* exists_ = nullptr;                ///< of the term at the position; null: it does
  Value* width_ = nullptr;                 ///< existing columns from there on that belong together
  std::map<std::tuple<size_t, int64_t, int64_t>, Value*>
      read_;  ///< operand, row, column: in this turn
};

}  // namespace

void AccumulateChain(Expander& e, const Accumulation& what) { Chain(e, what).Run(); }

}  // namespace kdl::cpu
