#include "targets/cpu/expand/block_steps.h"

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <optional>
#include <tuple>

#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/expand/sliding_window.h"

// Emits the loops of a register block over the reduced axes. Without a matrix instruction:
//
//   loop %k carry(acc[rows][columns])
//     b[columns] = buffer_load b[k, j + c * L] : vec
//     for each row: a = buffer_load a[i + r, k]; acc[r][c] = fma a, b[c], acc[r][c]
//
// A matrix instruction processes several terms per step. If the processor does not have the instruction, the
// terms are processed one after another.

namespace kdl::cpu {

namespace {

using Shape = RegisterBlock::Shape;

/// Emits the steps of a register block. An operand without the row axis is read once for all rows, and an
/// operand without the column axis once for all columns.
class BlockSteps {
 public:
  BlockSteps(Expander& e, const Accumulation& what, const RegisterBlock& block)
      : e_(e),
        what_(what),
        row_(block.row),
        column_(block.column),
        lanes_(block.lanes),
        is_native_(IsNative(e.facts, what.instruction)),
        is_plain_(what.op->HasAttr(ir::AttrKey::Plain)) {
    for (Value* operand : what_.operands) {
      sliding_windows_.emplace_back();
      tile_buffers_.emplace_back();
      if (!IsTileValue(operand)) continue;
      if (operand->def()->kind() == OpKind::SlidingWindow && !FindTileBuffer(e_, operand)) {
        sliding_windows_.back() = SlidingOf(e_, operand->def());
      } else {
        tile_buffers_.back() =
            column_ ? TileBufferAlong(e_, operand, *column_) : TileBufferOf(e_, operand);
      }
    }
    if (what_.into && IsTileValue(what_.into)) start_ = TileBufferAlong(e_, what_.into, *column_);
    if (what_.plus && IsTileValue(what_.plus)) plus_ = TileBufferAlong(e_, what_.plus, *column_);
  }

  /// Returns the accumulators after all terms, ordered row by row.
  Values Accumulate(const RegisterTile& tile) {
    const Shape shape = tile.shape;
    chunk_ = tile.chunk;
    rows_ = tile.partial;
    for (AxisId axis : tile.block.outer) position_[axis] = e_.b.I64(0);
    Values starts = WithPlus(shape, Starts(shape));
    if (what_.instruction) return AfterSteps(shape, starts);
    AxisId last = what_.folded.back();
    int64_t together = TermsTogether(shape);
    ir::AxisList around = what_.folded;
    around.pop_back();
    return MakeElementwiseLoop(e_, what_.op, around, position_, starts, [&](const Values& carried) {
      if (together == 0) return TermByTerm(tile, carried);
      Values accs = carried;
      for (int64_t term = 0; term < together; ++term) {
        position_[last] = e_.b.I64(term);
        term_ = term;
        accs = AfterTerm(shape, accs);
      }
      term_ = 0;
      return accs;
    });
  }

 private:
  // The maximum number of unrolled steps, to limit code size.
  static constexpr int64_t kMostSteps = 48;

  /// Sets the position to that of a vector of the block.
  void Place(int64_t row, int64_t column) {
    if (row_) position_[*row_] = RowNumber(row);
    if (column_) position_[*column_] = e_.b.I64(column * lanes_);
  }

  Value* RowNumber(int64_t row) {
    if (!iteration_row_) return rows_.Number(e_.b, row);
    return rows_.count ? e_.b.Min(iteration_row_, rows_.numbers.back()) : iteration_row_;
  }

  /// Returns the number of terms along the last reduced axis if the loop over them is unrolled, otherwise 0.
  /// It is unrolled if the number is small and the same in every block, as for the window of a convolution.
  /// For example, a loop over three terms for twelve accumulators would need a third more instructions.
  int64_t TermsTogether(Shape shape) const {
    Window window = e_.WindowOf(what_.op, what_.folded.back());
    int64_t terms = ConstantOf(window.size).value_or(0);
    bool are_few = terms * shape.rows * shape.columns <= kMostSteps && ConstantOf(window.lo) == 0;
    return are_few ? terms : 0;
  }

