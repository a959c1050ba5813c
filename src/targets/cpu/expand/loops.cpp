#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"
#include "support/check.h"
#include "targets/cpu/expand/expander.h"

namespace kdl::cpu {

namespace {

using WindowOfAxis = std::function<Window(AxisId)>;

Values LoopsFrom(Expander& e, const WindowOfAxis& window_of, const AxisList& axes, size_t depth,
                 Position& position, const Values& carried,
                 const std::function<Values(const Values&)>& body) {
  if (depth == axes.size()) return body(carried);
  Window window = window_of(axes[depth]);
  if (ConstantOf(window.size) == 1) {
    position[axes[depth]] = window.lo;
    return LoopsFrom(e, window_of, axes, depth + 1, position, carried, body);
  }
  return MakeLoop(e.b, {window.lo, window.hi}, carried, [&](Value* index, const Values& inner) {
    position[axes[depth]] = index;
    return LoopsFrom(e, window_of, axes, depth + 1, position, inner, body);
  });
}

WindowOfAxis WholeAt(Expander& e, const Op* at) {
  return [&e, at](AxisId axis) { return e.WindowOf(at, axis); };
}

}  // namespace

Values MakeElementwiseLoop(Expander& e, const Op* at, const AxisList& axes, Position& position,
                           const Values& inits, const std::function<Values(const Values&)>& body) {
  return LoopsFrom(e, WholeAt(e, at), axes, 0, position, inits, body);
}

void MakeElementwiseLoop(Expander& e, const WindowOfAxis& window, const AxisList& axes,
                         Position& position, const std::function<void()>& body) {
  LoopsFrom(e, window, axes, 0, position, {}, [&](const Values&) -> Values {
    body();
    return {};
  });
}

void MakeElementwiseLoop(Expander& e, const Op* at, const AxisList& axes, Position& position,
                         const std::function<void()>& body) {
  MakeElementwiseLoop(e, WholeAt(e, at), axes, position, body);
}

Chunk ChunkOf(Expander& e, Value* count, int64_t lanes) {
  ir::Type type = e.VectorType(kdl::Scalar::Bool, lanes);
  return {lanes, e.b.Make(OpKind::LaneMask, {count}, type), count};
}

Value* RoundDown(Expander& e, Value* size, int64_t step) {
  KDL_CHECK((step & (step - 1)) == 0, "{} is not a power of two", step);
  return e.b.And(size, e.b.I64(-step));
}

Value* MakeFullChunks(Expander& e, const Stretch& stretch, int64_t lanes, Position& position,
                      const std::function<void(const Chunk&)>& body) {
  const auto& [axis, begin, end] = stretch;
  Value* length = e.b.Sub(end, begin);
  Value* full = e.b.Add(begin, RoundDown(e, length, lanes));
  MakeLoop(e.b, {begin, full, lanes}, [&](Value* index) {
    position[axis] = index;
    body({lanes});
  });
  return full;
}

void MakeRestOfChunks(Expander& e, const Stretch& stretch, int64_t lanes, Position& position,
                      const std::function<void(const Chunk&)>& body) {
  auto [axis, begin, end] = stretch;
  MakeIf(e.b, e.b.Lt(begin, end), [&] {
    Value* rest = e.b.Sub(end, begin);
    position[axis] = begin;
    body(ChunkOf(e, rest, lanes));
  });
}

namespace {

/// Emits code for the remaining elements, of which there are fewer than `lanes`.
void MakeRest(Expander& e, const Stretch& rest, int64_t lanes, bool in_scratch, Position& position,
              const std::function<void(const Chunk&)>& body) {
  // Store-to-load forwarding does not work for masked stores, so a short axis in scratch memory is processed
  // element by element.
  bool one_by_one = in_scratch && e.Extent(rest.axis) <= lanes;
  if (!one_by_one) return MakeRestOfChunks(e, rest, lanes, position, body);
  MakeLoop(e.b, {rest.begin, rest.end}, [&](Value* index) {
    position[rest.axis] = index;
    body({});
  });
}

}  // namespace

void MakeChunks(Expander& e, AxisId axis, const Window& window, int64_t lanes, Position& position,
                const std::function<void(const Chunk&)>& body, bool in_scratch) {
  int64_t known = ConstantOf(window.size).value_or(0);
  if (known > 0 && known % lanes == 0 && known <= kFewChunks * lanes) {
    for (int64_t skipped = 0; skipped < known; skipped += lanes) {
      Value* place = e.b.I64(skipped);
      position[axis] = ConstantOf(window.lo) == 0 ? place : e.b.Add(window.lo, place);
      body({lanes});
    }
    return;
  }
  Value* size = window.hi;
  Value* full = size;
  if (lanes > 1) {
    full = RoundDown(e, window.size, lanes);
    if (ConstantOf(window.lo) != 0) full = e.b.Add(window.lo, full);
  }
  if (e.Extent(axis) >= lanes) {
    MakeLoop(e.b, {window.lo, full, lanes}, [&](Value* index) {
      position[axis] = index;
      body({lanes});
    });
  }
  if (lanes > 1) MakeRest(e, {axis, full, size}, lanes, in_scratch, position, body);
}

void MakeChunksOf(Expander& e, const Op* at, const AxisList& axes, int64_t lanes,
                  Position& position, const std::function<void(const Chunk&)>& body) {
  AxisList around(axes.begin(), axes.end() - 1);
  MakeElementwiseLoop(e, at, around, position, [&] {
    MakeChunks(e, axes.back(), e.WindowOf(at, axes.back()), lanes, position, body, true);
  });
}

}  // namespace kdl::cpu
