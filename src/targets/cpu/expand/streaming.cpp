#include <algorithm>

#include "ir/format.h"
#include "ir/lookup.h"
#include "ir/op_kind.h"
#include "ir/tensor_view.h"
#include "targets/cpu/expand/elementwise_body.h"

// Stores that bypass the caches (non-temporal stores). Normally, a cache line is read before it is stored to.
// If the whole line is stored past the caches, directly to memory, it is not read. In this way, outputs that
// fit into no cache are written almost twice as fast. Outputs that fit into a cache should stay there, where
// their next reader finds them. Sizes are known only at launch, so the code contains both forms.

namespace kdl::cpu {

namespace {

/// Whether the op is the given store or another copy of the same store in the source. For example, one copy
/// may be in a loop's last iteration and another one after the loop. Locations do not say that, because copies have different ones
/// when text is read back.
bool IsSameStore(const Op* op, const Op* store) {
  auto text = [](const Op* one) {
    return one->HasAttr(AttrKey::Text) ? one->attr<AttrKey::Text>() : Name();
  };
  return op->kind() == OpKind::Store && text(op) == text(store) &&
         op->attr<AttrKey::Access>() == store->attr<AttrKey::Access>();
}

/// Whether `store` is the kernel's only access to the tensor. Returns false for a tensor in a slot of a pipe,
/// because the reader of the pipe does not wait for a fence.
bool IsOnlyTouchedBy(const Value* tensor, const Op* store) {
  return !ir::MemoryOf(tensor)->def() &&
         std::ranges::all_of(ir::UsersOfMemory(tensor), [&](const Op* user) {
           return user->kind() == OpKind::Prefetch || IsSameStore(user, store);
         });
}

/// Whether the index is known before the loops over chunks or over register transposes begin.
bool IsKnownBefore(const ElementwiseLoopBody& body, const Value* index) {
  const Op* def = index->def();
  bool inside = def && def->parent_region() == body.elementwise()->region();
  return !inside || (body.last().Vectorizes() && body.last().IsInvariant(def));
}

bool MayPassCaches(const ElementwiseLoopBody& body, int64_t lanes, const Op* op) {
  if (op->kind() != OpKind::Store) return false;
  ir::StoreOp store(const_cast<Op*>(op));
  int64_t bytes = lanes * Bytes(store.tensor()->type()->scalar);
  constexpr int64_t kLeastBytes = 16;  // the minimum that one instruction stores past the caches
  auto index = store.index();
  return bytes >= kLeastBytes && !store.mask() && !body.last().StepGroupOf(op) &&
         IsOnlyTouchedBy(store.tensor(), op) &&
         std::all_of(index.begin(), index.end(),
                     [&](const Value* value) { return IsKnownBefore(body, value); });
}

/// The number of bytes of all tensors that the stores write, as a constant part and a computed part.
struct TotalBytes {
  int64_t known = 0;
  Value* computed = nullptr;
};

void AddBytes(Expander& e, TotalBytes& total, ir::Type tensor) {
  int64_t factor = Bytes(tensor->scalar);
  Value* product = nullptr;
  for (Size dim : tensor->dims) {
    if (IsConstant(dim)) {
      factor *= dim->value;
    } else {
      Value* size = e.b.SizeValue(dim);
      product = product ? e.b.Mul(product, size) : size;
    }
  }
  if (!product) {
    total.known += factor;
    return;
  }
  product = e.b.Mul(product, e.b.I64(factor));
  total.computed = total.computed ? e.b.Add(total.computed, product) : product;
}

}  // namespace

Value* AreLarge(Expander& e, const std::vector<const Op*>& accesses) {
  TotalBytes total;
  for (const Op* access : accesses)
    AddBytes(e, total, e.Scalar(const_cast<Value*>(TensorOf(access)))->type());
  if (total.known > e.facts.last_level_bytes) return e.b.Bool(true);
  if (!total.computed) return nullptr;
  return e.b.Gt(total.computed, e.b.I64(e.facts.last_level_bytes - total.known));
}

Streaming StreamingOf(ElementwiseLoopBody& body, int64_t lanes) {
  Expander& e = body.e();
  // The minimum number of vectors in a row. In shorter rows, stores would not write consecutive cache lines.
  constexpr int64_t kLeastVectors = 2;
  Streaming streaming;
  if (e.facts.last_level_bytes == 0 || lanes == 1 ||
      e.Extent(body.axes().back()) < kLeastVectors * lanes)
    return streaming;
  for (const Op* op : *body.elementwise()->region()) {
    if (MayPassCaches(body, lanes, op)) streaming.stores.push_back(op);
  }
  if (!streaming.stores.empty()) streaming.large = AreLarge(e, streaming.stores);
  return streaming;
}

RowStart RowStartOf(ElementwiseLoopBody& body, const Streaming& streaming) {
  Expander& e = body.e();
  RowStart start{nullptr, nullptr};
  for (const Op* store : streaming.stores) {
    Value* gap = AlignGap(e, body.AccessHere(store, {body.Lanes(), nullptr, nullptr}));
    if (!start.gap) {
      start.gap = gap;
      continue;
    }
    Value* same = e.b.Eq(start.gap, gap);
    start.agrees = start.agrees ? e.b.And(start.agrees, same) : same;
  }
  return start;
}

}  // namespace kdl::cpu