  /// Returns the accumulators after a loop over the terms along the last reduced axis. The loop is unrolled
  /// for a product's whole blocks if they are large enough to keep the processor busy, but small enough that
  /// the loop's own instructions matter.
  Values TermByTerm(const RegisterTile& tile, const Values& carried) {
    constexpr int64_t kFewestSteps = 8;
    constexpr int64_t kMostTerms = 4;
    const Shape shape = tile.shape;
    AxisId last = what_.folded.back();
    Window window = e_.WindowOf(what_.op, last);
    int64_t steps = shape.rows * shape.columns;
    bool is_whole = steps == tile.block.largest.rows * tile.block.largest.columns;
    bool unrolls = what_.op->kind() == OpKind::Contraction && is_whole && steps >= kFewestSteps;
    int64_t unroll = unrolls ? std::clamp<int64_t>(kMostSteps / steps, 1, kMostTerms) : 1;
    return MakeLoop(e_.b, {window.lo, window.hi, 1, unroll}, carried,
                    [&](Value* index, const Values& accs) {
                      position_[last] = index;
                      return AfterTerm(shape, accs);
                    });
  }

  /// Returns the accumulators after the term at the current position.
  Values AfterTerm(Shape shape, const Values& accs) {
    Values next;
    read_.clear();
    shape.ForEach([&](size_t n, int64_t row, int64_t column) {
      Values terms = Terms(row, column);
      next.push_back(is_plain_ ? e_.b.Fma(terms[0], terms[1], accs[n])
                               : what_.step(accs[n], terms));
    });
    return next;
  }

  /// Applies `after` to the accumulators of each row. Since this code hardly ever runs, it is kept small: it
  /// is a loop that processes the first row in each iteration and then moves it to the end.
  Values RowByRow(Shape shape, const Values& starts,
                  const std::function<Values(Shape, const Values&)>& after) {
    if (shape.rows == 1) return after(shape, starts);
    return MakeLoop(e_.b, {e_.b.I64(0), e_.b.I64(shape.rows), 1}, starts,
                    [&](Value* row, const Values& accs) {
                      iteration_row_ = row;
                      auto second = accs.begin() + shape.columns;
                      Values first = after({1, shape.columns}, {accs.begin(), second});
                      iteration_row_ = nullptr;
                      Values transposed(second, accs.end());
                      transposed.insert(transposed.end(), first.begin(), first.end());
                      return transposed;
                    });
  }

  /// Returns the accumulators after all steps of the matrix instruction. The last step may have fewer terms.
  Values AfterSteps(Shape shape, const Values& starts) {
    AxisId along = what_.folded.back();
    ir::AxisList around(what_.folded.begin(), what_.folded.end() - 1);
    int64_t depth = what_.instruction->depth;
    return MakeElementwiseLoop(
        e_, what_.op, around, position_, Taken(starts), [&](const Values& before) {
          Window window = e_.WindowOf(what_.op, along);
          Values carried = before;
          if (FitTiles(shape)) {
            Value* in_tiles =
                RoundDown(e_, window.size,
                          ir::TermsPerGroup(*what_.instruction) * what_.instruction->tile_groups);
            carried = AfterTiles(shape, window.lo, in_tiles, carried);
            window.lo = e_.b.Add(window.lo, in_tiles);
            window.size = e_.b.Sub(window.size, in_tiles);
          }
          auto steps = [&](Value* to, Value* end) {
            return MakeLoop(e_.b, {window.lo, to, depth}, carried,
                            [&](Value* index, const Values& accs) {
                              return AfterStep(shape, {along, index, end}, accs);
                            });
          };
          if (AreFilled()) return steps(window.hi, nullptr);
          // This code hardly ever runs, so it should be small.
          if (Flushes() && shape.rows == 1) return steps(window.hi, window.hi);
          Value* full = e_.b.Add(window.lo, RoundDown(e_, window.size, depth));
          return AfterRest(shape, {along, full, window.hi}, steps(full, nullptr));
        });
  }

  /// Returns the accumulators after adding the terms that are left over after the full steps.
  Values AfterRest(Shape shape, const Stretch& rest, const Values& accs) {
    auto step = [&](Shape rows, const Values& before) { return AfterStep(rows, rest, before); };
    Values after = MakeIf(
        e_.b, e_.b.Ge(rest.begin, rest.end), TypesOf(accs), [&] { return accs; },
        [&] { return is_plain_ ? step(shape, accs) : RowByRow(shape, accs, step); });
    // Marks the case in which no terms are left over as likely, so that the accumulators stay in registers in
    // that case.
    after[0]->def()->SetAttr(ir::MakeAttr<ir::AttrKey::Likely>(1));
    return after;
  }

