#include "targets/cpu/expand/elementwise_body.h"

#include <algorithm>
#include <optional>

#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/expand/lane_integers.h"

namespace kdl::cpu {

ElementwiseLoopBody::ElementwiseLoopBody(Expander& e, const Op* elementwise)
    : e_(e),
      elementwise_(elementwise),
      last_(elementwise),
      prefetching_(e, elementwise, last_.Transposes()),
      maxima_(e, elementwise, last_),
      axes_(WalkedAxes(elementwise)) {
  for (const Op* op : *elementwise->region()) {
    if (op->kind() == OpKind::ReduceInLoop) folds_.push_back(AccumulationOf(e, op));
  }
  for (const Value* result : elementwise->results())
    tile_buffers_.push_back(!IsKept(result)    ? TileBuffer()
                            : RunsByElements() ? TileBufferOf(e, result)
                                               : TileBufferAlong(e, result, axes_.back()));
}

ElementwiseLoopBody::ElementwiseLoopBody(Expander& e, const Op* elementwise,
                                         const ElementwiseLoopBody& other,
                                         std::unordered_set<const Op*> staying)
    : e_(e),
      elementwise_(elementwise),
      last_(elementwise, /*by_steps=*/true, std::move(staying)),
      prefetching_(e, elementwise, last_.Transposes()),
      maxima_(e, elementwise, last_),
      tile_buffers_(other.tile_buffers_),
      axes_(WalkedAxes(elementwise)),
      looks_ahead_(last_.step_groups().empty()),
      is_permuted_(IsPermuted()) {}

/// Whether the result is a tile that the body fills point by point and that something reads.
bool ElementwiseLoopBody::IsKept(const Value* result) const {
  return !result->uses().empty() &&
         !IsFolded(elementwise_->region()->terminator()->operand(result->index()));
}

void ElementwiseLoopBody::MapPoint(size_t i) {
  const Value* block = elementwise_->operand(i);
  map_[elementwise_->region()->param(i)] =
      e_.b.Add(e_.blocks.at(block).start, position_.at(axes_[i]));
}

void ElementwiseLoopBody::PlaceAt(const Position& position) {
  position_ = position;
  for (size_t i = 0; i < axes_.size(); ++i) MapPoint(i);
}

void ElementwiseLoopBody::Around(AxisId a, AxisId b, const std::function<void()>& run) {
  ir::AxisList around = axes_;
  std::erase_if(around, [&](AxisId axis) { return axis == a || axis == b; });
  MakeElementwiseLoop(e_, elementwise_, around, position_, [&] {
    for (size_t i = 0; i < axes_.size(); ++i) {
      if (Contains(around, axes_[i])) MapPoint(i);
    }
    run();
  });
}

void ElementwiseLoopBody::Give(const Value* tile, Value* value) {
  given_ = {tile, value};
  looks_ahead_ = false;
}

Value* ElementwiseLoopBody::At(Value* old) {
  auto found = map_.find(old);
  return found == map_.end() ? e_.Scalar(old) : found->second;
}

/// Returns the operand's value. For the index of the last axis, this is a vector of the indices of all lanes.
Value* ElementwiseLoopBody::Lane(Value* old) {
  if (old != elementwise_->region()->params().back() || chunk_.lanes == 1) return At(old);
  ir::Type numbers = e_.VectorType(Scalar::I64, chunk_.lanes);
  Value* lanes = Permuted(e_.b.Make(OpKind::LaneNumbers, {}, numbers));
  return e_.b.Add(At(old), lanes);
}

ElementAccess ElementwiseLoopBody::AccessHere(const Op* op, const Chunk& chunk) {
  ElementAccess access{op, e_.Scalar(TensorOf(op)), {}, nullptr, nullptr, chunk};
  access.is_checked = checked_ && checked_->contains(op);
  for (Value* index : IndexOf(op)) access.index.push_back(At(index));
  ir::Access map = op->attr<AttrKey::Access>();
  for (size_t d = 0; d < map.dims.size(); ++d)
    access.in_domain.push_back(passes::WalksDimension(e_.function, elementwise_, op, d));
  return access;
}

bool ElementwiseLoopBody::IsUniformAccess(const Op* op) const {
  return std::ranges::all_of(IndexOf(op),
                             [&](const Value* operand) { return last_.IsUniform(operand); });
}

Value* ElementwiseLoopBody::ElementChunk(const Op* op) {
  Value* tile = op->operand(0);
  if (tile == given_.tile) return given_.value;
  if (!IsTileValue(tile)) return e_.Scalar(tile);
  std::optional<AxisId> along = last_.MovesAlong(op);
  TileBuffer tile_buffer =
      chunk_.lanes == 1 || !along ? TileBufferOf(e_, tile) : TileBufferAlong(e_, tile, *along);
  if (chunk_.lanes > 1 && along && last_.ElementStep(op) > 1) return PickElements(op, tile_buffer);
  return LoadChunk(e_, tile_buffer, tile->type()->scalar, PlaceOf(op), along ? chunk_ : Chunk());
}

/// Returns the value of an index `ahead` points after the first one of the chunk.
Value* ElementwiseLoopBody::AtPoint(Value* index, int64_t ahead) {
  if (chunk_.lanes == 1 || last_.IsUniform(index)) return At(index);
  if (index == elementwise_->region()->params().back())
    return ahead == 0 ? At(index) : e_.b.Add(At(index), e_.b.I64(ahead));
  return ExpandInLanes(e_, index->def(), [&](Value* operand) { return AtPoint(operand, ahead); });
}

/// Returns the position in its tile of the element that the op reads.
Position ElementwiseLoopBody::PlaceOf(const Op* element) {
  Position place = position_;
  if (ReadsOwnPoints(elementwise_, element)) return place;
  auto point = element->Segment(ir::ElementOp::at_point);
  const ir::AxisList& axes = element->operand(0)->type()->axes;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!Contains(axes_, axes[i]))
      place[axes[i]] = e_.b.Sub(AtPoint(point[i], 0), e_.Facts(elementwise_, axes[i]).start);
  }
  return place;
}

