#include "targets/simt/tiles/side_points.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "ir/op_info.h"
#include "ir/views.h"
#include "passes/rewriting/element_access.h"
#include "passes/rewriting/rewrite.h"
#include "support/contains.h"
#include "support/scalar.h"

// Computes contiguous points of an elementwise loop in groups. Here, a group has four points:
//
//   elementwise (%r in %br, %c in %bc) { %e = load %x[%r, %c] ; %f = mul %e, %s ; yield %f }
//   ->
//   if (whole groups, and aligned) { loop %p in 0 .. size(br) * 64 {threads} {
//     %v = load %x[…, %p rem 64 * 4] : vector<f32,4> ; mul … of each element ; buffer_store zip … } }
//   else { … point by point }

namespace kdl::simt {

using ir::AttrKey;
using ir::AxisId;
using ir::AxisList;
using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::Value;
using passes::Values;

namespace {

constexpr int64_t kMostOps =
    512;  // the maximum number of ops for all points that are computed at once

int64_t OpsIn(const Region* region) {
  int64_t ops = 0;
  ir::Walk(region, [&](const Op*) { ++ops; });
  return ops;
}

/// If the value is the start of a block, returns the block, otherwise null.
const Value* BlockStartedBy(const Value* value) {
  const Op* def = value->def();
  return def && def->kind() == OpKind::BlockStart ? def->operand(0) : nullptr;
}

/// Returns whether the value is the end of the block, that is, its start plus its size.
bool IsEndOf(const Value* value, const Value* block) {
  const Op* sum = value->def();
  if (!sum || sum->kind() != OpKind::Add || BlockStartedBy(sum->operand(0)) != block) return false;
  const Op* size = sum->operand(1)->def();
  return size && size->kind() == OpKind::BlockSize && size->operand(0) == block;
}

}  // namespace

// -- What an elementwise loop permits --------------------------------------------------------------------

SidePoints::SidePoints(const SimtFacts& facts, ir::Builder& b, WorkgroupTiles& tiles,
                       AlignedRows& rows, const Op* elementwise, PointMaker maker, int64_t side)
    : facts_(facts),
      b_(b),
      tiles_(tiles),
      rows_(rows),
      elementwise_(elementwise),
      maker_(std::move(maker)),
      last_(elementwise->operands().back()->type()->axes[0]),
      last_param_(elementwise->region()->params().back()) {
  if (facts_.vector_bytes == 0) return;
  varying_.insert(last_param_);
  along_[last_param_] = {last_, {}};
  Study(elementwise->region());
  for (const Value* result : elementwise->results()) {
    if (LiesInRows(result)) AddGrouped(result);
  }
  if (fits_ && bytes_ > 0) count_ = side > 0 ? CountOfSide(side) : BestCount(facts_.threads);
  if (count_ > 1 && side == 0) groups_at_once_ = BestGroups(facts_.threads);
}

void SidePoints::AddGrouped(const Value* tile) {
  grouped_.push_back(tile);
  bytes_ = std::max<int64_t>(bytes_, Bytes(tile->type()->scalar));
}

/// Returns whether the tile's elements along the last axis are contiguous in workgroup memory.
bool SidePoints::LiesInRows(const Value* tile) const {
  return !tile->uses().empty() && !tiles_.IsInRegisters(tile) && !tiles_.LiesInPanels(tile) &&
         tiles_.IsLast(tile, last_) && tile->type()->scalar != Scalar::Bool;
}

/// Returns whether groups of `count` elements are aligned in all rows of the tiles. Rows may be padded.
bool SidePoints::HasAlignedRows(int64_t count) const {
  return facts_.vectors_anywhere || std::ranges::all_of(grouped_, [&](const Value* tile) {
           return tile->type()->axes.size() < 2 || tiles_.ElementsPerRow(tile) % count == 0;
         });
}

int64_t SidePoints::CountPoints() const {
  int64_t points = 1;
  for (const Value* block : elementwise_->operands())
    points *= tiles_.Extent(block->type()->axes[0]);
  return points;
}

int64_t SidePoints::BestCount(int64_t threads) const {
  int64_t ops = OpsIn(elementwise_->region());
  int64_t count = facts_.vector_bytes / bytes_;
  auto takes = [&] {
    return tiles_.Extent(last_) % count == 0 && CountPoints() >= count * threads &&
           ops * count <= kMostOps && HasAlignedRows(count);
  };
  while (count > 1 && !takes()) count /= 2;
  return count;
}

/// Returns the size of groups that divide a thread's `side` adjacent points.
int64_t SidePoints::CountOfSide(int64_t side) const {
  int64_t count = std::gcd(side, facts_.vector_bytes / bytes_);
  return HasAlignedRows(count) && begins_.empty() ? count : 1;
}

/// Returns 1 if the loop loads nothing, since only loads of tensors have a latency that is worth more registers.
int64_t SidePoints::BestGroups(int64_t threads) const {
  int64_t loaded = 0;
  for (const Op* op : global_) {
    bool loads = op->kind() == OpKind::Load;
    loaded += loads ? count_ * Bytes(op->result()->type()->scalar) : 0;
  }
  // A loop that begins at the point's index must have the same bounds for all groups of a thread.
  bool has_same_begin = begins_.empty() || threads % (tiles_.Extent(last_) / count_) == 0;
  if (loaded == 0 || has_own_bounds_ || !has_same_begin) return 1;
  int64_t ops = OpsIn(elementwise_->region());
  int64_t groups = std::max<int64_t>(kBytesInFlight / loaded, 1);
  auto takes = [&] {
    return CountPoints() % (count_ * threads * groups) == 0 && ops * count_ * groups <= kMostOps;
  };
  while (groups > 1 && !takes()) groups /= 2;
  return groups;
}

void SidePoints::Study(const Region* region) {
  for (const Op* op : *region) {
    bool varies = std::ranges::any_of(passes::OutsideOperands(op),
                                      [&](const Value* value) { return !IsSame(value); });
    if (varies) varying_.insert(op->results().begin(), op->results().end());
    StudySum(op);
    fits_ &= StudyOp(op);
  }
}

void SidePoints::StudySum(const Op* op) {
  if (op->kind() != OpKind::Add) return;
  auto along = along_.find(op->operand(1));
  const Op* product = op->operand(0)->def();
  if (along == along_.end() || !product || product->kind() != OpKind::Mul) return;
  std::optional<int64_t> factor = passes::ConstantOf(product->operand(1));
  if (factor && *factor % facts_.vector_bytes == 0 && IsSame(op->operand(0)))
    sums_[op->result()] = along->second.axis;
}

bool SidePoints::StudyOp(const Op* op) {
  switch (op->kind()) {
    case OpKind::Load:
    case OpKind::Store:
      return StudyAccess(op);
    case OpKind::Element:
      if (UsesElements(op)) {
        AddGrouped(op->operand(0));
        elements_.push_back(op);
      }
      return true;
    case OpKind::Loop:
      return StudyLoop(op);
    default:
      break;
  }
  bool is_plain = !passes::MayTrap(op);
  auto study = [&](const Op* inner) {
    is_plain &= !passes::MayTrap(inner) &&
                (inner->info().has(ir::kPure) || inner->info().has(ir::kTerminator) ||
                 inner->kind() == OpKind::Element || inner->kind() == OpKind::Loop ||
                 inner->kind() == OpKind::If || inner->kind() == OpKind::Div ||
                 inner->kind() == OpKind::Rem);
  };
  study(op);
  for (const Region* region : op->regions()) ir::Walk(region, study);
  return is_plain;
}

/// If a loop begins at the start of a block plus the point's index, or at the block's end if the index is beyond it,
/// returns the block and the index.
std::pair<const Value*, const Value*> SidePoints::OwnBegin(const Value* lo) const {
  const Op* sum = lo->def();
  const Op* clipped = sum && sum->kind() == OpKind::Add ? sum->operand(1)->def() : nullptr;
  if (!clipped || clipped->kind() != OpKind::Min || !along_.contains(clipped->operand(0)))
    return {};
  const Value* block = BlockStartedBy(sum->operand(0));
  const Op* size = clipped->operand(1)->def();
  bool ends = block && size && size->kind() == OpKind::BlockSize && size->operand(0) == block;
  if (!ends) return {};
  return {block, clipped->operand(0)};
}

/// Returns whether a loop inside the elementwise loop permits groups. Each point may begin this loop at a
/// different index. If the block consists of whole groups, such a loop has the same number of iterations for all
/// points of a group.
bool SidePoints::StudyLoop(const Op* loop) {
  ir::LoopOp view(const_cast<Op*>(loop));
  auto is_tile = [](const Value* value) { return IsTileValue(value); };
  std::optional<int64_t> step = passes::ConstantOf(view.step());
  bool is_plain = loop->attrs().empty() && step && IsSame(view.hi()) &&
                  std::ranges::none_of(loop->results(), is_tile);
  if (!is_plain) return false;
  has_own_bounds_ |= passes::IsInside(view.hi(), elementwise_);
  const std::vector<Value*>& params = loop->region()->params();
  for (size_t i = 1; i < params.size(); ++i) varying_.insert(params[i]);
  if (!IsSame(view.lo())) {
    const Value* block = OwnBegin(view.lo()).first;
    if (!block || !IsEndOf(view.hi(), block) ||
        ir::FindBlock(loop, block->type()->axes[0]) != block || *step % facts_.vector_bytes != 0)
      return false;
    begins_.emplace_back(loop, block);
    along_[params[0]] = {block->type()->axes[0], {}};
    varying_.insert(params[0]);
  } else {
    has_own_bounds_ |= passes::IsInside(view.lo(), elementwise_);
  }
  Study(loop->region());
  varying_.insert(loop->results().begin(), loop->results().end());
  return true;
}

/// Returns whether the access is checked once for all points of a group, if it is checked at all. Along a dimension
/// that an axis of the loop covers, no index is out of bounds.
bool SidePoints::ChecksTogether(const Op* op) const {
  auto index = passes::IndexOf(op);
  const ir::Access access = op->attr<AttrKey::Access>();
  for (size_t d = 0; d < access.dims.size(); ++d) {
    bool is_same = std::ranges::all_of(access.dims[d].terms, [&](const ir::AccessTerm& term) {
      return IsSame(index[term.operand]);
    });
    bool is_inside = IsConstant(access.dims[d].offset, 0) &&
                     passes::WalksDimension(tiles_.kernel(), elementwise_, op, d);
    if (!is_same && !is_inside) return false;
  }
  return true;
}

/// Returns whether the access is the same at all points or can be a vector access. For other accesses, groups
/// would be slower, because it is better if adjacent threads have adjacent points.
bool SidePoints::StudyAccess(const Op* op) {
  if (passes::MayTrap(op) && !ChecksTogether(op)) return false;
  bool loads = op->kind() == OpKind::Load;
  auto index = passes::IndexOf(op);
  bool is_same = std::ranges::all_of(index, [&](const Value* value) { return IsSame(value); });
  if (loads && is_same) return true;
  bool is_masked = !op->Segment(ir::OperandWith(op->kind(), ir::Effect::Mask)).empty();
  auto bounds_mode = op->attr<AttrKey::BoundsMode>();
  bool in_loop = op->parent_region() != elementwise_->region();
  const ir::Access access = op->attr<AttrKey::Access>();
  if (is_masked || access.dims.empty() || (in_loop && !loads)) return false;
  if (IsNeighbor(op)) {
    bytes_ = std::max<int64_t>(bytes_, Bytes(passes::TensorOf(op)->type()->scalar));
    neighbors_.push_back(op);
    return true;
  }
  if (bounds_mode == ir::BoundsMode::Else) return false;
  for (size_t d = 0; d < access.dims.size(); ++d) {
    bool is_row = d + 1 == access.dims.size();
    int along = 0;
    for (const ir::AccessTerm& term : access.dims[d].terms) {
      const Value* value = index[term.operand];
      bool is_last = along_.contains(value);
      along += is_last ? 1 : 0;
      bool is_known = is_last || (is_row ? !passes::IsInside(value, elementwise_) : IsSame(value));
      if (!is_known || (is_last && !IsConstant(term.coefficient, 1))) return false;
    }
    if (along != (is_row ? 1 : 0)) return false;
  }
  const Value* tensor = passes::TensorOf(op);
  if (tensor->type()->scalar == Scalar::Bool) return false;
  bytes_ = std::max<int64_t>(bytes_, Bytes(tensor->type()->scalar));
  global_.push_back(op);
  return true;
}

/// Returns whether the tile's elements for the points of a group are contiguous.
bool SidePoints::UsesElements(const Op* op) const {
  const Value* tile = op->operand(0);
  const AxisList& axes = tile->type()->axes;
  if (axes.empty() || tiles_.IsInRegisters(tile) || tiles_.LiesInPanels(tile) ||
      tile->type()->scalar == Scalar::Bool)
    return false;
  auto point = op->Segment(ir::ElementOp::at_point);
  for (size_t i = 0; i < axes.size(); ++i) {
    bool is_along = along_.contains(point[i]) || sums_.contains(point[i]);
    if (tiles_.IsLast(tile, axes[i]) ? !is_along : !IsSame(point[i])) return false;
  }
  return true;
}

/// If an elementwise loop over blocks of one axis reads the elements of a tile over blocks of another one, which divides
/// the same dimension differently, returns the number of elements from the start of the tile's block to that of the
/// loop's block. Otherwise returns null.
Value* SidePoints::GapOfBlocks(const Op* op) {
  const AxisList& axes = op->operand(0)->type()->axes;
  auto point = op->Segment(ir::ElementOp::at_point);
  for (size_t i = 0; i < axes.size(); ++i) {
    auto along = along_.find(point[i]);
    auto sum = sums_.find(point[i]);
    if (sum == sums_.end() && (along == along_.end() || along->second.axis == axes[i])) continue;
    AxisId axis = sum == sums_.end() ? along->second.axis : sum->second;
    return b_.Sub(tiles_.FactsAt(elementwise_, axis).start, tiles_.FactsAt(op, axes[i]).start);
  }
  return nullptr;
}

Value* SidePoints::Fits() {
  Value* zero = b_.I64(0);
  Value* all = b_.I64(count_);
  Value* fits = nullptr;
  auto ask = [&](Value* condition) { fits = fits ? b_.And(fits, condition) : condition; };
  auto are_whole = [&](Value* number) { ask(b_.Eq(b_.Rem(number, all), zero)); };
  are_whole(tiles_.FactsAt(elementwise_, last_).size);
  if (!begins_.empty()) are_whole(tiles_.FactsAt(elementwise_, last_).start);
  for (const auto& [loop, block] : begins_) are_whole(tiles_.FactsForBlock(block).size);
  for (const Op* element : elements_) {
    if (Value* gap = GapOfBlocks(element)) are_whole(gap);
  }
  if (facts_.vectors_anywhere) return fits;
  maker_.scalars[last_param_] = tiles_.FactsAt(elementwise_, last_).start;
  for (const auto& [loop, block] : begins_)
    maker_.scalars[loop->region()->param(0)] = tiles_.FactsForBlock(block).start;
  std::set<std::pair<const Value*, const Value*>> asked;
  std::vector<const Op*> accesses = global_;
  accesses.insert(accesses.end(), neighbors_.begin(), neighbors_.end());
  for (const Op* op : accesses) {
    const ir::AccessDim row = AlignedRow(op);
    Values index(passes::IndexOf(op).size());
    for (const ir::AccessTerm& term : row.terms)
      index[term.operand] =
          b_.Cast(maker_.scalars.at(passes::IndexOf(op)[term.operand]), kdl::Scalar::I64);
    Value* tensor = maker_.scalars.at(passes::TensorOf(op));
    Value* first = passes::IndexValue(b_, row, index);
    if (!asked.insert({tensor, first}).second) continue;
    are_whole(first);
    ask(rows_.AreAligned(tensor, count_));
  }
  return fits;
}

// -- The points ---------------------------------------------------------------------------------------

std::vector<std::vector<Values>> SidePoints::Make(const std::vector<Values>& places) {
  made_.clear();
  groups_ = places.size();
  along_.at(last_param_).places.clear();
  for (const Values& place : places) {
    for (size_t i = 0; i < place.size(); ++i) {
      const Value* param = elementwise_->region()->param(i);
      AxisId axis = elementwise_->operand(i)->type()->axes[0];
      Value* first = b_.Add(tiles_.FactsAt(elementwise_, axis).start, place[i]);
      bool is_last = param == last_param_;
      if (is_last) along_.at(param).places.push_back(place[i]);
      for (size_t point = 0; point < static_cast<size_t>(count_); ++point) {
        Value* index = is_last ? Plus(first, point) : first;
        made_[param].push_back(index);
        maker_.places.Set(index, axis, is_last ? Plus(place[i], point) : place[i]);
      }
    }
  }
  ExpandRegion(elementwise_->region());
  std::vector<std::vector<Values>> yielded(groups_);
  for (const Value* value : elementwise_->region()->terminator()->operands()) {
    Values all = AtAllPoints(value);
    for (size_t group = 0; group < groups_; ++group) yielded[group].push_back(OfGroup(all, group));
  }
  return yielded;
}

Values SidePoints::OfGroup(const Values& all, size_t group) const {
  auto first = all.begin() + static_cast<std::ptrdiff_t>(group) * count_;
  return {first, first + count_};
}

Value* SidePoints::Plus(Value* value, size_t number) {
  return number == 0 ? value : b_.Add(value, b_.I64(static_cast<int64_t>(number)));
}

Values SidePoints::AtAllPoints(const Value* old) const {
  auto found = made_.find(old);
  if (found != made_.end()) return found->second;
  return Values(points(), maker_.scalars.at(old));
}

/// Makes the values that the op uses refer to the given point.
void SidePoints::SetCurrent(const Op* op, size_t point) {
  for (const Value* used : passes::OutsideOperands(op)) {
    auto found = made_.find(used);
    if (found != made_.end()) maker_.scalars[used] = found->second[point];
  }
}

void SidePoints::Select(size_t point) const {
  if (maker_.select) maker_.select(point % static_cast<size_t>(count_));
}

void SidePoints::ExpandRegion(const Region* region) {
  for (Op* op : *region) {
    if (op->info().has(ir::kTerminator)) break;
    b_.set_loc(op->loc());
    ExpandPointOp(op);
  }
}

void SidePoints::ExpandPointOp(Op* op) {
  if (op->kind() == OpKind::Loop) return ExpandPointLoop(op);
  if (op->kind() == OpKind::Store) return StoreGlobal(op);
  if (op->kind() == OpKind::Load && Contains(global_, op)) return Load(op);
  if (Contains(neighbors_, op)) return LoadNeighbors(op);
  if (op->kind() == OpKind::Element && UsesElements(op)) return Elements(op);
  bool is_same = std::ranges::all_of(op->results(), [&](const Value* r) { return IsSame(r); });
  for (const Value* result : op->results()) made_[result].clear();
  for (size_t point = 0; point < points(); ++point) {
    bool is_first = point % static_cast<size_t>(count_) == 0;
    if (is_first || !is_same) {
      Select(point);
      SetCurrent(op, point);
      maker_.expand(op);
    }
    for (const Value* result : op->results()) made_[result].push_back(maker_.scalars.at(result));
  }
}

/// Emits one loop for all points. If the loop begins at a different index for each point, it
/// counts from the block's start instead.
void SidePoints::ExpandPointLoop(const Op* op) {
  ir::LoopOp loop(const_cast<Op*>(op));
  size_t count = points();
  const std::vector<Value*>& params = op->region()->params();
  auto of_all = [&](const Value* old) { return AtAllPoints(old)[0]; };
  auto begins = std::ranges::find(begins_, op, &std::pair<const Op*, const Value*>::first);
  Value* lo = of_all(loop.lo());
  Value* hi = of_all(loop.hi());
  Value* start = nullptr;
  if (begins != begins_.end()) {
    start = tiles_.FactsForBlock(begins->second).start;
    lo = of_all(OwnBegin(loop.lo()).second);
    hi = tiles_.FactsForBlock(begins->second).size;
  }
  Values inits;
  for (const Value* init : loop.inits()) {
    for (Value* value : AtAllPoints(init)) inits.push_back(value);
  }
  auto body = [&](Value* index, const Values& carried) {
    Value* first = start ? b_.Add(start, index) : index;
    if (start) along_[params[0]].places = Values(groups_, index);
    made_[params[0]].clear();
    for (size_t point = 0; point < count; ++point) {
      size_t in_group = point % static_cast<size_t>(count_);
      made_[params[0]].push_back(start ? Plus(first, in_group) : first);
      if (start)
        maker_.places.Set(made_[params[0]][point], along_[params[0]].axis, Plus(index, in_group));
    }
    for (size_t i = 1; i < params.size(); ++i) {
      auto from = carried.begin() + static_cast<std::ptrdiff_t>((i - 1) * count);
      made_[params[i]] = Values(from, from + static_cast<std::ptrdiff_t>(count));
    }
    ExpandRegion(op->region());
    Values next;
    for (const Value* value : op->region()->terminator()->operands()) {
      for (Value* each : AtAllPoints(value)) next.push_back(each);
    }
    return next;
  };
  Values made = passes::MakeLoop(b_, {lo, hi, *passes::ConstantOf(loop.step())}, inits, body);
  for (size_t i = 0; i < op->results().size(); ++i) {
    auto from = made.begin() + static_cast<std::ptrdiff_t>(i * count);
    made_[op->result(i)] = Values(from, from + static_cast<std::ptrdiff_t>(count));
  }
}

Values SidePoints::Parts(Value* vector) {
  kdl::Scalar scalar = vector->type()->scalar;
  Values parts = {vector};
  for (int64_t lanes = count_ / 2; lanes > 0; lanes /= 2) {
    Values halves;
    for (Value* part : parts) {
      for (int64_t half : {0, 1})
        halves.push_back(b_.Make(OpKind::Half, {part}, b_.types().Vector(scalar, lanes),
                                 {ir::MakeAttr<AttrKey::Part>(half)}));
    }
    parts = std::move(halves);
  }
  return parts;
}

/// Returns the vector access of a group.
passes::ElementAccess SidePoints::AccessAt(const Op* op, size_t group) {
  SetCurrent(op, group * static_cast<size_t>(count_));
  passes::ElementAccess access =
      passes::ElementAccessOf(op, [&](Value* operand) { return maker_.scalars.at(operand); });
  access.chunk = {count_};
  for (size_t d = 0; d < op->attr<AttrKey::Access>().dims.size(); ++d)
    access.in_domain.push_back(passes::WalksDimension(tiles_.kernel(), elementwise_, op, d));
  return access;
}

void SidePoints::Load(const Op* op) {
  Values loaded;
  for (size_t group = 0; group < groups_; ++group) {
    Values parts = Parts(passes::ExpandLoad(b_, AccessAt(op, group)));
    loaded.insert(loaded.end(), parts.begin(), parts.end());
  }
  made_[op->result()] = std::move(loaded);
}

void SidePoints::StoreGlobal(const Op* op) {
  Values values = AtAllPoints(op->operand(0));
  ir::Type type = b_.types().Vector(values[0]->type()->scalar, count_);
  for (size_t group = 0; group < groups_; ++group) {
    passes::ElementAccess access = AccessAt(op, group);
    Value* vector = b_.Create(OpKind::Zip, {OfGroup(values, group)}, {type})->result();
    passes::ExpandStore(b_, access, vector);
  }
}

void SidePoints::Elements(const Op* op) {
  Values elements;
  for (size_t group = 0; group < groups_; ++group) {
    Values side = ElementsOf(op, group);
    elements.insert(elements.end(), side.begin(), side.end());
  }
  made_[op->result()] = std::move(elements);
}

Values SidePoints::ElementsOf(const Op* op, size_t group) {
  const Value* tile = op->operand(0);
  const AxisList& axes = tile->type()->axes;
  auto point = op->Segment(ir::ElementOp::at_point);
  Values place;
  for (size_t i = 0; i < axes.size(); ++i) {
    auto along = along_.find(point[i]);
    if (along != along_.end() && along->second.axis == axes[i]) {
      place.push_back(along->second.places[group]);
      continue;
    }
    Value* index = OfGroup(AtAllPoints(point[i]), group)[0];
    Value* known = maker_.places.Find(index, axes[i]);
    place.push_back(known ? known : b_.Sub(index, tiles_.FactsAt(op, axes[i]).start));
  }
  return tiles_.LoadSide(tile, tiles_.BufferOf(tile), place, count_);
}

void SidePoints::Store(const Values& values, const Value* tile, Value* buffer,
                       const Values& place) {
  if (LiesInRows(tile)) {
    ir::Type type = b_.types().Vector(values[0]->type()->scalar, count_);
    return tiles_.Store(b_.Create(OpKind::Zip, {values}, {type})->result(), tile, buffer, place);
  }
  size_t last = static_cast<size_t>(std::ranges::find(tile->type()->axes, last_) -
                                    tile->type()->axes.begin());
  for (size_t point = 0; point < values.size(); ++point) {
    Values at = place;
    if (last < at.size()) at[last] = Plus(at[last], point);
    Select(point);
    tiles_.Store(values[point], tile, buffer, at);
  }
}

}  // namespace kdl::simt
