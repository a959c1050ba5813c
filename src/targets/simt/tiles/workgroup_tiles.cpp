#include "targets/simt/tiles/workgroup_tiles.h"

#include <algorithm>
#include <utility>

#include "ir/op_kind.h"
#include "support/check.h"
#include "targets/simt/analysis/tensor_tile_factors.h"

namespace kdl::simt {

namespace {

// The maximum number of groups along a row that get separate code in each thread. For more groups, this code would
// make compile times grow faster than the row, but would not make kernels faster.
constexpr int64_t kMostSeparateGroups = 32;

// A block of so many elements along a row is long, and short if it has at most one of `kShortPart` parts of them.
constexpr int64_t kLongBlock = 1024;
constexpr int64_t kShortPart = 8;

/// Returns the number of loads that a thread has in flight at once; `each` is the total number of its loads.
/// Each load needs a register, and all iterations must have the same number of loads.
int64_t TakenTogether(int64_t each) {
  constexpr int64_t kMost = 8;
  int64_t count = std::min(each, kMost);
  while (each % count != 0) --count;
  return count;
}

}  // namespace

using ir::AxisDigits;
using ir::AxisId;
using ir::AxisList;
using ir::Op;
using ir::OpKind;
using ir::Value;
using passes::MakeIf;
using passes::MakeWorkgroupLoop;

const BlockFacts& WorkgroupTiles::FactsAt(const Op* at, AxisId axis) const {
  const Value* block = ir::FindBlock(at, axis);
  KDL_CHECK(block && blocks_.contains(block), "no block of axis '{}' in scope",
            kernel_.axis(axis).name.text());
  return blocks_.at(block);
}

ir::Type WorkgroupTiles::BufferType(const Value* tile) {
  std::vector<int64_t> extents;
  bool held = tile_buffers_.IsInRegisters(tile);
  if (held) {
    for (const auto& [axis, digits] : tile_buffers_.RegisterLayout(tile))
      extents.push_back(digits.held());
  } else {
    if (tile_buffers_.LiesInPanels(tile)) extents.push_back(1);
    for (AxisId axis : tile_buffers_.MemoryOrder(tile)) extents.push_back(Extent(axis));
    extents.back() += tile_buffers_.PaddingPerRow(tile);
  }
  return b_.types().Buffer(tile->type()->scalar, std::move(extents),
                           held ? ir::Space::Scratch : ir::Space::Workgroup);
}

int64_t WorkgroupTiles::WorkgroupBytes(const Value* tile) {
  if (tile_buffers_.IsInRegisters(tile)) return 0;
  int64_t bytes = Bytes(tile->type()->scalar);
  for (Size extent : BufferType(tile)->dims) bytes *= extent->value;
  return bytes;
}

Value* WorkgroupTiles::NewBuffer(const Value* tile, Name name) {
  Value* buffer = b_.Create(OpKind::BufferNew, {}, {BufferType(tile)})->result();
  if (!tile_buffers_.IsInRegisters(tile) && tile_buffers_.LiesInPanels(tile))
    buffer->def()->SetAttr(ir::MakeAttr<ir::AttrKey::Swizzle>(kPanelBytes));
  buffer->set_name(name);
  return buffer;
}

passes::Values WorkgroupTiles::BufferIndex(const Value* tile, const Values& place) {
  const AxisList& axes = tile->type()->axes;
  Values index;
  if (tile_buffers_.IsInRegisters(tile)) {
    for (AxisId axis : axes) index.push_back(b_.I64(held_.at(axis)));
    return index;
  }
  if (tile_buffers_.LiesInPanels(tile)) index.push_back(b_.I64(0));
  for (AxisId axis : tile_buffers_.MemoryOrder(tile))
    index.push_back(place[static_cast<size_t>(std::ranges::find(axes, axis) - axes.begin())]);
  return index;
}

Value* WorkgroupTiles::Load(const Value* tile, Value* buffer, const Values& place) {
  ir::Type type = b_.types().ScalarOf(buffer->type()->scalar);
  return b_.Create(OpKind::BufferLoad, {{buffer}, BufferIndex(tile, place), {}}, {type})->result();
}

Value* WorkgroupTiles::LoadVector(const Value* tile, Value* buffer, const Values& place,
                                  int64_t count) {
  ir::Type type = b_.types().Vector(buffer->type()->scalar, count);
  return b_.Create(OpKind::BufferLoad, {{buffer}, BufferIndex(tile, place), {}}, {type})->result();
}

passes::Values WorkgroupTiles::LoadSide(const Value* tile, Value* buffer, const Values& place,
                                        int64_t count) {
  kdl::Scalar scalar = buffer->type()->scalar;
  Values parts = {LoadVector(tile, buffer, place, count)};
  for (int64_t lanes = count / 2; lanes > 0; lanes /= 2) {
    Values halves;
    for (Value* part : parts) {
      for (int64_t half : {0, 1})
        halves.push_back(b_.Make(OpKind::Half, {part}, b_.types().Vector(scalar, lanes),
                                 {ir::MakeAttr<ir::AttrKey::Part>(half)}));
    }
    parts = std::move(halves);
  }
  return parts;
}

void WorkgroupTiles::Store(Value* value, const Value* tile, Value* buffer, const Values& place) {
  b_.Create(OpKind::BufferStore, {{value}, {buffer}, BufferIndex(tile, place), {}}, {});
}

void WorkgroupTiles::Clear(const Op* at, const Value* tile, Value* buffer) {
  auto body = [&](const Values& place) {
    Store(b_.Bits(tile->type()->scalar, 0), tile, buffer, place);
  };
  DistributeByMap(at, tile->type()->axes, tile_buffers_.RegisterLayout(tile), /*harmless=*/true,
                  body);
}

void WorkgroupTiles::Copy(const Op* at, const Value* tile, Value* from, Value* to) {
  if (from == to) return;
  auto body = [&](const Values& place) { Store(Load(tile, from, place), tile, to, place); };
  Walk(at, tile, /*harmless=*/true, body);
}

void WorkgroupTiles::Walk(const Op* at, const Value* tile, bool harmless, const Body& body) {
  const AxisList& axes = tile->type()->axes;
  tile_buffers_.IsInRegisters(tile)
      ? DistributeByMap(at, axes, tile_buffers_.RegisterLayout(tile), harmless, body)
      : Distribute(at, axes, body);
}

Value* WorkgroupTiles::CountPoints(const Op* at, const AxisList& axes) {
  Value* points = b_.I64(1);
  for (size_t i = 0; i < axes.size(); ++i) {
    Value* many = i == 0 ? FactsAt(at, axes[i]).size : b_.I64(Extent(axes[i]));
    points = i == 0 ? many : b_.Mul(points, many);
  }
  return points;
}

passes::Values WorkgroupTiles::PointPlace(Value* number, const AxisList& axes, int64_t side) {
  Values place(axes.size());
  Value* rest = number;
  for (size_t i = axes.size(); i-- > 0;) {
    bool is_last = i + 1 == axes.size();
    place[i] = rest;
    if (i > 0) {
      Value* extent = b_.I64(Extent(axes[i]) / (is_last ? side : 1));
      place[i] = b_.Rem(rest, extent);
      rest = b_.Div(rest, extent);
    }
    if (is_last && side > 1) place[i] = b_.Mul(place[i], b_.I64(side));
  }
  return place;
}

void WorkgroupTiles::AtPoint(const Op* at, const AxisList& axes, Value* number, const Body& body,
                             int64_t side, bool guards_first) {
  Values place = PointPlace(number, axes, side);
  Value* exists = nullptr;
  for (size_t i = axes.size(); i-- > (guards_first ? 0 : 1);) {
    Value* fits = b_.Lt(place[i], FactsAt(at, axes[i]).size);
    exists = exists ? b_.And(exists, fits) : fits;
  }
  exists ? MakeIf(b_, exists, [&] { body(place); }) : body(place);
}

void WorkgroupTiles::Distribute(const Op* at, const AxisList& axes, const Body& body) {
  Value* points = CountPoints(at, axes);
  Value* zero = b_.I64(0);
  MakeWorkgroupLoop(b_, {zero, points}, [&](Value* number) { AtPoint(at, axes, number, body); });
}

Value* WorkgroupTiles::AreShort(const Op* at, const AxisList& axes) {
  if (axes.size() != 2 || Extent(axes[1]) < kLongBlock) return nullptr;
  return b_.Le(FactsAt(at, axes[1]).size, b_.I64(Extent(axes[1]) / kShortPart));
}

void WorkgroupTiles::DistributeSingly(const Op* at, const AxisList& axes, int64_t threads,
                                      const Body& body) {
  Value* are_short = AreShort(at, axes);
  int64_t inner = Extent(axes.back()) / kShortPart;
  if (!are_short || (threads % inner != 0 && inner % threads != 0))
    return Distribute(at, axes, body);
  MakeIf(
      b_, are_short, [&] { DistributeRows(at, axes, {threads, inner, 1}, body); },
      [&] { Distribute(at, axes, body); });
}

void WorkgroupTiles::DistributeSide(const Op* at, const AxisList& axes, int64_t threads,
                                    int64_t count, const Body& body) {
  int64_t inner = 1;  // the number of groups that cover all axes but the first
  for (size_t i = 1; i < axes.size(); ++i) inner *= Extent(axes[i]);
  inner /= count;
  auto in_rows = [&](int64_t groups) { DistributeRows(at, axes, {threads, groups, count}, body); };
  if (axes.size() > 1 && inner > 0 && (threads % inner == 0 || inner % threads == 0)) {
    Value* are_short = AreShort(at, axes);
    if (!are_short) return in_rows(inner);
    return MakeIf(b_, are_short, [&] { in_rows(inner / kShortPart); }, [&] { in_rows(inner); });
  }
  Value* side = b_.I64(count);
  Value* parts = b_.Div(CountPoints(at, axes), side);
  Value* zero = b_.I64(0);
  MakeWorkgroupLoop(b_, {zero, parts},
                    [&](Value* number) { AtPoint(at, axes, number, body, count); });
}

/// Distributes groups of points by rows. A thread has the same groups in each of its rows, so it computes
/// their offsets only once.
void WorkgroupTiles::DistributeRows(const Op* at, const AxisList& axes, const Rows& rows,
                                    const Body& body) {
  // The number of rows that are distributed at once.
  int64_t together = std::max<int64_t>(rows.threads / rows.inner, 1);
  int64_t busy = std::min(together, Extent(axes[0])) * std::min(rows.inner, rows.threads);
  AxisList inner_axes(axes.begin() + 1, axes.end());
  Value* zero = b_.I64(0);
  Value* all = b_.I64(busy);
  MakeWorkgroupLoop(b_, {zero, all}, [&](Value* thread) {
    Value* columns = b_.I64(rows.inner);
    Value* first = together > 1 ? b_.Div(thread, columns) : zero;
    auto at_group = [&](Value* number) {
      auto walk = [&](const Values& inner) {
        auto at_row = [&](Value* row) {
          Values place = {row};
          place.insert(place.end(), inner.begin(), inner.end());
          body(place);
        };
        Value* end = FactsAt(at, axes[0]).size;
        if (Extent(axes[0]) > together) return passes::MakeLoop(b_, {first, end, together}, at_row);
        MakeIf(b_, b_.Lt(first, end), [&] { at_row(first); });
      };
      AtPoint(at, inner_axes, number, walk, rows.count, /*guards_first=*/true);
    };
    int64_t groups = std::max<int64_t>(rows.inner / rows.threads, 1);
    if (groups > kMostSeparateGroups)
      return passes::MakeLoop(b_, {thread, columns, rows.threads}, at_group);
    for (int64_t group = 0; group < groups; ++group) {
      Value* number = together > 1 ? b_.Rem(thread, columns) : thread;
      if (group > 0) number = b_.Add(number, b_.I64(group * rows.threads));
      at_group(number);
    }
  });
}

void WorkgroupTiles::DistributeGroups(
    const AxisList& axes, int64_t threads, int64_t count, int64_t at_once,
    const std::function<void(const std::vector<Values>&)>& together) {
  KDL_CHECK(PointsPerThread(axes, threads) % (count * at_once) == 0,
            "threads have different numbers of groups");
  int64_t groups = PointsPerThread(axes, threads) / count * threads;
  Value* zero = b_.I64(0);
  Value* all = b_.I64(threads);
  MakeWorkgroupLoop(b_, {zero, all}, [&](Value* thread) {
    auto some = [&](Value* first) {
      std::vector<Values> places;
      for (int64_t group = 0; group < at_once; ++group) {
        Value* number = group == 0 ? first : b_.Add(first, b_.I64(group * threads));
        places.push_back(PointPlace(number, axes, count));
      }
      together(places);
    };
    if (groups == at_once * threads) return some(thread);
    passes::MakeLoop(b_, {thread, b_.I64(groups), at_once * threads}, some);
  });
}

Value* WorkgroupTiles::AreWhole(const Op* at, const AxisList& axes) {
  Value* whole = nullptr;
  for (AxisId axis : axes) {
    Value* extent = b_.I64(Extent(axis));
    Value* is_whole = b_.Eq(FactsAt(at, axis).size, extent);
    whole = whole ? b_.And(whole, is_whole) : is_whole;
  }
  return whole;
}

int64_t WorkgroupTiles::PointsPerThread(const AxisList& axes, int64_t threads) const {
  int64_t points = 1;
  for (AxisId axis : axes) points *= Extent(axis);
  return points % threads == 0 ? points / threads : 0;
}

void WorkgroupTiles::DistributeTogether(
    const Op* at, const AxisList& axes, int64_t threads,
    const std::function<void(const std::vector<Values>&)>& together, const Body& body) {
  Value* points = CountPoints(at, axes);
  Value* whole = AreWhole(at, axes);
  Value* zero = b_.I64(0);
  Value* all = b_.I64(threads);
  MakeWorkgroupLoop(b_, {zero, all}, [&](Value* thread) {
    auto at_once = [&]() -> Values {
      int64_t each = PointsPerThread(axes, threads);
      int64_t count = TakenTogether(each);
      auto some = [&](Value* first) {
        std::vector<Values> places;
        for (int64_t iteration = 0; iteration < count; ++iteration) {
          Value* before = b_.I64(iteration * threads);
          places.push_back(PointPlace(b_.Add(first, before), axes));
        }
        together(places);
      };
      if (count == each) {
        some(thread);
        return {};
      }
      Value* all = b_.I64(each * threads);
      passes::MakeLoop(b_, {thread, all, count * threads}, {}, [&](Value* first, const Values&) {
        some(first);
        return Values();
      });
      return {};
    };
    auto one_by_one = [&]() -> Values {
      passes::MakeLoop(b_, {thread, points, threads}, {}, [&](Value* number, const Values&) {
        AtPoint(at, axes, number, body);
        return Values();
      });
      return {};
    };
    MakeIf(b_, whole, {}, at_once, one_by_one);
  });
}

Value* WorkgroupTiles::FirstPlace(Value* thread, const AxisDigits& digits, int64_t threads) {
  if (digits.threads == 1) return b_.I64(0);
  Value* number = thread;
  if (digits.apart > 1) number = b_.Div(number, b_.I64(digits.apart));
  if (digits.apart * digits.threads < threads) number = b_.Rem(number, b_.I64(digits.threads));
  if (digits.together() < digits.threads) {
    Value* span = b_.I64(digits.together());
    Value* step = b_.I64(digits.repeats * digits.together());
    Value* before = b_.Mul(b_.Div(number, span), step);
    number = b_.Add(before, b_.Rem(number, span));
  }
  return b_.Mul(number, b_.I64(digits.side));
}

Value* WorkgroupTiles::HeldPlace(Value* first, const AxisDigits& digits, int64_t held) {
  int64_t offset = digits.Offset(held);
  return offset == 0 ? first : b_.Add(first, b_.I64(offset));
}

void WorkgroupTiles::DistributeByMap(const Op* at, const AxisList& axes, const AxisMap& map,
                                     bool harmless, const Body& body) {
  int64_t threads = 1;
  for (const auto& [axis, digits] : map) threads *= digits.threads;
  Value* zero = b_.I64(0);
  Value* all = b_.I64(threads);
  MakeWorkgroupLoop(b_, {zero, all}, [&](Value* thread) {
    Values firsts;
    for (AxisId axis : axes) firsts.push_back(FirstPlace(thread, map.at(axis), threads));
    std::function<void(const Values&, bool)> walk = [&](const Values& place, bool unchecked) {
      if (place.size() == axes.size()) return body(place);
      AxisId axis = axes[place.size()];
      const AxisDigits& digits = map.at(axis);
      for (int64_t held = 0; held < digits.held(); ++held) {
        Value* here = HeldPlace(firsts[place.size()], digits, held);
        auto next = [&, held] {
          SetHeld(axis, held);
          Values deeper = place;
          deeper.push_back(here);
          walk(deeper, unchecked);
        };
        if (unchecked) {
          next();
          continue;
        }
        Value* exists = b_.Lt(here, FactsAt(at, axis).size);
        MakeIf(b_, exists, next);
      }
    };
    if (harmless) return walk({}, true);
    MakeIf(b_, AreCovered(at, axes, map), [&] { walk({}, true); }, [&] { walk({}, false); });
  });
}

Value* WorkgroupTiles::AreCovered(const Op* at, const AxisList& axes, const AxisMap& map) {
  Value* whole = b_.Bool(true);
  for (AxisId axis : axes) {
    Value* covered = b_.I64(map.at(axis).covered());
    whole = b_.And(whole, b_.Eq(FactsAt(at, axis).size, covered));
  }
  return whole;
}

void WorkgroupTiles::DistributeSidesByMap(
    const AxisList& axes, const AxisMap& map, int64_t count,
    const std::function<void(const Values& place, int64_t held)>& body) {
  int64_t threads = 1;
  for (const auto& [axis, digits] : map) threads *= digits.threads;
  Value* zero = b_.I64(0);
  Value* all = b_.I64(threads);
  MakeWorkgroupLoop(b_, {zero, all}, [&](Value* thread) {
    Values firsts;
    for (AxisId axis : axes) firsts.push_back(FirstPlace(thread, map.at(axis), threads));
    std::function<void(const Values&)> walk = [&](const Values& place) {
      AxisId axis = axes[place.size()];
      const AxisDigits& digits = map.at(axis);
      bool is_last = place.size() + 1 == axes.size();
      for (int64_t held = 0; held < digits.held(); held += is_last ? count : 1) {
        SetHeld(axis, held);
        Values deeper = place;
        deeper.push_back(HeldPlace(firsts[place.size()], digits, held));
        is_last ? body(deeper, held) : walk(deeper);
      }
    };
    walk({});
  });
}

}  // namespace kdl::simt
