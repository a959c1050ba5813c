#include <algorithm>
#include <functional>
#include <optional>

#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/analysis/interior_loops.h"
#include "targets/cpu/analysis/live_vectors.h"
#include "targets/cpu/expand/elementwise_rows.h"
#include "targets/cpu/expand/joined_rows.h"
#include "targets/cpu/expand/layouts.h"
#include "targets/cpu/expand/loop_notes.h"
#include "targets/cpu/expand/row_interior.h"

// Gives the interior of an elementwise loop rows of its own. There, all accesses are in bounds, conditions on the index
// are constant, and elements that are a few elements apart are loaded and stored as whole vectors. So its rows run
// without masks. The borders are parts of the first and the last vector of a row, which are full vectors and may overlap
// others, if the body may run twice for an element and masks are fast. Elsewhere both borders of a row run the same code:
// masked vectors, or element by element if masks are slow. If a row has no interior, the second border is the whole row.
// It is the only one if there are no neighbors before an element.
//
// Reductions keep the order of their terms. They are accumulated in iterations of 64 elements or more, of which those that
// are in the interior run the simpler body.

namespace kdl::cpu {

namespace {

/// Whether two copies of the body would be much code.
bool IsLong(const Op* elementwise) {
  constexpr int kLong = 32;  // ops
  int ops = 0;
  for ([[maybe_unused]] const Op* op : *elementwise->region()) ++ops;
  return ops > kLong;
}

/// Emits the rows of an elementwise loop in three parts: border, interior, border. The interior has a simpler
/// body and needs no masks. Rows whose neighbors above or below do not exist may have a body of their own, since
/// it would take long to compute them element by element.
class InteriorRows {
 public:
  /// With so many lanes, rows that are shorter than a vector matter.
  static constexpr int64_t kManyLanes = 16;
  /// With so many lanes, there are images whose rows have no interior.
  static constexpr int64_t kSeveralLanes = 8;
  /// With so many lanes, an image whose rows are half as long as a vector has an interior that is shorter than that.
  static constexpr int64_t kMostLanes = 64;

  /// `few` is the body for rows in which whole rows of neighbors are out of bounds, and for rows that are shorter
  /// than a vector; null if such rows are borders. If `exists`, a bool, is false, no row has an interior.
  /// `border` is the body for borders that run element by element.
  InteriorRows(ElementwiseLoopBody& body, ElementwiseLoopBody& border, ElementwiseLoopBody& inner,
               ElementwiseLoopBody* few, const Interior& interior, Value* exists)
      : e_(body.e()),
        body_(body),
        border_(border),
        inner_(inner),
        few_(few),
        lanes_(inner.Lanes()),
        few_lanes_(few ? LanesOfShortRows(lanes_, interior) : lanes_),
        interior_(interior),
        exists_(exists),
        part_(body, interior),
        axis_(body.axes().back()),
        border_rows_(ElementwiseRows::ForBorder(border)),
        inner_rows_(inner),
        masks_borders_(lanes_ > 1 && border_rows_.lanes() == lanes_) {
    if (!interior.is_repeatable && !masks_borders_) inner_rows_.StopStreaming();
    const Value* point = body.elementwise()->region()->params().back();
    if (part_.IsIndexOfDimension(point))
      margins_ = MarginsOf(interior, point, e_.function.axis(axis_).domain);
    overlaps_ = masks_borders_ && interior.is_repeatable && margins_ &&
                margins_->left + margins_->right <= lanes_;
    if (overlaps_) body.StopLookingAhead();
    // They are short, or only a few.
    if (few && few != &inner) few->StopLookingAhead();
  }

  void ExpandRows() {
    Window row = e_.WindowOf(body_.elementwise(), axis_);
    if (!overlaps_ || !AreRowsAlike()) {
      auto run_row = [&] {
        inner_rows_.BeginRow();
        RunRow(e_.WindowOf(body_.elementwise(), axis_));
      };
      if (masks_borders_ || few_lanes_ < kSeveralLanes) return ForEachRow(run_row);
      // Rows that are too short for an interior need not look for it.
      Value* may_have_interior = e_.b.Ge(row.size, e_.b.I64(few_lanes_));
      MakeIf(
          e_.b, may_have_interior, [&] { ForEachRow(run_row); },
          [&] { ForEachRow([&] { border_rows_.RunRow(row); }); });
      return;
    }
    Window inside = InteriorOfRow(row);
    Value* is_long = IsLongRow(inside);
    // The same vector of all rows, because LLVM then computes the masks of the last axis once.
    auto run_masked = [&] {
      MakeLoop(e_.b, {row.lo, row.hi, lanes_},
               [&](Value* index) { ForEachRow([&] { border_rows_.RunMaskedAt(index, row.hi); }); });
    };
    auto run = [&] {
      ForEachRow([&] {
        inner_rows_.BeginRow();
        RunFullRow(row, inside, is_long);
      });
    };
    MakeIf(e_.b, FitsFullRow(row, is_long), run, run_masked);
  }

