#include <algorithm>
#include <optional>

#include "targets/cpu/analysis/interior.h"
#include "targets/cpu/expand/elementwise_rows.h"

// Gives the interior of an elementwise loop, where all accesses are in bounds and conditions on the index are
// constant, rows of its own. They run without masks. Both borders of a row run the same code. If a row has no
// interior, the second border is the whole row.

namespace kdl::cpu {

namespace {

/// Emits the rows of an elementwise loop in three parts: border, interior, border. The interior has a simpler
/// body and needs no masks. Rows whose neighbors above or below do not exist may have a body of their own, since
/// it would take long to compute them element by element.
class InteriorRows {
 public:
  /// With so many lanes, rows that are shorter than a vector matter.
  static constexpr int64_t kManyLanes = 16;

  /// `few` is the body for rows in which whole rows of neighbors are out of bounds, and for rows that are shorter
  /// than a vector; null if such rows are borders.
  InteriorRows(ElementwiseLoopBody& body, ElementwiseLoopBody& inner, ElementwiseLoopBody* few,
               const Interior& interior)
      : e_(body.e()),
        body_(body),
        inner_(inner),
        few_(few),
        lanes_(inner.Lanes()),
        few_lanes_(few && lanes_ >= kManyLanes ? lanes_ / 2 : lanes_),
        interior_(interior),
        axis_(body.axes().back()),
        border_rows_(ElementwiseRows::ForBorder(body)),
        inner_rows_(inner) {
    if (!interior.is_repeatable) inner_rows_.StopStreaming();
  }

  void ExpandRows() {
    ir::AxisList around(body_.axes().begin(), body_.axes().end() - 1);
    MakeElementwiseLoop(e_, body_.elementwise(), around, body_.position(), [&] {
      inner_.position() = body_.position();
      if (few_) few_->position() = body_.position();
      border_rows_.BeginRow();
      inner_rows_.BeginRow();
      RunRow(e_.WindowOf(body_.elementwise(), axis_));
    });
  }

 private:
  void RunRow(const Window& row) {
    Window inside = InteriorOfRow(row);
    MakeLoop(e_.b, {e_.b.I64(0), e_.b.I64(2)}, [&](Value* side) {
      Value* before = e_.b.Eq(side, e_.b.I64(0));
      Value* from = e_.b.Select(before, row.lo, inside.hi);
      Value* to = e_.b.Select(before, inside.lo, row.hi);
      border_rows_.RunRow({from, to, e_.b.Sub(to, from)});
      Value* exists = e_.b.Gt(inside.size, e_.b.I64(0));
      MakeIf(e_.b, e_.b.And(before, exists), [&] { RunInside(inside); });
    });
  }