  /// Whether the instruction accepts tiles of accumulators as large as the block, and the factors have the
  /// layout that it loads.
  bool FitTiles(Shape shape) const {
    // If a single step is only one or two machine instructions, tiles with fewer than four rows save no time.
    int64_t least_rows = what_.instruction->order == ir::StepOrder::TwoSequences ? 1 : 4;
    int64_t of_vector = e_.facts.vector_bits / (8 * Bytes(what_.instruction->acc));
    AxisId along = what_.folded.back();
    int64_t of_group = ir::TermsPerGroup(*what_.instruction);
    bool are_tiles = is_native_ && what_.instruction->tile_groups > 0 && row_ && column_ &&
                     !iteration_row_ && !rows_.count && shape.rows >= least_rows &&
                     shape.rows <= ir::kMostTileRows && lanes_ == of_vector;
    if (!are_tiles || e_.Extent(along) < what_.instruction->tile_groups * of_group) return false;
    bool is_first = HasAxis(what_.operands[0], *row_);
    const Value* of_rows = what_.operands[is_first ? 0 : 1];
    const Value* of_columns = what_.operands[is_first ? 1 : 0];
    const TileBuffer& rows = tile_buffers_[is_first ? 0 : 1];
    const TileBuffer& columns = tile_buffers_[is_first ? 1 : 0];
    if (!rows.buffer || !columns.buffer || HasAxis(of_rows, *column_) || HasAxis(of_columns, *row_))
      return false;
    bool are_rows = !rows.panel && rows.axes.back() == along && Contains(rows.axes, *row_);
    bool are_columns = columns.group == of_group && columns.axes.size() >= 2 &&
                       columns.axes[columns.axes.size() - 2] == along &&
                       (shape.columns == 1 || columns.panel == shape.columns * lanes_);
    return are_rows && columns.panel && are_columns;
  }

  /// Returns the accumulators after tile instructions have added `terms` terms, starting at index `lo`.
  Values AfterTiles(Shape shape, Value* lo, Value* terms, const Values& accs) {
    size_t rows = HasAxis(what_.operands[0], *row_) ? 0 : 1;
    Place(0, 0);
    position_[what_.folded.back()] = lo;
    Values place = FirstIndexOf(e_, tile_buffers_[rows], position_);
    for (Value* index : FirstIndexOf(e_, tile_buffers_[1 - rows], position_))
      place.push_back(index);
    auto of_group = static_cast<uint64_t>(ir::TermsPerGroup(*what_.instruction));
    place.push_back(e_.b.Shr(terms, e_.b.I64(std::countr_zero(of_group))));
    const TileBuffer& tile_buffer = tile_buffers_[rows];
    int64_t along = std::ranges::find(tile_buffer.axes, *row_) - tile_buffer.axes.begin();
    std::vector<ir::Type> types = TypesOf(accs);
    auto steps = [&] {
      return e_.b
          .Create(
              OpKind::TileMma,
              {{tile_buffer.buffer}, {tile_buffers_[1 - rows].buffer}, place, accs}, types,
              {ir::MakeAttr<ir::AttrKey::Instruction>(what_.op->attr<ir::AttrKey::Instruction>()),
               ir::MakeAttr<ir::AttrKey::Along>({along}),
               ir::MakeAttr<ir::AttrKey::Sizes>({shape.rows, shape.columns})})
          ->results();
    };
    Value* some = e_.b.Gt(terms, e_.b.I64(0));
    return MakeIf(e_.b, some, types, steps, [&] { return accs; });
  }

  /// Whether steps may run past the end of the block, because the buffers contain +0 after the end.
  bool AreFilled() const {
    AxisId along = what_.folded.back();
    return is_native_ && std::ranges::all_of(tile_buffers_, [&](const TileBuffer& tile_buffer) {
             if (!tile_buffer.buffer || tile_buffer.group != what_.instruction->depth) return false;
             return tile_buffer.axes[tile_buffer.axes.size() - (tile_buffer.panel ? 2 : 1)] ==
                    along;
           });
  }

  /// Whether the code that executes the steps must flush subnormals.
  bool Flushes() const { return what_.instruction->flushes && !is_native_ && !is_plain_; }