 private:
  /// Calls `run` in loops over all rows.
  void ForEachRow(const std::function<void()>& run) {
    ir::AxisList around(body_.axes().begin(), body_.axes().end() - 1);
    MakeElementwiseLoop(e_, body_.elementwise(), around, body_.position(), [&] {
      inner_.position() = body_.position();
      if (few_) few_->position() = body_.position();
      if (&border_ != &body_) {
        border_.position() = body_.position();
        ElementwiseRows(body_).BeginRow();  // the conditions of the interior use its values
      }
      border_rows_.BeginRow();
      run();
    });
  }

  /// Whether all rows have their interior at the same place, if the margins are constant.
  bool AreRowsAlike() const {
    bool exists_alike = few_ || interior_.row_conditions.empty();
    return exists_alike && interior_.exact.empty();
  }

  /// Returns the number of lanes of a vector in rows that are shorter than a vector of `lanes` lanes.
  static int64_t LanesOfShortRows(int64_t lanes, const Interior& interior) {
    if (lanes < kManyLanes) return lanes;
    bool has_borders = !interior.conditions.empty();
    return lanes >= kMostLanes && has_borders ? lanes / 4 : lanes / 2;
  }

  void RunRow(const Window& row) {
    Window inside = InteriorOfRow(row);
    if (overlaps_) return RunOverlappingRow(row, inside);
    if (masks_borders_) return RunMaskedRow(row, inner_rows_.FullVectors(row, inside));
    // Not inside of the loop below, out of which LLVM would move what the interior needs.
    MakeIf(e_.b, e_.b.Gt(inside.size, e_.b.I64(0)), [&] { RunInside(inside); });
    if (margins_ && margins_->left == 0) {
      border_rows_.RunRow({inside.hi, row.hi, e_.b.Sub(row.hi, inside.hi)});
      return;
    }
    MakeLoop(e_.b, {e_.b.I64(0), e_.b.I64(2)}, [&](Value* side) {
      Value* before = e_.b.Eq(side, e_.b.I64(0));
      Value* from = e_.b.Select(before, row.lo, inside.hi);
      Value* to = e_.b.Select(before, inside.lo, row.hi);
      border_rows_.RunRow({from, to, e_.b.Sub(to, from)});
    });
  }

  /// Emits a row of full vectors, or of masked ones if it is too short for that.
  void RunOverlappingRow(const Window& row, const Window& inside) {
    Value* is_long = IsLongRow(inside);
    MakeIf(
        e_.b, FitsFullRow(row, is_long), [&] { RunFullRow(row, inside, is_long); },
        [&] { border_rows_.RunMasked(row); });
  }

  /// Whether the interior has room for a vector.
  Value* IsLongRow(const Window& inside) { return e_.b.Ge(inside.size, e_.b.I64(lanes_)); }

  // Vectors that bypass the caches start at an aligned position.
  bool HasFirst() const { return margins_->left > 0 || inner_rows_.may_stream(); }
  bool HasLast() const { return margins_->right > 0; }

  /// Whether full vectors cover the row without reaching beyond it.
  Value* FitsFullRow(const Window& row, Value* is_long) {
    if (!HasFirst() || !HasLast()) return is_long;
    Value* is_covered = e_.b.Le(row.size, e_.b.I64(2 * lanes_));
    Value* has_vector = e_.b.Ge(row.size, e_.b.I64(lanes_));
    return e_.b.Or(is_long, e_.b.And(is_covered, has_vector));
  }

  /// Emits a row of full vectors. The first and the last of them contain the borders, and may overlap others.
  void RunFullRow(const Window& row, const Window& inside, Value* is_long) {
    Value* lanes = e_.b.I64(lanes_);
    Value* first = HasFirst() ? e_.b.Add(row.lo, lanes) : row.lo;
    Value* needs_first = HasFirst() ? NeedsFirst(row, inside) : nullptr;
    if (needs_first) first = e_.b.Select(needs_first, first, row.lo);
    RunBetween(inner_rows_.FirstVectorUpTo(first, inside), row, inside, is_long);
    Values borders;
    if (HasFirst()) borders.push_back(row.lo);
    if (HasLast()) borders.push_back(e_.b.Sub(row.hi, lanes));
    RunBorders(borders, needs_first);
  }

