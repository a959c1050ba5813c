#include "ir/lane_map.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/op_kind.h"

namespace kdl::ir {

namespace {

// The attribute `map` has this many numbers for each axis, or one more if any of the axes has a span.
constexpr size_t kNumbers = 4;

bool HasSpans(const NumberList& numbers, size_t axes) {
  return axes > 0 && numbers.size() == (kNumbers + 1) * axes;
}

}  // namespace

AxisList MappedAxes(const Op& op) {
  if (op.kind() == OpKind::Reduce) return op.operand(0)->type()->axes;
  if (op.kind() != OpKind::Elementwise) return op.result()->type()->axes;
  AxisList axes;
  for (const Value* block : op.operands()) axes.push_back(block->type()->axes[0]);
  return axes;
}

LaneMap MapOf(const Op& op) {
  LaneMap map;
  if (!op.HasAttr(AttrKey::Map)) return map;
  NumberList numbers = op.attr<AttrKey::Map>();
  // The map of an mma describes two axes: rows and columns.
  size_t axes = op.kind() == OpKind::Mma ? 2 : MappedAxes(op).size();
  bool spans = HasSpans(numbers, axes);
  size_t each = spans ? kNumbers + 1 : kNumbers;
  for (size_t i = 0; i + each <= numbers.size(); i += each)
    map.push_back(
        {numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3], spans ? numbers[i + 4] : 0});
  return map;
}

Attr MapAttr(const LaneMap& map) {
  NumberList numbers;
  bool spans = std::ranges::any_of(map, [](const AxisDigits& axis) { return axis.span != 0; });
  for (const AxisDigits& axis : map) {
    numbers.insert(numbers.end(), {axis.repeats, axis.threads, axis.apart, axis.side});
    if (spans) numbers.push_back(axis.together());
  }
  return MakeAttr<AttrKey::Map>(std::move(numbers));
}

int64_t ThreadsOf(const LaneMap& map) {
  int64_t threads = 1;
  for (const AxisDigits& axis : map) threads *= axis.threads;
  return threads;
}

std::string MapFault(const Op& op) {
  if (!op.HasAttr(AttrKey::Map)) return "";
  constexpr int64_t kMost = 1 << 16;  // the maximum value of each number
  NumberList numbers = op.attr<AttrKey::Map>();
  AxisList axes = MappedAxes(op);
  if (numbers.size() != kNumbers * axes.size() && !HasSpans(numbers, axes.size()))
    return fmt::format("a thread layout of {} numbers for {} axes", numbers.size(), axes.size());
  if (std::ranges::any_of(numbers, [](int64_t number) { return number < 1 || number > kMost; }))
    return "a number of the thread layout is out of range";
  LaneMap map = MapOf(op);
  if (std::ranges::any_of(
          map, [](const AxisDigits& axis) { return axis.threads % axis.together() != 0; }))
    return "the threads of the layout do not form whole spans";
  for (size_t i = 0; i < axes.size(); ++i) {
    const Axis& axis = op.parent_region()->function()->axis(axes[i]);
    if (axis.extent->kind != SizeKind::Constant || axis.extent->value > map[i].covered())
      return fmt::format("the thread layout leaves out elements of axis '{}'", axis.name.text());
  }
  // Each axis must use a separate digit of the thread number. Sorted by `apart`, the digit of each axis must
  // start where that of the previous axis ends.
  std::ranges::sort(map, {}, &AxisDigits::apart);
  int64_t apart = 1;
  for (const AxisDigits& axis : map) {
    if (axis.threads > 1 && axis.apart != apart)
      return "two threads of the layout share an element";
    if (axis.threads > 1) apart *= axis.threads;
  }
  return "";
}

}  // namespace kdl::ir