  /// Returns the initial accumulators as the instruction reads them. If the instruction flushes subnormals and
  /// there is at least one step, they are flushed.
  Values Taken(const Values& starts) {
    if (!Flushes()) return starts;
    Value* steps = e_.b.Bool(true);
    for (AxisId axis : what_.folded) {
      Value* some = e_.b.Gt(e_.WindowOf(what_.op, axis).size, e_.b.I64(0));
      steps = e_.b.And(steps, some);
    }
    Values taken;
    for (Value* start : starts) {
      Value* flushed = e_.b.Unary(OpKind::Flush, start);
      taken.push_back(e_.b.Select(steps, flushed, start));
    }
    return taken;
  }

  /// Returns the accumulators after a step whose terms begin at `terms.begin`. If `terms.end` is set, the
  /// factors from this index on are +0.
  Values AfterStep(Shape shape, const Stretch& terms, Values accs) {
    if (is_native_ && what_.instruction->order == ir::StepOrder::TwoSequences)
      return AfterSequences(shape, terms, accs);
    if (is_native_) return AfterInstructions(shape, terms, accs);
    for (int iteration = 0; iteration < what_.instruction->depth; ++iteration) {
      int64_t number = TermAt(*what_.instruction, iteration);
      bool is_after = is_plain_ && terms.end && number + 1 == what_.instruction->depth;
      if (is_after) {
        AddZeros(accs);
        continue;
      }
      MoveTo(terms, number);
      accs = AfterTerm(shape, accs);
    }
    exists_ = nullptr;
    return accs;
  }

  /// Adds a term of +0 to each accumulator, which turns -0 into +0.
  void AddZeros(Values& accs) {
    for (Value*& acc : accs)
      acc = e_.b.Add(acc, e_.b.Splat(what_.identity, ir::Lanes(acc->type())));
  }

  /// Sets the position to term `number` of a step. Only the first term of a step certainly exists.
  void MoveTo(const Stretch& terms, int64_t number) {
    Value* index = e_.b.Add(terms.begin, e_.b.I64(number));
    exists_ = nullptr;
    if (terms.end && number > 0) {
      exists_ = e_.b.Lt(index, terms.end);
      Value* last = e_.b.Sub(terms.end, e_.b.I64(1));
      index = e_.b.Min(index, last);
    }
    position_[terms.axis] = index;
  }

  /// Returns the accumulators after a step, using instructions that process the terms of a step together.
  Values AfterInstructions(Shape shape, const Stretch& terms, const Values& accs) {
    Name name = what_.op->attr<ir::AttrKey::Instruction>();
    Values next;
    read_.clear();
    shape.ForEach([&](size_t n, int64_t row, int64_t column) {
      Value* a = StepFactors(0, row, column, terms);
      Value* b = StepFactors(1, row, column, terms);
      next.push_back(e_.b.Make(OpKind::VectorMma, {a, b, accs[n]}, accs[n]->type(),
                               {ir::MakeAttr<ir::AttrKey::Instruction>(name)}));
    });
    return next;
  }

  /// Returns the accumulators after a step of an instruction that accumulates even and odd terms separately,
  /// in two sequences. The code processes the pairs and the rows one after another, because it needs two more
  /// registers for each accumulator.
  Values AfterSequences(Shape shape, const Stretch& terms, const Values& accs) {
    return RowByRow(shape, accs, [&](Shape row, const Values& before) {
      Value* end = e_.b.Add(terms.begin, e_.b.I64(what_.instruction->depth));
      if (terms.end) end = e_.b.Min(end, terms.end);
      Value* zero = e_.b.Splat(e_.b.Bits(what_.acc, 0), chunk_.lanes);
      Values chains = MakeLoop(e_.b, {terms.begin, end, 2}, Values(2 * before.size(), zero),
                               [&](Value* pair, const Values& sums) {
                                 return AfterPair(row, {terms.axis, pair, terms.end}, sums);
                               });
      if (terms.end) chains = WithNothing(chains, zero, e_.b.Sub(end, terms.begin));
      auto flush = [&](Value* value) { return e_.b.Unary(OpKind::Flush, value); };
      Values after;
      for (size_t n = 0; n < before.size(); ++n) {
        Value* both = flush(e_.b.Add(chains[2 * n], chains[2 * n + 1]));
        after.push_back(flush(e_.b.Add(flush(before[n]), both)));
      }
      return after;
    });
  }