  /// Emits the vectors between those of the borders, if the interior has room for one.
  void RunBetween(Value* from, const Window& row, const Window& inside, Value* has_room) {
    Value* lanes = e_.b.I64(lanes_);
    Value* to = margins_->right > 0 ? e_.b.Sub(row.hi, lanes) : row.hi;
    // With a margin of one element, even a vector that starts right before `to` ends in the interior.
    Value* last = margins_->right == 1 ? nullptr : e_.b.Sub(inside.hi, lanes);
    MakeIf(e_.b, e_.b.And(has_room, e_.b.Lt(from, to)), [&] {
      auto run = [&] { inner_rows_.RunCovering(from, to, last); };
      if (!few_) return run();
      MakeIf(e_.b, part_.AllHold(e_.b.Bool(true), interior_.row_conditions), run, [&] {
        ElementwiseRows rows = ElementwiseRows::ForFewRows(*few_, lanes_);
        rows.BeginRow();
        rows.RunCovering(from, to, last);
      });
    });
  }

  /// Returns whether the row begins with a border; null if its first vector always runs as one. In a block that begins
  /// inside of the interior, a border would take long if it loads elements that the interior does not: they may be so far
  /// outside of their tensor that no memory is there, and then even a load whose mask is empty takes about 90 ns.
  Value* NeedsFirst(const Window& row, const Window& inside) {
    if (Loads(body_) == Loads(inner_)) return nullptr;
    Value* is_short = e_.b.Lt(inside.size, e_.b.I64(lanes_));
    Value* needs_first = e_.b.Or(is_short, e_.b.Lt(row.lo, inside.lo));
    Value* streams = inner_rows_.large();
    return streams ? e_.b.Or(needs_first, streams) : needs_first;
  }

  static int64_t Loads(const ElementwiseLoopBody& body) {
    int64_t loads = 0;
    for (const Op* op : *body.elementwise()->region()) loads += op->kind() == OpKind::Load ? 1 : 0;
    return loads;
  }

  /// Emits the vectors of the borders, the first one only if `needs_first`, unless that is null. What they compute from the
  /// index is the same for all rows, unless a loop runs both vectors of a long body.
  void RunBorders(const Values& positions, Value* needs_first) {
    Value* zero = e_.b.I64(0);
    if (positions.size() == 2 && IsLong(body_.elementwise())) {
      Value* start = needs_first ? e_.b.Select(needs_first, zero, e_.b.I64(1)) : zero;
      MakeLoop(e_.b, {start, e_.b.I64(2)}, [&](Value* side) {
        Value* is_first = e_.b.Eq(side, zero);
        border_rows_.RunChunkAt(e_.b.Select(is_first, positions[0], positions[1]));
      });
      return;
    }
    for (Value* position : positions) {
      bool is_first = needs_first && position == positions[0];
      auto run = [&] { border_rows_.RunChunkAt(position); };
      is_first ? MakeIf(e_.b, needs_first, run) : run();
    }
  }

  /// Emits a row whose borders are masked vectors.
  void RunMaskedRow(const Window& row, const Window& vectors) {
    auto run = [&] { inner_rows_.RunFullVectors(vectors); };
    auto run_few = [&] {
      ElementwiseRows rows = ElementwiseRows::ForFewRows(*few_, lanes_);
      rows.BeginRow();
      rows.RunFullVectors(vectors);
    };
    MakeIf(e_.b, e_.b.Gt(vectors.size, e_.b.I64(0)), [&] {
      if (!few_) return run();
      MakeIf(e_.b, part_.AllHold(e_.b.Bool(true), interior_.row_conditions), run, run_few);
    });
    border_rows_.RunBorders(row, vectors);
  }

  void RunInside(const Window& inside) {
    if (!few_) return inner_rows_.RunWithoutMasks(inside, interior_.is_repeatable);
    Value* is_long = e_.b.Ge(inside.size, e_.b.I64(lanes_));
    MakeIf(
        e_.b, part_.AllHold(is_long, interior_.row_conditions), std::vector<ir::Type>(),
        [&] {
          inner_rows_.RunWithoutMasks(inside, interior_.is_repeatable);
          return Values();
        },
        [&] {
          ElementwiseRows rows = ElementwiseRows::ForFewRows(*few_, few_lanes_);
          rows.BeginRow();
          rows.RunWithoutMasks(inside, interior_.is_repeatable);
          return Values();
        });
  }

