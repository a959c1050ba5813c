#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace kdl::interp {

/// The existing elements along one axis, by absolute index: [start, start + size).
struct AxisRange {
  int64_t start = 0;
  int64_t size = 0;
  bool operator==(const AxisRange&) const = default;
};

/// A tile value: the bits of the existing elements, row-major over the axes in ascending order.
struct Tile {
  std::vector<AxisRange> ranges;
  std::vector<uint64_t> elements;
};
using TileRef = std::shared_ptr<const Tile>;

/// Returns a tile over the ranges whose elements are 0.
std::shared_ptr<Tile> MakeTile(std::vector<AxisRange> ranges);

/// Returns the stride along each axis of a tile over the ranges.
std::vector<int64_t> StridesOf(const std::vector<AxisRange>& ranges);

/// Iterates over the points of an n-dimensional box, last axis fastest, and computes an offset for each of
/// several streams: the sum of position times stride. Offsets wrap.
class PointWalk {
 public:
  /// `strides[stream][axis]`
  PointWalk(std::vector<int64_t> sizes, const std::vector<std::vector<int64_t>>& strides);

  bool done() const { return done_; }
  int64_t position(size_t axis) const { return positions_[axis]; }
  int64_t offset(size_t stream) const { return static_cast<int64_t>(offsets_[stream]); }
  void Next();
  /// Whether the current point is the first, or the last, of those with the same positions before `axis`.
  bool is_first_from(size_t axis) const;
  bool is_last_from(size_t axis) const;
  /// Returns to the first point.
  void Restart();

 private:
  std::vector<int64_t> sizes_;
  std::vector<int64_t> positions_;
  std::vector<uint64_t> strides_;  ///< of all streams, axis by axis
  std::vector<uint64_t> offsets_;
  bool empty_ = false;
  bool done_ = false;
};

}  // namespace kdl::interp