  /// Returns the accumulators of the two sequences after a pair of terms. Each accumulator of the block has
  /// two of them.
  Values AfterPair(Shape row, const Stretch& terms, const Values& chains) {
    Name name = what_.op->attr<ir::AttrKey::Instruction>();
    Values next;
    read_.clear();
    row.ForEach([&](size_t n, int64_t r, int64_t column) {
      Value* a = StepFactors(0, r, column, terms);
      Value* b = StepFactors(1, r, column, terms);
      for (size_t part : {0, 1}) {
        Value* chain = chains[2 * n + part];
        next.push_back(e_.b.Make(OpKind::VectorMma, {a, b, chain}, chain->type(),
                                 {ir::MakeAttr<ir::AttrKey::Instruction>(name),
                                  ir::MakeAttr<ir::AttrKey::Part>(static_cast<int64_t>(part))}));
      }
    });
    return next;
  }

  /// Returns the sequences' accumulators after the terms that are missing in the last step. These terms are
  /// +0 times +0, so an accumulator that was -0 becomes +0. `terms` is the number of terms that exist.
  Values WithNothing(const Values& chains, Value* zero, Value* terms) {
    Value* lacks = e_.b.Lt(terms, e_.b.I64(what_.instruction->depth - 1));
    Values filled;
    for (Value* chain : chains) filled.push_back(e_.b.Select(lacks, e_.b.Add(chain, zero), chain));
    return filled;
  }

  /// Returns the cache entry for the value that this iteration reads from an operand. The row or the column
  /// is ignored if the operand does not depend on it.
  Value*& Read(size_t operand, int64_t row, int64_t column) {
    const Value* value = what_.operands[operand];
    return read_[{operand, row_ && HasAxis(value, *row_) ? row : 0,
                  column_ && HasAxis(value, *column_) ? column : 0}];
  }

  /// Returns an operand's factors, for a step or for a pair of terms, at a row and column of the block.
  Value* StepFactors(size_t operand, int64_t row, int64_t column, const Stretch& terms) {
    const Value* value = what_.operands[operand];
    bool walks_columns = column_ && HasAxis(value, *column_);
    Value*& read = Read(operand, row, column);
    if (read) return read;
    Place(row, column);
    Chunk part = walks_columns ? chunk_ : Chunk{};
    int64_t of_group = ir::TermsPerGroup(*what_.instruction);
    const TileBuffer& tile_buffer = tile_buffers_[operand];
    bool in_groups = tile_buffer.panel && tile_buffer.group == of_group &&
                     tile_buffer.axes[tile_buffer.axes.size() - 2] == terms.axis;
    if (walks_columns && in_groups) {
      position_[terms.axis] = terms.begin;
      return read = LoadGroups(e_, tile_buffer, value->type()->scalar, position_, part.lanes);
    }
    bool side_by_side =
        part.lanes == 1 && tile_buffer.buffer && tile_buffer.axes.back() == terms.axis;
    if (side_by_side && !terms.end) {
      MoveTo(terms, 0);
      return read = LoadChunk(e_, tile_buffer, value->type()->scalar, position_, {of_group});
    }
    Values rows;
    for (int64_t number = 0; number < of_group; ++number) {
      MoveTo(terms, number);
      Value* factor = IsTileValue(value) ? Load(operand, part) : e_.Scalar(what_.operands[operand]);
      rows.push_back(OrZero(factor));
    }
    exists_ = nullptr;
    ir::Type type = e_.VectorType(value->type()->scalar, of_group * part.lanes);
    return read = MakeOne(e_.b, OpKind::Zip, {rows}, type);
  }

  Values WithPlus(Shape shape, Values starts) {
    if (!what_.plus) return starts;
    shape.ForEach([&](size_t n, int64_t row, int64_t column) {
      Place(row, column);
      bool walks_columns = column_ && HasAxis(what_.plus, *column_);
      Value* plus = IsTileValue(what_.plus) ? LoadChunk(e_, plus_, what_.acc, position_,
                                                        walks_columns ? chunk_ : Chunk{})
                                            : e_.Scalar(what_.plus);
      starts[n] = e_.b.Add(starts[n], e_.b.Splat(plus, chunk_.lanes));
    });
    return starts;
  }

