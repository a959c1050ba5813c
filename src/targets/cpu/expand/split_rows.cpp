#include <algorithm>
#include <optional>

#include "ir/comparisons.h"
#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/analysis/interior_loops.h"
#include "targets/cpu/expand/elementwise_rows.h"
#include "targets/cpu/expand/loop_notes.h"

// Splits the rows of an elementwise loop where a condition on the index changes, as in a triangle. Each part has a simpler
// body, in which the condition is constant. One vector contains points on both sides of the split and runs the whole body,
// so that all vectors are aligned like those of the whole row. In this example, vectors have 8 lanes:
//
//   elementwise (%p in %i, %q in %j) { %c = le %q, %p ; %v = select %c, %a, %b ; store %v to %y[%p, %q] }
//   ->
//   loop over %p {
//     %first = (%p + 1) rounded down to a multiple of 8
//     loop over %q in 0 .. %first { store %a }
//     the whole body for %q in %first .. %first + 8
//     loop over %q in %first + 8 .. { store %b } }

namespace kdl::cpu {

namespace {

/// The condition that changes along rows: at first, up to a point, it is `first`.
struct RowSplit {
  const Op* condition;
  bool first;
  Value* number;     ///< the index with which the condition compares that of the last axis
  bool is_included;  ///< whether the condition is `first` also if both are equal
};

/// Returns the split of the comparison, or nothing if it is not the index along the last axis that is compared, or if the
/// number is the same for all rows. Then the split would often be near an end of the rows (see interior.h).
std::optional<RowSplit> SplitAt(const Op* elementwise, const LastAxis& last, const Op* op) {
  const ir::Region* region = elementwise->region();
  const Value* point = region->params().back();
  bool is_mirrored = op->operand(1) == point;
  if ((op->operand(0) == point) == is_mirrored) return std::nullopt;
  Value* number = op->operand(is_mirrored ? 0 : 1);
  bool is_known = last.IsUniform(number) && number->parent_region() == region &&
                  (!number->def() || last.IsInvariant(number->def()));
  if (!is_known) return std::nullopt;
  switch (is_mirrored ? ir::Mirrored(op->kind()) : op->kind()) {
    case OpKind::Lt:
      return RowSplit{op, true, number, false};
    case OpKind::Le:
      return RowSplit{op, true, number, true};
    case OpKind::Gt:
      return RowSplit{op, false, number, true};
    case OpKind::Ge:
      return RowSplit{op, false, number, false};
    default:
      return std::nullopt;
  }
}

/// Returns the only split of the loop's rows. There is none if each point runs more than the ops that choose a value to
/// store, because three copies of a long body would not be worthwhile.
std::optional<RowSplit> SplitOf(const Op* elementwise, const LastAxis& last) {
  constexpr int64_t kMostOps = 16;
  std::optional<RowSplit> split;
  int64_t ops = 0;
  for (const Op* op : *elementwise->region()) {
    if (!op->regions().empty() || ++ops > kMostOps) return std::nullopt;
    if (!ir::IsComparison(op->kind()) || last.IsUniform(op->result())) continue;
    if (op->operand(0)->type()->scalar != Scalar::I64) continue;
    std::optional<RowSplit> found = SplitAt(elementwise, last, op);
    if (!found || split) return std::nullopt;
    split = found;
  }
  return split;
}

class SplitRows {
 public:
  SplitRows(ElementwiseLoopBody& body, const RowSplit& split, ElementwiseLoopBody& before,
            ElementwiseLoopBody& after)
      : e_(body.e()), body_(body), split_(split), before_(before), after_(after) {}

  void ExpandRows() {
    ir::AxisList around(body_.axes().begin(), body_.axes().end() - 1);
    MakeElementwiseLoop(e_, body_.elementwise(), around, body_.position(), [&] {
      ElementwiseRows mixed = ElementwiseRows::ForBorder(body_);
      mixed.BeginRow();
      Window row = e_.WindowOf(body_.elementwise(), body_.axes().back());
      Value* length = RoundDown(e_, e_.b.Sub(PositionOfSplit(row), row.lo), mixed.lanes());
      Value* lo = e_.b.Add(row.lo, length);
      Value* hi = e_.b.Min(e_.b.Add(lo, e_.b.I64(mixed.lanes())), row.hi);
      RunPart(before_, row.lo, lo);
      mixed.RunRow({lo, hi, e_.b.Sub(hi, lo)});
      RunPart(after_, hi, row.hi);
    });
  }

 private:
  void RunPart(ElementwiseLoopBody& part, Value* lo, Value* hi) {
    part.position() = body_.position();
    ElementwiseRows rows(part);
    rows.BeginRow();
    rows.RunRow({lo, hi, e_.b.Sub(hi, lo)});
  }

  /// Returns the position in the row at which the condition changes. The number may be any integer.
  Value* PositionOfSplit(const Window& row) {
    Value* start = e_.blocks.at(body_.elementwise()->operands().back()).start;
    Value* after = e_.b.I64(split_.is_included ? 1 : 0);
    Value* least = e_.b.Sub(e_.b.Add(start, row.lo), after);
    Value* most = e_.b.Sub(e_.b.Add(start, row.hi), after);
    Value* number = e_.b.Max(e_.b.Min(body_.InRow(split_.number), most), least);
    return e_.b.Sub(e_.b.Add(number, after), start);
  }

  Expander& e_;
  ElementwiseLoopBody& body_;
  const RowSplit& split_;
  ElementwiseLoopBody& before_;
  ElementwiseLoopBody& after_;
};

}  // namespace

bool ExpandSplitRows(Expander& e, ElementwiseLoopBody& body) {
  constexpr int64_t kLeastChunks = 4;
  const Op* elementwise = body.elementwise();
  bool fits = body.last().Vectorizes() && body.folds().empty() && elementwise->results().empty() &&
              !HasSlowMasks(elementwise, e.facts) && body.Lanes() > 1 &&
              e.Extent(body.axes().back()) >= kLeastChunks * body.Lanes();
  std::optional<RowSplit> split = fits ? SplitOf(elementwise, body.last()) : std::nullopt;
  if (!split) return false;
  auto part = [&](bool holds) {
    Interior interior;
    interior.comparisons = {{split->condition, holds}};
    return MakeInteriorLoop(e.module, elementwise, interior, {}, body.last());
  };
  SimplerLoop first = part(split->first);
  SimplerLoop second = part(!split->first);
  {
    ElementwiseLoopBody before(e, first.loop, body, first.staying);
    ElementwiseLoopBody after(e, second.loop, body, second.staying);
    SplitRows(body, *split, before, after).ExpandRows();
  }
  ir::Erase(first.loop);
  ir::Erase(second.loop);
  return true;
}

}  // namespace kdl::cpu
