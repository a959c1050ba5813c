#include "targets/cpu/expand/prefetching.h"

#include <algorithm>
#include <map>

#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/expand/expander.h"

namespace kdl::cpu {

namespace {

/// The tensor and the index values of an access. Two accesses refer to the same element if these values and
/// their access maps are equal.
using IndexedTensor = std::vector<const Value*>;

IndexedTensor IndexedTensorOf(const Op* access) {
  IndexedTensor place = {TensorOf(access)};
  for (const Value* index : IndexOf(access)) place.push_back(index);
  return place;
}

/// Returns whether `b` leads `a`, that is, whether a later iteration reads through `a` the element that this
/// iteration reads through `b`, or one near it.
bool Leads(const Op* elementwise, const Op* b, const Op* a) {
  const ir::Access of_a = a->attr<AttrKey::Access>();
  const ir::Access of_b = b->attr<AttrKey::Access>();
  bool leads = false;
  for (size_t d = 0; d < of_a.dims.size(); ++d) {
    const ir::AccessDim& in_a = of_a.dims[d];
    const ir::AccessDim& in_b = of_b.dims[d];
    if (in_a.terms != in_b.terms) return false;
    if (in_a.offset == in_b.offset) continue;
    bool is_last = d + 1 == of_a.dims.size();
    const std::vector<Value*>& points = elementwise->region()->params();
    bool moves = in_a.terms.size() == 1 && IsConstant(in_a.terms[0].coefficient) &&
                 Contains(points, IndexOf(a)[in_a.terms[0].operand]);
    if (!moves || !IsConstant(in_a.offset) || !IsConstant(in_b.offset)) return false;
    int64_t ahead = 0;
    if (__builtin_sub_overflow(in_b.offset->value, in_a.offset->value, &ahead)) return false;
    if (!is_last && ahead % in_a.terms[0].coefficient->value != 0) return false;
    if (!leads && ahead < 0) return false;
    leads = true;
  }
  return leads;
}

/// Whether the value, which the loop computes, depends on elements of a tensor.
bool DependsOnLoad(const Op* elementwise, const Value* value) {
  const Op* op = value->def();
  if (!op || op->parent_region() != elementwise->region()) return false;
  return op->kind() == OpKind::Load || std::ranges::any_of(op->operands(), [&](const Value* v) {
           return DependsOnLoad(elementwise, v);
         });
}

/// Whether the load goes along a row whose number comes from a tensor, so that the next row is anywhere.
bool GathersRows(const Op* elementwise, const Op* load) {
  return std::ranges::any_of(IndexOf(load),
                             [&](const Value* index) { return DependsOnLoad(elementwise, index); });
}

/// Returns the prefetches of a row whose next one is anywhere. In a short row, most of them would bring elements of the
/// next row in memory, so they refer to the current element. Processors that prefetch well by themselves need none.
std::vector<Prefetching::Request> RequestsInRow(Expander& e, const Op* elementwise,
                                                int64_t distance) {
  constexpr int64_t kLongRow = 4;  // distances
  if (!e.facts.asks_for_reads) return {};
  Value* size = e.blocks.at(elementwise->operands().back()).size;
  Value* is_long = e.b.Ge(size, e.b.I64(kLongRow * distance));
  Value* ahead = e.b.Select(is_long, e.b.I64(distance), e.b.I64(0));
  const Value* point = elementwise->region()->params().back();
  return {{.point = point, .distance = ahead, .intent = ir::IntentKind::Read}};
}

}  // namespace

Prefetching::Prefetching(Expander& e, const Op* elementwise, bool transposes)
    : elementwise_(elementwise), transposes_(transposes) {
  std::vector<const Op*> loads;
  // For each place, the first load with each access map.
  std::map<IndexedTensor, std::vector<const Op*>> first;
  for (const Op* op : *elementwise->region()) {
    if (!op->HasAttr(AttrKey::BoundsMode) || op->kind() == OpKind::Update) continue;
    bool stores = op->kind() == OpKind::Store;
    std::vector<const Op*>& there = first[IndexedTensorOf(op)];
    auto same = std::ranges::find_if(there, [&](const Op* load) {
      return load->attr<AttrKey::Access>() == op->attr<AttrKey::Access>();
    });
    if (same != there.end()) {
      if (stores) written_.insert(*same);
      repeated_.insert(op);
    } else if (!stores) {
      there.push_back(op);
    }
    if (!stores) loads.push_back(op);
    int64_t bytes = Bytes((stores ? op->operand(0) : op->result())->type()->scalar);
    if (!point_) LookAhead(e, op, bytes);
  }
  for (const auto& [place, there] : first) {
    for (const Op* load : there) {
      bool is_led = std::ranges::any_of(
          there, [&](const Op* other) { return Leads(elementwise, other, load); });
      if (is_led) repeated_.insert(load);
    }
  }
  if (transposes) return;
  bool folds = std::ranges::any_of(loads, [&](const Op* load) { return FoldsIterations(load); });
  for (const Op* op : *elementwise->region()) folds |= op->kind() == OpKind::ReduceInLoop;
  for (const Op* load : loads) {
    if (!FoldsIterations(load)) Study(e, load);
    if (folds) BringOnce(e, load);
    bool is_along = point_ == elementwise->region()->params().back();
    bool is_planned = cached_.contains(load) || once_.contains(load) || repeated_.contains(load);
    if (is_along && !is_planned && GathersRows(elementwise, load))
      cached_[load] = RequestsInRow(e, elementwise, distance_);
  }
}

/// Whether several rows of the loop read the same elements, so that only the first of these rows loads them
/// from memory.
bool Prefetching::IsInCache(const Op* load) const {
  const auto& points = elementwise_->region()->params();
  auto index = IndexOf(load);
  bool plain = std::ranges::none_of(index, [&](const Value* operand) {
    return operand->def() && operand->def()->parent_region() == elementwise_->region();
  });
  return plain && std::any_of(points.begin(), points.end() - 1,
                              [&](const Value* point) { return !Contains(index, point); });
}

/// Plans the prefetches of a load. If the block has loaded these rows before, they are in a cache and memory
/// is idle, so the next block's rows are prefetched. The first loop that loads the rows again prefetches into
/// L1 if they are small, and into the second-level cache otherwise. On processors that prefetch well by
/// themselves, it emits only one prefetch, whatever the size of the rows. The last loop over the rows also
/// prefetches from memory if its stores bypass the caches.
void Prefetching::Study(Expander& e, const Op* load) {
  const Rereads::Again* again = e.rereads.FindAgain(load);
  if (!again) {
    if (IsInCache(load)) cached_[load];
    return;
  }
  std::vector<Request>& requests = cached_[load];
  const Value* point = IndexOf(load)[again->operand];
  const auto& points = elementwise_->region()->params();
  auto at = static_cast<size_t>(std::find(points.begin(), points.end(), point) - points.begin());
  const BlockFacts& rows = e.blocks.at(elementwise_->operand(at));
  if (!rows.next) return;
  Value* distance = e.b.Sub(rows.next, rows.start);
  if (again->first && !e.facts.asks_for_reads) {
    requests.push_back({point, distance});
  } else if (again->first) {
    // A quarter of L1 for each of two blocks; the rest is for data that is written.
    constexpr int64_t kShare = 4;
    Value* tensor = e.Scalar(TensorOf(load));
    Value* bytes = e.b.Mul(rows.size, BytesPerIndex(e.b, tensor, again->dim));
    Value* small = e.b.Le(bytes, e.b.I64(e.facts.l1_bytes / kShare));
    Value* none = e.b.I64(0);
    requests.push_back({point, e.b.Select(small, distance, none), 0, ir::IntentKind::Read});
    requests.push_back({point, e.b.Select(small, none, distance), 0, ir::IntentKind::ReadLater});
  }
  if (again->last) requests.push_back({point, distance, 0, ir::IntentKind::ReadLater, true});
}

/// Plans prefetches of data that only a reduction reads. They load the data from memory into the second-level
/// cache, because requests to that cache do not delay loads from L1. If the whole tensor fits into the
/// second-level cache, no prefetches are needed. In that case, the prefetch instructions refer to data that
/// has already been processed. If the processor prefetches better by itself, none are emitted, unless the
/// loop must also widen narrow numbers.
void Prefetching::BringOnce(Expander& e, const Op* load) {
  constexpr int64_t kFloatBytes = 4;
  const Value* tensor = TensorOf(load);
  if (e.rereads.HasRowsOf(tensor) || !PrefetchPoint(load)) return;
  bool widened = Bytes(load->result()->type()->scalar) < kFloatBytes;
  if (!e.facts.asks_for_reads && !widened) {
    cached_[load];
    return;
  }
  Value* own = e.Scalar(const_cast<Value*>(tensor));
  Value* each = BytesPerIndex(e.b, own, 0);
  Value* bytes = e.b.Mul(e.b.SizeValue(own->type()->dims[0]), each);
  Value* large = e.b.Gt(bytes, e.b.I64(e.facts.l2_bytes));
  Value* back = e.b.I64(-back_);
  once_[load] = e.b.Select(large, e.b.I64(distance_), back);
}

/// Whether each iteration of the enclosing loop accesses the next rows of the tensor.
bool Prefetching::FoldsIterations(const Op* access) const {
  const Op* loop = elementwise_->parent_region()->parent();
  if (!loop || loop->kind() != OpKind::Loop) return false;
  const Value* iteration = loop->region()->param(0);
  return std::ranges::any_of(IndexOf(access), [&](const Value* index) {
    const Op* def = index->def();
    return index == iteration || (def && def->kind() == OpKind::Add &&
                                  def->operand(0) == iteration && ConstantOf(def->operand(1)));
  });
}

const Value* Prefetching::PrefetchPoint(const Op* access) const {
  return point_ && Contains(IndexOf(access), point_) ? point_ : nullptr;
}

/// Determines how far ahead to prefetch. Register transposes go along the cache lines to which they store,
/// and prefetch the next line. Other loops prefetch some rows ahead or, if a row is long, along the row.
void Prefetching::LookAhead(const Expander& e, const Op* access, int64_t bytes) {
  constexpr int64_t kAlongRow = 2048;
  constexpr int64_t kRowsOn = 4096;
  constexpr int64_t kBytesAhead = 8192;
  const auto& points = elementwise_->region()->params();
  ir::AxisId last = elementwise_->operands().back()->type()->axes[0];
  int64_t row = std::max<int64_t>(e.Extent(last) * bytes, 1);
  const Op* loop = elementwise_->parent_region()->parent();
  if (transposes_ || row >= kPageBytes) {
    point_ = points.back();
    distance_ = (transposes_ ? e.facts.cache_line_bytes : kAlongRow) / bytes;
    back_ = e.facts.cache_line_bytes / bytes;
  } else if (points.size() > 1) {
    point_ = points[points.size() - 2];
    distance_ = (kRowsOn + row - 1) / row;
    back_ = 1;
  } else if (FoldsIterations(access)) {
    point_ = loop->region()->param(0);
    distance_ = (kBytesAhead + row - 1) / row;
    back_ = 1;
  }
}

std::vector<Prefetching::Request> Prefetching::RequestsFor(const Op* access) const {
  if (auto near = cached_.find(access); near != cached_.end()) return near->second;
  const Value* point = PrefetchPoint(access);
  if (!point || repeated_.contains(access)) return {};
  if (auto once = once_.find(access); once != once_.end())
    return {{.point = point,
             .distance = once->second,
             .intent = ir::IntentKind::ReadLater,
             .in_pairs = true}};
  bool writes = access->kind() == OpKind::Store || written_.contains(access);
  bool packs =
      !elementwise_->results().empty();  // the next op reads scratch memory, which is cached
  return {{point, nullptr, distance_,
           writes  ? ir::IntentKind::Write
           : packs ? ir::IntentKind::ReadLater
                   : ir::IntentKind::Read}};
}

}  // namespace kdl::cpu