void ElementwiseLoopBody::ExpandLoadOp(Op* op) {
  ir::LoadOp load(op);
  ElementAccess access = AccessHere(op, IsUniformAccess(op) ? Chunk{} : chunk_);
  access.otherwise = Optional(load.otherwise());
  access.mask = Optional(load.mask());
  Prefetch(access);
  Value* loaded = ExpandLoad(e_.b, access);
  if (e_.context.keeps_tiles) loaded->set_name(op->result()->name());
  map_[op->result()] = access.chunk.lanes == 1 ? loaded : Permuted(loaded);
}

void ElementwiseLoopBody::ExpandUpdateOp(Op* op) {
  ir::UpdateOp update(op);
  ElementAccess access = AccessHere(op, {});
  access.mask = Optional(update.mask());
  ExpandUpdate(e_.b, access, Lane(update.value()));
}

void ElementwiseLoopBody::ExpandStoreOp(Op* op) {
  ir::StoreOp store(op);
  if (chunk_.lanes > 1 && op->HasAttr(AttrKey::Append) && IsUniformAccess(op))
    return ExpandAppend(store);
  ElementAccess access = AccessHere(op, chunk_);
  access.mask = Optional(store.mask());
  access.past_caches = !chunk_.mask && Contains(past_caches_, op);
  if (!access.past_caches) Prefetch(access);
  ExpandStore(e_.b, access, InOrder(Lane(store.value())));
}

/// Whether the chunk begins a pair of adjacent cache lines. The iteration's first element is assumed to begin
/// such a pair.
bool ElementwiseLoopBody::BeginsPair(const ElementAccess& access) const {
  return before_ * Bytes(access.tensor->type()->scalar) % (2 * e_.facts.cache_line_bytes) == 0;
}

/// Whether the chunk starts inside a cache line, so that the previous chunk has already accessed this line. A
/// line is assumed to start at the first element of the row or, if the chunk's position in the row is not
/// constant, of the iteration.
bool ElementwiseLoopBody::GoesOnInLine(const ElementAccess& access) const {
  if (last_.Transposes()) return false;
  int64_t before = ConstantOf(position_.at(axes_.back())).value_or(before_);
  return before * Bytes(access.tensor->type()->scalar) % e_.facts.cache_line_bytes != 0;
}

/// Emits the prefetches for an access. Only full vectors prefetch, because partial vectors are near the end
/// of a row.
void ElementwiseLoopBody::Prefetch(const ElementAccess& access) {
  if (!looks_ahead_ || access.chunk.lanes == 1 || access.chunk.mask) return;
  if (GoesOnInLine(access)) return;
  auto index = IndexOf(access.op);
  for (const Prefetching::Request& request : prefetching_.RequestsFor(access.op)) {
    if (request.is_streaming && past_caches_.empty()) continue;
    if (request.in_pairs && !BeginsPair(access)) continue;
    ElementAccess ahead = access;
    for (size_t i = 0; i < index.size(); ++i) {
      if (index[i] != request.point) continue;
      Value* distance = request.distance ? request.distance : e_.b.I64(request.elements);
      ahead.index[i] = e_.b.Add(access.index[i], distance);
    }
    ExpandPrefetch(e_, ahead, request.intent);
  }
}