  /// Returns the part of the row that the simpler body computes. If that part is smaller than a vector,
  /// returns an empty part at the start of the row.
  Window InteriorOfRow(const Window& row) {
    auto [lo, hi, exists] =
        part_.PartOf(row, exists_, few_ ? interior_.nonempty : interior_.row_conditions);
    Value* size = e_.b.Sub(hi, lo);
    if (!interior_.is_repeatable && !masks_borders_) size = RoundDown(e_, size, lanes_);
    exists = e_.b.And(exists, e_.b.Ge(size, e_.b.I64(few_lanes_)));
    lo = e_.b.Select(exists, lo, row.lo);
    size = e_.b.Select(exists, size, e_.b.I64(0));
    return {lo, e_.b.Add(lo, size), size};
  }

  Expander& e_;
  ElementwiseLoopBody& body_;
  ElementwiseLoopBody& border_;
  ElementwiseLoopBody& inner_;
  ElementwiseLoopBody* few_;
  int64_t lanes_;      ///< the number of lanes of a vector in the interior
  int64_t few_lanes_;  ///< the same for rows of the body `few_`
  const Interior& interior_;
  Value* exists_;
  RowInterior part_;
  ir::AxisId axis_;
  ElementwiseRows border_rows_;
  ElementwiseRows inner_rows_;
  /// Whether borders run in masked vectors, so that the interior needs only full ones.
  bool masks_borders_;
  std::optional<Margins> margins_;
  /// Whether rows consist of full vectors, some of which overlap, because the margins are so narrow that each is part of
  /// one vector, and both vectors are part of a row that has an interior.
  bool overlaps_ = false;
};

/// Whether the layouts of all tiles that the loop reads and makes are suitable for vectors. If the whole loop runs
/// on vectors, that is already certain, unless a result is stored in panels: then vectors must start where those
/// of the whole row do, so that none reaches into the next panel. `loop` computes the interior.
bool HaveLayouts(const ElementwiseLoopBody& body, const Op* loop, const LastAxis& last) {
  bool has_panels = std::ranges::any_of(body.tile_buffers(),
                                        [](const TileBuffer& buffer) { return buffer.panel > 0; });
  if (has_panels) return false;
  if (body.last().Vectorizes()) return true;
  ir::AxisId axis = body.axes().back();
  for (const TileBuffer& buffer : body.tile_buffers()) {
    if (buffer.buffer && !LiesAlong(buffer, axis)) return false;
  }
  return ReadTilesLieAlong(body.e(), body.elementwise(), axis) &&
         NeighborsLieAlong(body.e(), loop, last);
}

/// Whether the interior, which `loop` computes, should have its own code: its rows must run on vectors, and be so
/// long that they do not consist mostly of borders. A single vector is long enough if all other code runs element by
/// element.
bool IsWorthwhile(const ElementwiseLoopBody& body, const Op* loop, const Interior& interior) {
  LastAxis last(loop, /*by_steps=*/true);
  ir::AxisId axis = body.axes().back();
  int64_t lanes = body.e().LanesAlong(axis, ChunkBytesOf(loop, last, body.e().facts));
  bool is_slow = interior.has_steps || HasSlowMasks(body.elementwise(), body.e().facts);
  int64_t least_chunks = is_slow ? 1 : 2;
  int64_t least_lanes = last.MostRepeats() > 1 ? 2 * last.MostRepeats() : 2;
  return last.Vectorizes() && lanes >= least_lanes && HaveLayouts(body, loop, last) &&
         body.e().Extent(axis) >= least_chunks * lanes;
}

/// Whether the interior of a loop with reductions should have its own code: its body must need no masks, and rows must
/// have several iterations.
bool IsWorthwhileForFolds(const ElementwiseLoopBody& body, const Op* loop,
                          const Interior& interior) {
  constexpr int64_t kFewElements = 256;
  bool is_simpler =
      !interior.inside.empty() || !interior.clamps.empty() || !interior.comparisons.empty();
  LastAxis last(loop, /*by_steps=*/true);
  return is_simpler && !interior.has_steps && body.last().Vectorizes() && last.Vectorizes() &&
         HaveLayouts(body, loop, last) && body.e().Extent(body.axes().back()) >= kFewElements;
}

/// The old tensors with joined rows, which the body of the interior uses.
class JoinedTensors {
 public:
  JoinedTensors(Expander& e, const Interior& interior, const Op* loop)
      : e_(e), tensors_(TensorsOfShortRows(interior)) {
    ir::Builder old(e.module, const_cast<Op*>(loop));
    for (Value* tensor : tensors_) joined_[tensor] = JoinRows(old, tensor);
  }
  JoinedTensors(const JoinedTensors&) = delete;
  JoinedTensors& operator=(const JoinedTensors&) = delete;
  ~JoinedTensors() {
    for (const Value* tensor : tensors_) {
      e_.scalars.erase(joined_.at(tensor));
      ir::Erase(joined_.at(tensor)->def());
    }
  }
  const ir::ValueMap& Joined() const { return joined_; }

