#include "targets/cpu/expand/transposed_block.h"

#include <algorithm>

#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/expand/permutation.h"

namespace kdl::cpu {

TransposedAccesses::TransposedAccesses(ElementwiseLoopBody& body, int64_t most_lanes)
    : e_(body.e()),
      body_(body),
      side_(body.last().across_axis()),
      lanes_(std::min(most_lanes, e_.facts.vector_bits / 8 / body.last().Bytes())),
      points_(lanes_) {}

void TransposedAccesses::StoreTransposed(const Op* store, Values vectors,
                                         const TransposedBlock& block, bool masked) {
  vectors.resize(static_cast<size_t>(lanes_), vectors[0]);
  std::vector<ir::Type> types(vectors.size(), vectors[0]->type());
  Values rows = e_.b.Create(OpKind::Transpose, {vectors}, types)->results();
  for (int64_t i = 0; i < lanes_; ++i) {
    Value* last = e_.b.I64(i);
    MoveTo(block, e_.b.I64(0), last);
    Chunk chunk = VectorChunk(block.last_points, i, block.side_points, masked || IsNarrow());
    ExpandStore(e_.b, body_.AccessHere(store, chunk), rows[static_cast<size_t>(i)]);
  }
}

Values TransposedAccesses::LoadTransposed(const Op* load, const TransposedBlock& block,
                                          bool masked) {
  Scalar scalar = load->result()->type()->scalar;
  bool in_parts = !masked && !IsNarrow();
  int64_t part = in_parts ? PartLanes(scalar) : lanes_;
  Values parts;
  for (int64_t i = 0; i < lanes_; ++i) {
    Chunk chunk = VectorChunk(block.last_points, i, block.side_points, !in_parts);
    chunk.lanes = part;
    for (int64_t begin = 0; begin < lanes_; begin += part) {
      Value* place = e_.b.I64(begin);
      MoveTo(block, place, e_.b.I64(i));
      parts.push_back(ExpandLoad(e_.b, body_.AccessHere(load, chunk)));
    }
  }
  std::vector<ir::Type> types(static_cast<size_t>(lanes_), e_.VectorType(scalar, lanes_));
  return e_.b.Create(OpKind::Transpose, {parts}, types)->results();
}

/// Returns the number of lanes in a part of a row. Rows are loaded in parts within which lanes can move
/// freely. Each load already puts its part at the right place in a vector, so no element has to move from
/// one part of a vector to another.
int64_t TransposedAccesses::PartLanes(Scalar scalar) const {
  return std::min(lanes_, kPartBytes / Bytes(scalar));
}

Value* TransposedAccesses::ExistingPoint(const TransposedBlock& block, int64_t i, bool masked) {
  Value* point = e_.b.I64(i);
  if (!masked || IsNarrow() || i == 0) return point;
  return e_.b.Min(point, e_.b.Sub(block.side_points, e_.b.I64(1)));
}

void TransposedAccesses::MoveTo(const TransposedBlock& block, Value* side, Value* last) {
  body_.position()[SideAxis()] = e_.b.Add(block.side, side);
  body_.position()[LastAxis()] = e_.b.Add(block.last, last);
  body_.MapPoint(side_);
  body_.MapPoint(body_.axes().size() - 1);
}

Chunk TransposedAccesses::VectorChunk(Value* vectors, int64_t i, Value* existing, bool masked) {
  if (!masked) return {lanes_};
  Value* exists = e_.b.Lt(e_.b.I64(i), vectors);
  return cpu::ChunkOf(e_, e_.b.Select(exists, existing, e_.b.I64(0)), lanes_);
}

}  // namespace kdl::cpu