/// Prefetches the cache line of the chunk's last element. If chunks share cache lines, the line of the first
/// element has already been prefetched for the previous chunk.
void ElementwiseLoopBody::ExpandPrefetchOp(Op* op) {
  ElementAccess access = AccessHere(op, {});
  auto index = IndexOf(op);
  for (size_t i = 0; i < index.size(); ++i) {
    if (index[i] == elementwise_->region()->params().back())
      access.index[i] = e_.b.Add(access.index[i], e_.b.I64(chunk_.lanes - 1));
  }
  ExpandPrefetch(e_, access, op->attr<ir::AttrKey::Intent>());
}

namespace {

/// Returns the sum without its constant terms, which are added to `constant`.
Value* WithoutConstants(ir::Builder& b, Value* sum, int64_t& constant) {
  const Op* def = sum->def();
  if (!def || def->kind() != OpKind::Add) return sum;
  for (size_t i : {0, 1}) {
    std::optional<int64_t> term = ConstantOf(def->operand(i));
    if (!term) continue;
    constant += *term;
    return WithoutConstants(b, def->operand(1 - i), constant);
  }
  Value* first = WithoutConstants(b, def->operand(0), constant);
  Value* second = WithoutConstants(b, def->operand(1), constant);
  bool unchanged = first == def->operand(0) && second == def->operand(1);
  return unchanged ? sum : b.Add(first, second);
}

}  // namespace

/// Returns the indices of all lanes in a narrower integer type, without computing them in 64 bits. Constants are
/// added to the numbers of the lanes, so that all vectors of an iteration use the same splat.
Value* ElementwiseLoopBody::NarrowIndices(Scalar scalar) {
  int64_t constant = 0;
  Value* base = WithoutConstants(e_.b, At(elementwise_->region()->params().back()), constant);
  Value* numbers = e_.b.Make(OpKind::LaneNumbers, {}, e_.VectorType(Scalar::I64, chunk_.lanes));
  Value* offsets = e_.b.Cast(e_.b.Add(Permuted(numbers), e_.b.I64(constant)), scalar);
  return e_.b.Add(e_.b.Splat(e_.b.Cast(base, scalar), chunk_.lanes), offsets);
}

namespace {

/// A comparison of the bits of a float that varies along a row with bits that do not.
struct BitComparison {
  Value* number;
  Value* bits;
};

/// Returns the parts of the op if it is such a comparison, and the bits are known at the start of a row.
std::optional<BitComparison> BitComparisonOf(const LastAxis& last, const Op* op) {
  if (op->kind() != OpKind::Eq) return std::nullopt;
  for (size_t i : {0, 1}) {
    const Op* to_bits = op->operand(i)->def();
    Value* bits = op->operand(1 - i);
    const Op* maker = bits->def();
    bool fits =
        to_bits && to_bits->kind() == OpKind::ToBits && !last.IsUniform(op->operand(i)) &&
        last.IsUniform(bits) &&
        (!maker || maker->parent_region() != op->parent_region() || last.IsInvariant(maker));
    if (fits) return BitComparison{to_bits->operand(0), bits};
  }
  return std::nullopt;
}

}  // namespace

Value* ElementwiseLoopBody::NumberOf(Value* bits) {
  Value* at = At(bits);
  return e_.b.Make(OpKind::FromBits, {at},
                   e_.ScalarType(Bytes(at->type()->scalar) == 4 ? Scalar::F32 : Scalar::F64));
}

Value* ElementwiseLoopBody::AreBitsOrdinary() {
  Value* ordinary = nullptr;
  for (const Op* op : *elementwise_->region()) {
    std::optional<BitComparison> comparison = BitComparisonOf(last_, op);
    if (!comparison) continue;
    Value* number = NumberOf(comparison->bits);
    Value* is_number = e_.b.Eq(number, number);
    Value* no_zero = e_.b.Ne(number, e_.b.Bits(number->type()->scalar, 0));
    Value* fits = e_.b.And(is_number, no_zero);
    ordinary = ordinary ? e_.b.And(ordinary, fits) : fits;
  }
  return ordinary;
}