  /// Emits the new tensors, and whether the rows of all of them adjoin.
  Value* Emit() {
    for (Value* tensor : tensors_)
      e_.scalars[joined_.at(tensor)] = JoinRows(e_.b, e_.Scalar(tensor));
    return DoRowsAdjoin(e_, tensors_);
  }

 private:
  Expander& e_;
  std::vector<Value*> tensors_;
  ir::ValueMap joined_;
};

/// Lets the body of a copied loop use sizes, which are already those of the new function.
void BindSizes(ElementwiseLoopBody& copy) {
  for (Value* size : copy.e().function.body->params()) copy.Bind(size, size);
}

/// Expands the rows. Unless the border runs element by element although masks are fast, a third body is for rows with
/// missing neighbors.
void ExpandParts(ElementwiseLoopBody& body, ElementwiseLoopBody& border, ElementwiseLoopBody& inner,
                 const Interior& interior, Value* exists) {
  Expander& e = body.e();
  bool has_slow_masks = HasSlowMasks(body.elementwise(), e.facts);
  bool runs_elements = has_slow_masks || !body.last().Vectorizes();  // near borders
  bool has_rows = !interior.row_conditions.empty();
  if (has_rows && (interior.has_steps || (runs_elements && !has_slow_masks))) {
    InteriorRows(body, border, inner, nullptr, interior, exists).ExpandRows();
  } else if (!has_rows) {
    // An interior that cannot be repeated consists of whole vectors, so it is not shorter than one.
    bool short_rows =
        runs_elements && interior.is_repeatable && inner.Lanes() >= InteriorRows::kManyLanes;
    ElementwiseLoopBody* few = short_rows ? &inner : nullptr;
    InteriorRows(body, border, inner, few, interior, exists).ExpandRows();
  } else {
    SimplerLoop rows = MakeRowLoop(e.module, body.elementwise(), interior, body.last());
    ElementwiseLoopBody partial(e, rows.loop, body, rows.staying);
    BindSizes(partial);
    ElementwiseLoopBody* few = partial.last().Vectorizes() ? &partial : nullptr;
    InteriorRows(body, border, inner, few, interior, exists).ExpandRows();
    ir::Erase(rows.loop);
  }
}

/// The same, with a body of its own for borders that run element by element.
void ExpandPartsWithBorder(ElementwiseLoopBody& body, ElementwiseLoopBody& inner,
                           const Interior& interior, Value* exists) {
  Expander& e = body.e();
  std::optional<SimplerLoop> nearest;
  if (HasSlowMasks(body.elementwise(), e.facts))
    nearest = MakeNearestLoop(e.module, e.function, body.elementwise(), interior, body.last());
  if (!nearest) return ExpandParts(body, body, inner, interior, exists);
  ElementwiseLoopBody border(e, nearest->loop, body, nearest->staying);
  BindSizes(border);
  ExpandParts(body, border, inner, interior, exists);
  ir::Erase(nearest->loop);
}

}  // namespace

bool ExpandInteriorRows(Expander& e, ElementwiseLoopBody& body) {
  std::optional<Interior> interior = InteriorOf(e.module, body.elementwise(), body.last(), e.facts);
  if (!interior) return false;
  JoinedTensors joined(e, *interior, body.elementwise());
  SimplerLoop simpler =
      MakeInteriorLoop(e.module, body.elementwise(), *interior, joined.Joined(), body.last());
  bool folds = !body.folds().empty();
  bool expands = folds ? IsWorthwhileForFolds(body, simpler.loop, *interior)
                       : IsWorthwhile(body, simpler.loop, *interior);
  if (expands && folds) {
    ElementwiseLoopBody inner(e, simpler.loop, body, simpler.staying);
    RowInterior part(body, *interior);
    ElementwiseRows(body).ExpandFolds(inner, part);
    NoteElementwiseLoop(inner, body.elementwise());
  } else if (expands) {
    Value* exists = joined.Emit();
    ElementwiseLoopBody inner(e, simpler.loop, body, simpler.staying);
    ExpandPartsWithBorder(body, inner, *interior, exists);
    NoteElementwiseLoop(inner, body.elementwise());
  }
  ir::Erase(simpler.loop);
  return expands;
}

}  // namespace kdl::cpu
