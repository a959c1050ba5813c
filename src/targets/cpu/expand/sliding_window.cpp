#include "targets/cpu/expand/sliding_window.h"

#include "ir/lookup.h"
#include "targets/cpu/analysis/sliding_window.h"

// Expands sliding windows. A reduction in sequential order may instead read its elements directly from the
// window.

namespace kdl::cpu {

Sliding SlidingOf(Expander& e, const Op* sliding_window) {
  Sliding sliding{TileBufferOf(e, sliding_window->operand(0)), {}};
  const ir::AxisList over = sliding_window->attr<AttrKey::Axes>();
  const ir::Access access = sliding_window->attr<AttrKey::Access>();
  for (size_t d = 0; d < over.size(); ++d) {
    Value* base = e.b.SizeValue(access.dims[d].offset);
    Sliding::Axis made{over[d], nullptr, {}};
    for (const ir::AccessTerm& term : access.dims[d].terms) {
      AxisId axis = AxisOfTerm(sliding_window, term);
      int64_t coefficient = term.coefficient->value;
      Value* start = e.Facts(sliding_window, axis).start;
      base = e.b.Add(base, e.b.Mul(start, e.b.I64(coefficient)));
      made.terms.emplace_back(axis, coefficient);
    }
    made.base = e.b.Sub(base, e.Facts(sliding_window, over[d]).start);
    sliding.axes.push_back(std::move(made));
  }
  return sliding;
}

Value* LoadSlid(Expander& e, const Sliding& sliding, kdl::Scalar scalar, const Position& position,
                const Chunk& chunk) {
  Position there = position;
  for (const Sliding::Axis& axis : sliding.axes) {
    Value* sum = axis.base;
    int64_t known = 0;
    for (const auto& [moving, coefficient] : axis.terms) {
      Value* at = position.at(moving);
      if (std::optional<int64_t> constant = ConstantOf(at)) {
        known += *constant * coefficient;
      } else {
        Value* scaled = coefficient == 1 ? at : e.b.Mul(at, e.b.I64(coefficient));
        sum = e.b.Add(sum, scaled);
      }
    }
    // The constant is added last, so that it can become part of an address.
    there[axis.axis] = known == 0 ? sum : e.b.Add(sum, e.b.I64(known));
  }
  return LoadChunk(e, sliding.window, scalar, there, chunk);
}

void ExpandSlidingWindow(Expander& e, const Op* op) {
  const Value* result = op->result();
  AxisId window = TileBufferOf(e, op->operand(0)).axes.back();
  if (result->uses().size() == 1 && SlidingWindowInPlace(e, result, window, result->uses()[0].user))
    return;
  Sliding sliding = SlidingOf(e, op);
  Position position;
  if (!IsTileValue(result)) {
    e.scalars[result] = LoadSlid(e, sliding, result->type()->scalar, position);
    return;
  }
  TileBuffer tile_buffer = TileBufferOf(e, result);
  AxisId last = tile_buffer.axes.back();
  bool runs = RunsAlong(op, window, last);
  int64_t lanes = runs ? e.LanesAlong(last, Bytes(result->type()->scalar)) : 1;
  MakeChunksOf(e, op, tile_buffer.axes, lanes, position, [&](const Chunk& chunk) {
    Value* loaded = LoadSlid(e, sliding, result->type()->scalar, position, chunk);
    StoreChunk(e, loaded, tile_buffer, position, chunk);
  });
}

}  // namespace kdl::cpu
