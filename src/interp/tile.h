#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace kdl::interp {

/// The elements that exist along one axis, by absolute index: start to start + size - 1.
struct AxisRange {
  int64_t start = 0;
  int64_t size = 0;
  bool operator==(const AxisRange&) const = default;
};

/// A tile value: the bits of the elements that exist, row-major over the axes in ascending order.
struct Tile {
  std::vector<AxisRange> ranges;
  std::vector<uint64_t> elements;
};
using TileRef = std::shared_ptr<const Tile>;

/// Returns a tile with these ranges, in which all elements are 0.
std::shared_ptr<Tile> MakeTile(std::vector<AxisRange> ranges);

/// Returns the stride along each axis of a tile that has these ranges.
std::vector<int64_t> StridesOf(const std::vector<AxisRange>& ranges);

/// Iterates over the points of an n-dimensional box, with the last axis fastest. For each of several streams,
/// it computes an offset: the sum of position times stride over all axes. Offsets wrap on overflow.
class PointWalk {
 public:
  /// The strides are indexed as `strides[stream][axis]`.
  PointWalk(std::vector<int64_t> sizes, const std::vector<std::vector<int64_t>>& strides);

  bool done() const { return done_; }
  int64_t position(size_t axis) const { return positions_[axis]; }
  int64_t offset(size_t stream) const { return static_cast<int64_t>(offsets_[stream]); }
  void Next();
  /// Return whether the current point is the first, or the last, of those points that have the same positions
  /// along all axes before `axis`.
  bool is_first_from(size_t axis) const;
  bool is_last_from(size_t axis) const;
  /// Returns to the first point.
  void Restart();

 private:
  std::vector<int64_t> sizes_;
  std::vector<int64_t> positions_;
  std::vector<uint64_t> strides_;  ///< the strides of all streams, axis by axis
  std::vector<uint64_t> offsets_;
  bool empty_ = false;
  bool done_ = false;
};

}  // namespace kdl::interp
