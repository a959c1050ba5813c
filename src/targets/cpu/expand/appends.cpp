#include "targets/cpu/expand/appends.h"
#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/expand/elementwise_body.h"

// Expands the scans and stores of an `append` for vectors. The accumulator of the scan is the number of elements that have
// been appended before the vector, as a scalar. The lanes that the mask selects are moved to the front of the vector and
// stored together:
//
//   %count = count_lanes %keep
//   if %count > 0 {
//     %front = compress %x where %keep
//     store %front to %y[%next] where lane_mask %count }
//   %next = add %next, %count

namespace kdl::cpu {

Value* ElementwiseLoopBody::CountLanes(Value* mask) {
  return e_.b.Make(OpKind::CountLanes, {mask}, e_.b.I64Type());
}

void ElementwiseLoopBody::ExpandPlaces(const Op* scan) {
  Value* term = e_.b.Splat(Lane(scan->Segment(ir::ScanInLoopOp::at_values)[0]), chunk_.lanes);
  Scalar scalar = term->type()->scalar;
  Value* count = CountLanes(e_.b.Ne(term, e_.b.Bits(scalar, 0)));
  Value*& accumulator = accumulators[scanned_++];
  map_[scan->result()] = accumulator;
  accumulator = e_.b.Add(accumulator, e_.b.Cast(count, scalar));
}

void ElementwiseLoopBody::ExpandAppend(ir::StoreOp store) {
  Value* value = e_.b.Splat(Lane(store.value()), chunk_.lanes);
  ElementAccess access = AccessHere(store.op, chunk_);
  if (!store.mask()) return ExpandStore(e_.b, access, value);
  for (Value*& index : access.index) index = e_.b.Cast(index, Scalar::I64);
  AppendLanes(access, value, e_.b.Splat(Lane(store.mask()), chunk_.lanes));
}

/// Stores the lanes for which the mask is true, and advances the index of the access by their number. Vectors that need
/// several registers are stored in parts.
void ElementwiseLoopBody::AppendLanes(ElementAccess& access, Value* value, Value* mask) {
  int64_t lanes = ir::Lanes(value->type());
  Scalar scalar = value->type()->scalar;
  if (lanes > 2 && lanes * Bytes(scalar) * 8 > e_.facts.vector_bits) {
    for (int64_t part : {0, 1}) {
      auto half = [&](Value* whole) {
        return e_.b.Make(OpKind::Half, {whole}, e_.VectorType(whole->type()->scalar, lanes / 2),
                         {ir::MakeAttr<AttrKey::Part>(part)});
      };
      AppendLanes(access, half(value), half(mask));
    }
    return;
  }
  Value* count = CountLanes(mask);
  MakeIf(e_.b, e_.b.Lt(e_.b.I64(0), count), [&] {
    Value* front = e_.b.Make(OpKind::Compress, {value, mask}, value->type());
    access.chunk = ChunkOf(e_, count, lanes);
    ExpandStore(e_.b, access, front);
  });
  access.index[0] = e_.b.Add(access.index[0], count);
}

bool CompressesAppends(const Expander& e, const Op* elementwise) {
  for (const Op* op : *elementwise->region()) {
    if (op->kind() != OpKind::Store || !op->HasAttr(AttrKey::Append)) continue;
    if (Bytes(TensorOf(op)->type()->scalar) < e.facts.least_compressed_bytes) return false;
  }
  return true;
}

}  // namespace kdl::cpu