  void RunInside(const Window& inside) {
    if (!few_) return inner_rows_.RunWithoutMasks(inside, interior_.is_repeatable);
    Value* is_long = e_.b.Ge(inside.size, e_.b.I64(lanes_));
    MakeIf(
        e_.b, e_.b.And(AllHold(interior_.row_conditions), is_long), std::vector<ir::Type>(),
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

  /// Returns whether conditions that are the same for the whole row are true.
  Value* AllHold(const std::vector<PointCondition>& conditions) {
    Value* lo = nullptr;
    Value* hi = nullptr;
    Value* all = e_.b.Bool(true);
    for (const PointCondition& condition : conditions) Narrow(condition, lo, hi, all);
    return all;
  }

  /// Returns the part of the row that the simpler body computes. If that part is smaller than a vector,
  /// returns an empty part at the start of the row.
  Window InteriorOfRow(const Window& row) {
    Value* lo = row.lo;
    Value* hi = row.hi;
    Value* exists = AllHold(few_ ? interior_.nonempty : interior_.row_conditions);
    for (const PointCondition& condition : interior_.conditions) {
      Narrow(condition, lo, hi, exists);
    }
    Value* size = e_.b.Sub(hi, lo);
    if (!interior_.is_repeatable) size = RoundDown(e_, size, lanes_);
    exists = e_.b.And(exists, e_.b.Ge(size, e_.b.I64(few_lanes_)));
    lo = e_.b.Select(exists, lo, row.lo);
    size = e_.b.Select(exists, size, e_.b.I64(0));
    return {lo, e_.b.Add(lo, size), size};
  }

  /// Restricts the positions to those at which the condition is true.
  void Narrow(const PointCondition& condition, Value*& lo, Value*& hi, Value*& exists) {
    const Value* point = body_.elementwise()->region()->params().back();
    int64_t factor = 0;
    Value* rest = e_.b.I64(condition.constant);
    for (const auto& [size, times] : condition.sizes) {
      rest = e_.b.Add(rest, Times(e_.b.SizeValue(size), times));
    }
    bool may_wrap = false;
    for (const auto& [value, times] : condition.terms) {
      Value* start = e_.blocks.at(body_.elementwise()->operands().back()).start;
      Value* known = value == point ? start : body_.InRow(const_cast<Value*>(value));
      rest = e_.b.Add(rest, Times(e_.b.Cast(known, Scalar::I64), times));
      if (value == point) factor = times;
      may_wrap = may_wrap || !Contains(body_.elementwise()->region()->params(), value);
    }
    if (factor == 0) {
      exists = e_.b.And(exists, e_.b.Ge(rest, e_.b.I64(0)));
    } else if (may_wrap) {  // if the sum has wrapped around, the interior is taken to be empty
      exists = e_.b.And(exists, e_.b.Le(rest, e_.b.I64(kLargestSum)));
      exists = e_.b.And(exists, e_.b.Ge(rest, e_.b.I64(-kLargestSum)));
    }
    if (factor > 0) {
      Value* needed = e_.b.Sub(e_.b.I64(0), FloorDiv(rest, factor));
      lo = e_.b.Max(lo, needed);
    } else if (factor < 0) {
      Value* end = e_.b.Add(FloorDiv(rest, -factor), e_.b.I64(1));
      hi = e_.b.Min(hi, end);
    }
  }

  Value* Times(Value* value, int64_t factor) {
    return factor == 1 ? value : e_.b.Mul(value, e_.b.I64(factor));
  }
  Value* FloorDiv(Value* value, int64_t divisor) {
    return divisor == 1 ? value : e_.b.Div(value, e_.b.I64(divisor));
  }

  /// No tensor has more elements than this, so sums that do not exceed this limit can be added to positions
  /// without overflow.
  static constexpr int64_t kLargestSum = int64_t{1} << 62;

  Expander& e_;
  ElementwiseLoopBody& body_;
  ElementwiseLoopBody& inner_;
  ElementwiseLoopBody* few_;
  int64_t lanes_;      ///< the number of lanes of a vector in the interior
  int64_t few_lanes_;  ///< the same for rows of the body `few_`
  const Interior& interior_;
  ir::AxisId axis_;
  ElementwiseRows border_rows_;
  ElementwiseRows inner_rows_;
};

/// Whether the interior should have its own code: its rows must run on vectors, and be so long that they do not
/// consist mostly of borders. If the whole loop does not run on vectors, the layouts of its results need not be
/// suitable for them. If a result is stored in panels, vectors must start where those of the whole row do, so
/// that none reaches into the next panel.
bool IsWorthwhile(const ElementwiseLoopBody& body, const ElementwiseLoopBody& inner) {
  constexpr int64_t kLeastChunks = 2;
  bool has_layout = body.last().Vectorizes() || body.elementwise()->results().empty();
  bool has_panels = std::ranges::any_of(body.tile_buffers(),
                                        [](const TileBuffer& buffer) { return buffer.panel > 0; });
  return has_layout && !has_panels && inner.Lanes() > 1 &&
         body.e().Extent(body.axes().back()) >= kLeastChunks * inner.Lanes();
}

}  // namespace

bool ExpandInteriorRows(Expander& e, ElementwiseLoopBody& body) {
  std::optional<Interior> interior = InteriorOf(body.elementwise(), body.last(), e.facts);
  if (!interior) return false;
  Op* loop = MakeInteriorLoop(e.module, body.elementwise(), *interior);
  ElementwiseLoopBody inner(e, loop, body);
  bool expands = IsWorthwhile(body, inner);
  if (expands && !HasSlowMasks(body.elementwise(), e.facts)) {
    InteriorRows(body, inner, nullptr, *interior).ExpandRows();
  } else if (expands && interior->row_conditions.empty()) {
    ElementwiseLoopBody* few = inner.Lanes() < InteriorRows::kManyLanes ? nullptr : &inner;
    InteriorRows(body, inner, few, *interior).ExpandRows();
  } else if (expands) {
    Op* rows = MakeRowLoop(e.module, body.elementwise(), *interior, body.last());
    ElementwiseLoopBody partial(e, rows, body);
    // The loop uses sizes, which are already those of the new body.
    for (Value* size : e.function.body->params()) partial.Bind(size, size);
    InteriorRows(body, inner, &partial, *interior).ExpandRows();
    ir::Erase(rows);
  }
  ir::Erase(loop);
  return expands;
}

}  // namespace kdl::cpu
