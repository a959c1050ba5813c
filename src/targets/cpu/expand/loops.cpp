#include "passes/rewrite.h"
#include "support/check.h"
#include "targets/cpu/expand/expander.h"

namespace kdl::cpu {

namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

Values NestFrom(Expander& e, const Op* at, const ir::AxisList& axes, size_t depth,
                Position& position, const Values& carried,
                const std::function<Values(const Values&)>& body) {
  if (depth == axes.size()) return body(carried);
  Window window = e.WindowOf(at, axes[depth]);
  if (ConstantOf(window.size) == 1) {
    position[axes[depth]] = window.lo;
    return NestFrom(e, at, axes, depth + 1, position, carried, body);
  }
  return MakeLoop(e, {window.lo, window.hi}, carried, [&](Value* index, const Values& inner) {
    position[axes[depth]] = index;
    return NestFrom(e, at, axes, depth + 1, position, inner, body);
  });
}

}  // namespace

Values MakeNest(Expander& e, const Op* at, const ir::AxisList& axes, Position& position,
                const Values& inits, const std::function<Values(const Values&)>& body) {
  return NestFrom(e, at, axes, 0, position, inits, body);
}

Value* RoundDown(Expander& e, Value* size, int64_t step) {
  KDL_CHECK((step & (step - 1)) == 0, "{} is no power of two", step);
  return e.b.Binary(OpKind::And, size, e.b.I64(-step));
}

Value* MakeFullPieces(Expander& e, const Stretch& stretch, int64_t lanes, Position& position,
                      const std::function<void(const Piece&)>& body) {
  const auto& [axis, begin, end] = stretch;
  Value* length = e.b.Binary(OpKind::Sub, end, begin);
  Value* full = e.b.Binary(OpKind::Add, begin, RoundDown(e, length, lanes));
  MakeLoop(e, {begin, full, lanes}, {}, [&](Value* index, const Values&) -> Values {
    position[axis] = index;
    body({lanes});
    return {};
  });
  return full;
}

void MakeRestOfPieces(Expander& e, const Stretch& stretch, int64_t lanes, Position& position,
                      const std::function<void(const Piece&)>& body) {
  const auto& [axis, begin, end] = stretch;
  MakeIf(
      e, e.b.Binary(OpKind::Lt, begin, end), {},
      [&]() -> Values {
        Value* rest = e.b.Binary(OpKind::Sub, end, begin);
        position[axis] = begin;
        ir::Type type = e.TypeOf(kdl::Scalar::Bool, lanes);
        body({lanes, e.b.Make(OpKind::LaneMask, {rest}, type), rest});
        return {};
      },
      [] { return Values(); });
}

namespace {

/// The elements from `full` on, fewer than `lanes`.
void MakeRest(Expander& e, const Stretch& rest, int64_t lanes, bool in_scratch, Position& position,
              const std::function<void(const Piece&)>& body) {
  // A processor does not hand on what a store under a mask has just written.
  bool one_by_one = in_scratch && e.Extent(rest.axis) <= lanes;
  if (!one_by_one) return MakeRestOfPieces(e, rest, lanes, position, body);
  MakeLoop(e, {rest.begin, rest.end}, {}, [&](Value* index, const Values&) -> Values {
    position[rest.axis] = index;
    body({});
    return {};
  });
}

}  // namespace

void MakePieces(Expander& e, const Op* at, ir::AxisId axis, int64_t lanes, Position& position,
                const std::function<void(const Piece&)>& body, bool in_scratch) {
  Window window = e.WindowOf(at, axis);
  int64_t known = ConstantOf(window.size).value_or(0);
  if (known > 0 && known % lanes == 0 && known <= kFewPieces * lanes) {
    for (int64_t skipped = 0; skipped < known; skipped += lanes) {
      position[axis] = e.b.Binary(OpKind::Add, window.lo, e.b.I64(skipped));
      body({lanes});
    }
    return;
  }
  Value* size = window.hi;
  Value* full = size;
  if (lanes > 1) {
    full = RoundDown(e, window.size, lanes);
    if (ConstantOf(window.lo) != 0) full = e.b.Binary(OpKind::Add, window.lo, full);
  }
  if (e.Extent(axis) >= lanes) {
    MakeLoop(e, {window.lo, full, lanes}, {}, [&](Value* index, const Values&) -> Values {
      position[axis] = index;
      body({lanes});
      return {};
    });
  }
  if (lanes > 1) MakeRest(e, {axis, full, size}, lanes, in_scratch, position, body);
}

}  // namespace kdl::cpu