  /// Returns the initial accumulators of a block.
  Values Starts(Shape shape) {
    auto same = [&](Value* value) {
      auto count = static_cast<size_t>(shape.rows * shape.columns);
      return Values(count, e_.b.Splat(value, chunk_.lanes));
    };
    if (!what_.into) return same(what_.identity);
    if (!IsTileValue(what_.into)) return same(e_.Scalar(what_.into));
    ir::LoadTileOp get(what_.into->def());
    if (!get.value()) return Loads(shape);
    std::vector<ir::Type> types(static_cast<size_t>(shape.rows * shape.columns),
                                e_.VectorType(what_.acc, chunk_.lanes));
    return MakeIf(
        e_.b, e_.Scalar(get.condition()), types, [&] { return same(e_.Scalar(get.value())); },
        [&] { return Loads(shape); });
  }

  Values Loads(Shape shape) {
    Values loads;
    shape.ForEach([&](size_t, int64_t row, int64_t column) {
      Place(row, column);
      loads.push_back(LoadChunk(e_, start_, what_.acc, position_, chunk_));
    });
    return loads;
  }

  /// Whether the rows of different terms share elements, because a sliding window moves along the rows. If
  /// so, LLVM would keep these elements in registers that accumulators need.
  bool WindowsSlidingWindowAlongRows() const {
    for (size_t i = 0; row_ && i < sliding_windows_.size(); ++i)
      if (sliding_windows_[i] && HasAxis(what_.operands[i], *row_)) return true;
    return false;
  }

  Value* Load(size_t operand, const Chunk& chunk) {
    kdl::Scalar scalar = what_.operands[operand]->type()->scalar;
    Value* loaded = sliding_windows_[operand]
                        ? LoadSlid(e_, *sliding_windows_[operand], scalar, position_, chunk)
                        : LoadChunk(e_, tile_buffers_[operand], scalar, position_, chunk);
    if (term_ > 0 && WindowsSlidingWindowAlongRows())
      loaded->def()->SetAttr(ir::MakeAttr<ir::AttrKey::Again>(term_));
    return loaded;
  }

  Value* OrZero(Value* factor) {
    if (!exists_) return factor;
    return e_.b.Select(exists_, factor, ZeroOf(e_, factor->type()));
  }

  Values Terms(int64_t row, int64_t column) {
    Values terms;
    for (size_t i = 0; i < what_.operands.size(); ++i) {
      Value* operand = what_.operands[i];
      if (!IsTileValue(operand)) {
        terms.push_back(OrZero(e_.b.Cast(e_.Scalar(operand), what_.acc)));
        continue;
      }
      Value*& read = Read(i, row, column);
      if (!read) {
        Place(row, column);
        bool walks_columns = column_ && HasAxis(operand, *column_);
        Value* loaded = Load(i, walks_columns ? chunk_ : Chunk{});
        read = OrZero(e_.b.Cast(loaded, what_.acc));
      }
      terms.push_back(read);
    }
    return terms;
  }

  Expander& e_;
  const Accumulation& what_;
  std::optional<AxisId> row_;
  std::optional<AxisId> column_;
  int64_t lanes_;
  bool is_native_;
  bool is_plain_;  ///< whether there are no subnormals to flush
  /// The buffer of each operand; empty for operands without a buffer.
  std::vector<TileBuffer> tile_buffers_;
  /// For each operand that is read from a sliding window: where the elements are.
  std::vector<std::optional<Sliding>> sliding_windows_;
  TileBuffer start_;  ///< the buffer of `into`
  TileBuffer plus_;
  Position position_;
  Chunk chunk_;
  PartialRows rows_;
  int64_t term_ = 0;  ///< the number of the current term if the loop over terms is unrolled
  Value* iteration_row_ = nullptr;  ///< the row in a loop over rows; null if rows are unrolled
  /// Whether the term at the position exists; null if it certainly does.
  Value* exists_ = nullptr;
  /// The values that this iteration has read, by operand, row and column.
  std::map<std::tuple<size_t, int64_t, int64_t>, Value*> read_;
};

}  // namespace

std::function<Values(const RegisterTile&)> RegisterBlockSteps(Expander& e, const Accumulation& what,
                                                              const RegisterBlock& block) {
  auto steps = std::make_shared<BlockSteps>(e, what, block);
  return [steps](const RegisterTile& tile) { return steps->Accumulate(tile); };
}

}  // namespace kdl::cpu