namespace {

/// Whether the op selects loaded vectors by a condition that is the same for a whole row.
bool SelectsLoadsByRow(const LastAxis& last, const Op* op) {
  if (op->kind() != OpKind::Select || !last.IsUniform(op->operand(ir::SelectOp::at_condition)))
    return false;
  auto is_cheap = [&](const Value* value) {
    return last.IsUniform(value) || (value->def() && value->def()->kind() == OpKind::Load);
  };
  return !last.IsUniform(op->result()) && op->result()->type()->scalar != Scalar::Bool &&
         is_cheap(op->operand(ir::SelectOp::at_a)) && is_cheap(op->operand(ir::SelectOp::at_b));
}

/// Returns bools for all lanes, each equal to the condition, in a form that LLVM does not recognize as a condition of
/// whole vectors, which it would turn into branches. In vectors of 8 elements of 32 bits:
///
///   %condition  ->  lt (lane numbers), select %condition, 8, 0 : i32
Value* InAllLanes(Expander& e, Value* condition, Scalar element, int64_t lanes) {
  Scalar integer = IntegerOfBytes(Bytes(element));
  Value* limit = e.b.Select(condition, e.b.Int(integer, lanes), e.b.Int(integer, 0));
  Value* numbers = e.b.Make(OpKind::LaneNumbers, {}, e.VectorType(Scalar::I64, lanes));
  return e.b.Lt(e.b.Cast(numbers, integer), limit);
}

}  // namespace

/// Expands ops that have a faster form on vectors. Returns null for others.
Value* ElementwiseLoopBody::ExpandFaster(Op* op) {
  if (chunk_.lanes == 1) return nullptr;
  if (SelectsLoadsByRow(last_, op)) {
    Value* condition = At(op->operand(ir::SelectOp::at_condition));
    Value* b = Lane(op->operand(ir::SelectOp::at_b));
    Value* a = Lane(op->operand(ir::SelectOp::at_a));
    Scalar scalar = op->result()->type()->scalar;
    return e_.b.Select(InAllLanes(e_, condition, scalar, chunk_.lanes), a, b);
  }
  bool is_index =
      op->kind() == OpKind::Cast && op->operand(0) == elementwise_->region()->params().back();
  if (is_index && IsInteger(op->result()->type()->scalar) &&
      Bytes(op->result()->type()->scalar) <= 4)
    return NarrowIndices(op->result()->type()->scalar);
  if (IsNarrowRemainder(op)) return NarrowRemainder(op);
  if (IsNarrowComparison(op, chunk_.lanes)) return NarrowComparison(op);
  if (!compares_numbers_) return nullptr;
  std::optional<BitComparison> comparison = BitComparisonOf(last_, op);
  if (!comparison) return nullptr;
  Value* number = NumberOf(comparison->bits);
  return e_.b.Eq(Lane(comparison->number), number);
}

Value* ElementwiseLoopBody::ExpandElementwise(Op* op) {
  if (Value* faster = ExpandFaster(op)) return faster;
  if (maxima_.Has(op)) {
    Value* b = Lane(op->operand(1));
    return maxima_.Larger(op, Lane(op->operand(0)), b);
  }
  Value* copy = ExpandInLanes(e_, op, [&](Value* operand) { return Lane(operand); });
  copy->set_name(op->result()->name());
  return copy;
}

/// Expands a `while` for a whole chunk, whose elements finish one by one. Elements that do not exist never
/// start.
void ElementwiseLoopBody::ExpandWhile(Op* op) {
  const ir::Region* region = op->region();
  auto lanes = [&](size_t i) { return last_.IsUniform(region->param(i)) ? 1 : chunk_.lanes; };
  Values inits;
  std::vector<ir::Type> types;
  for (size_t i = 0; i < op->results().size(); ++i) {
    inits.push_back(e_.b.Splat(Lane(op->operand(i)), lanes(i)));
    types.push_back(inits[i]->type());
  }
  if (chunk_.mask && lanes(0) > 1)
    inits[0] = e_.b.Make(OpKind::And, {inits[0], chunk_.mask}, types[0]);
  Op* copy = e_.b.Create(OpKind::While, {inits}, types);
  ir::Region* around = e_.b.region();
  e_.b.SetInsertionPoint(copy->region());
  for (size_t i = 0; i < types.size(); ++i)
    map_[region->param(i)] = e_.b.AddParam(copy->region(), types[i], region->param(i)->name());
  for (Op* inner : *region) {
    e_.b.set_loc(inner->loc());
    if (inner != region->terminator()) ExpandOp(inner);
  }
  e_.b.set_loc(op->loc());
  Values yielded;
  for (size_t i = 0; i < types.size(); ++i)
    yielded.push_back(e_.b.Splat(Lane(region->terminator()->operand(i)), lanes(i)));
  e_.b.Create(OpKind::Yield, {yielded}, {});
  e_.b.SetInsertionPoint(around);
  StandFor(op, copy, map_);
}

