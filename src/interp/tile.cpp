#include "interp/tile.h"

#include <algorithm>
#include <utility>

namespace kdl::interp {

std::shared_ptr<Tile> MakeTile(std::vector<AxisRange> ranges) {
  size_t count = 1;
  for (const AxisRange& range : ranges) count *= static_cast<size_t>(range.size);
  auto tile = std::make_shared<Tile>();
  tile->ranges = std::move(ranges);
  tile->elements.resize(count);
  return tile;
}

std::vector<int64_t> StridesOf(const std::vector<AxisRange>& ranges) {
  std::vector<int64_t> strides(ranges.size(), 1);
  for (size_t i = ranges.size(); i-- > 1;) strides[i - 1] = strides[i] * ranges[i].size;
  return strides;
}

PointWalk::PointWalk(std::vector<int64_t> sizes, const std::vector<std::vector<int64_t>>& strides)
    : sizes_(std::move(sizes)), positions_(sizes_.size(), 0), offsets_(strides.size(), 0) {
  for (size_t axis = 0; axis < sizes_.size(); ++axis) {
    for (const std::vector<int64_t>& stream : strides)
      strides_.push_back(static_cast<uint64_t>(stream[axis]));
  }
  empty_ = std::find(sizes_.begin(), sizes_.end(), 0) != sizes_.end();
  done_ = empty_;
}

void PointWalk::Next() {
  for (size_t axis = sizes_.size(); axis-- > 0;) {
    const uint64_t* strides = strides_.data() + axis * offsets_.size();
    for (size_t s = 0; s < offsets_.size(); ++s) offsets_[s] += strides[s];
    if (++positions_[axis] < sizes_[axis]) return;
    for (size_t s = 0; s < offsets_.size(); ++s)
      offsets_[s] -= strides[s] * static_cast<uint64_t>(sizes_[axis]);
    positions_[axis] = 0;
  }
  done_ = true;
}

bool PointWalk::is_first_from(size_t axis) const {
  return std::all_of(positions_.begin() + static_cast<ptrdiff_t>(axis), positions_.end(),
                     [](int64_t position) { return position == 0; });
}

bool PointWalk::is_last_from(size_t axis) const {
  for (; axis < sizes_.size(); ++axis) {
    if (positions_[axis] + 1 != sizes_[axis]) return false;
  }
  return true;
}

void PointWalk::Restart() {
  std::fill(positions_.begin(), positions_.end(), 0);
  std::fill(offsets_.begin(), offsets_.end(), 0);
  done_ = empty_;
}

}  // namespace kdl::interp
