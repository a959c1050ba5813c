// Sets of elements of tensors that are distributed over ranks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace kdl::ranks {

// The indices first .. end - 1 of a dimension.
struct Indices {
  std::int64_t first = 0;
  std::int64_t end = 0;

  bool empty() const { return first >= end; }
  bool operator==(const Indices&) const = default;
};
Indices Intersection(const Indices& a, const Indices& b);

// A box of elements of a tensor: the indices of each dimension.
using Box = std::vector<Indices>;
bool IsEmpty(const Box& box);
// Both boxes must have the same number of dimensions.
Box Intersection(const Box& a, const Box& b);
std::int64_t CountElements(const Box& box);
// Returns the box of all elements of a tensor.
Box WholeBox(const std::vector<std::int64_t>& sizes);
// Returns the elements of `box` that are not in `other`, as disjoint boxes.
std::vector<Box> Difference(const Box& box, const Box& other);

// A set of elements, which consists of boxes. All of them have the same number of dimensions.
class BoxSet {
 public:
  void Add(const Box& box);
  void Clear() { boxes_.clear(); }
  // Returns the elements of `box` that are not in the set, as disjoint boxes.
  std::vector<Box> MissingFrom(const Box& box) const;
  const std::vector<Box>& boxes() const { return boxes_; }

 private:
  std::vector<Box> boxes_;  // not empty, and none contains another one
};

inline bool Contains(const Indices& outer, const Indices& inner) {
  return outer.first <= inner.first && inner.end <= outer.end;
}

inline bool Contains(const Box& outer, const Box& inner) {
  return std::ranges::equal(outer, inner,
                            [](const Indices& a, const Indices& b) { return Contains(a, b); });
}

// Returns the union of two boxes if it is a box: they differ only in one dimension, in which they overlap or are adjacent.
inline std::optional<Box> Joined(const Box& a, const Box& b) {
  Box joined = a;
  bool differs = false;
  for (std::size_t d = 0; d < a.size(); ++d) {
    if (a[d] == b[d]) continue;
    if (differs || b[d].first > a[d].end || a[d].first > b[d].end) return std::nullopt;
    differs = true;
    joined[d] = {std::min(a[d].first, b[d].first), std::max(a[d].end, b[d].end)};
  }
  return joined;
}

inline Indices Intersection(const Indices& a, const Indices& b) {
  return {std::max(a.first, b.first), std::min(a.end, b.end)};
}

inline bool IsEmpty(const Box& box) { return std::ranges::any_of(box, &Indices::empty); }

inline Box Intersection(const Box& a, const Box& b) {
  Box common(a.size());
  for (std::size_t d = 0; d < a.size(); ++d) common[d] = Intersection(a[d], b[d]);
  return common;
}

inline std::int64_t CountElements(const Box& box) {
  if (IsEmpty(box)) return 0;
  std::int64_t count = 1;
  for (const Indices& part : box) count *= part.end - part.first;
  return count;
}

inline Box WholeBox(const std::vector<std::int64_t>& sizes) {
  Box box;
  for (std::int64_t size : sizes) box.push_back({0, size});
  return box;
}

inline std::vector<Box> Difference(const Box& box, const Box& other) {
  if (IsEmpty(box)) return {};
  Box common = Intersection(box, other);
  if (IsEmpty(common)) return {box};
  std::vector<Box> parts;
  Box rest = box;
  for (std::size_t d = 0; d < box.size(); ++d) {
    for (const Indices& side :
         {Indices{box[d].first, common[d].first}, Indices{common[d].end, box[d].end}}) {
      if (side.empty()) continue;
      rest[d] = side;
      parts.push_back(rest);
    }
    rest[d] = common[d];
  }
  return parts;
}

inline void BoxSet::Add(const Box& box) {
  if (IsEmpty(box)) return;
  Box added = box;
  for (std::size_t i = 0; i < boxes_.size();) {
    if (Contains(boxes_[i], added)) return;
    std::optional<Box> joined =
        Contains(added, boxes_[i]) ? std::optional(added) : Joined(added, boxes_[i]);
    if (!joined) {
      ++i;
      continue;
    }
    added = *std::move(joined);
    boxes_.erase(boxes_.begin() + static_cast<std::ptrdiff_t>(i));
    i = 0;  // the larger box may be joined with earlier ones
  }
  boxes_.push_back(std::move(added));
}

inline std::vector<Box> BoxSet::MissingFrom(const Box& box) const {
  std::vector<Box> missing;
  if (!IsEmpty(box)) missing.push_back(box);
  for (const Box& known : boxes_) {
    std::vector<Box> left;
    for (const Box& part : missing) {
      std::vector<Box> parts = Difference(part, known);
      std::ranges::move(parts, std::back_inserter(left));
    }
    missing = std::move(left);
  }
  return missing;
}

}  // namespace kdl::ranks