/// Advances the accumulators of a scan by the current point.
void ElementwiseLoopBody::ExpandScan(const Op* op) {
  if (chunk_.lanes > 1 && last_.scan_axis() == axes_.back()) return ExpandScanAlong(op);
  auto first = accumulators.begin() + static_cast<std::ptrdiff_t>(scanned_);
  Values before(first, first + static_cast<std::ptrdiff_t>(op->results().size()));
  Values terms;
  for (Value* value : op->Segment(ir::ScanInLoopOp::at_values)) terms.push_back(Lane(value));
  Values after = StepOnce(e_, op, before, terms, chunk_.lanes);
  std::ranges::copy(after, first);
  scanned_ += after.size();
  bool keeps_after = op->attr<AttrKey::Keep>() == ir::KeepKind::After;
  for (size_t i = 0; i < after.size(); ++i)
    map_[op->result(i)] = keeps_after ? after[i] : before[i];
}

void ElementwiseLoopBody::ExpandAssert(Op* op) {
  ir::AssertOp assertion(op);
  Values mask;
  if (assertion.mask()) mask.push_back(Lane(assertion.mask()));
  Value* condition = Lane(assertion.condition());
  if (chunk_.mask && ir::IsVector(condition->type())) {
    mask = {mask.empty() ? chunk_.mask : e_.b.And(mask[0], chunk_.mask)};
  }
  e_.b.Create(OpKind::Assert, {{condition}, mask}, {}, op->attrs());
}

namespace {

/// Whether each row of the buffer has room for whole vectors of so many lanes.
bool HasWholeVectors(const TileBuffer& tile, int64_t lanes) {
  return tile.panel == 0 && tile.group == 1 && tile.offsets.empty() &&
         tile.buffer->type()->dims.back()->value % lanes == 0;
}

}  // namespace

void ElementwiseLoopBody::StoreResult(size_t i, Value* element) {
  if (!tile_buffers_[i].buffer) return;
  Chunk chunk = chunk_;
  // Masked stores take long on some processors, and loads that follow have to wait for them.
  if (fills_rows_ && HasWholeVectors(tile_buffers_[i], chunk.lanes)) chunk.mask = nullptr;
  auto store = [&] { StoreChunk(e_, Lane(element), tile_buffers_[i], position_, chunk); };
  Value* condition = i < store_conditions.size() ? store_conditions[i] : nullptr;
  condition ? MakeIf(e_.b, condition, store) : store();
}

void ElementwiseLoopBody::ExpandOp(Op* op) {
  const StepGroup* group = chunk_.lanes == 1 ? nullptr : last_.StepGroupOf(op);
  if (group) {
    ExpandStepped(*group, op);
  } else if (op->kind() == OpKind::Yield) {
    for (size_t i = 0; i < op->operands().size(); ++i) StoreResult(i, op->operand(i));
  } else if (op->kind() == OpKind::Element) {
    map_[op->result()] = ElementChunk(op);
  } else if (op->kind() == OpKind::ReduceInLoop) {
    return;  // its terms are accumulated by the enclosing loops
  } else if (op->kind() == OpKind::Load) {
    int64_t repeats = chunk_.lanes == 1 ? 1 : last_.RepeatsOf(op);
    repeats > 1 ? ExpandRepeated(op, repeats) : ExpandLoadOp(op);
  } else if (op->kind() == OpKind::Prefetch) {
    ExpandPrefetchOp(op);
  } else if (op->kind() == OpKind::Store) {
    ExpandStoreOp(op);
  } else if (op->kind() == OpKind::Update) {
    ExpandUpdateOp(op);
  } else if (op->kind() == OpKind::While) {
    ExpandWhile(op);
  } else if (op->kind() == OpKind::ScanInLoop) {
    ExpandScan(op);
  } else if (op->kind() == OpKind::Assert) {
    ExpandAssert(op);
  } else {
    map_[op->result()] = ExpandElementwise(op);
  }
}

}  // namespace kdl::cpu
