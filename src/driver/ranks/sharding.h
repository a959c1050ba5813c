#pragma once

#include <cstdint>
#include <vector>

namespace kdl::driver {

/// The indices first .. end - 1 of a dimension.
struct Indices {
  int64_t first = 0;
  int64_t end = 0;

  bool empty() const { return first >= end; }
  bool operator==(const Indices&) const = default;
};
Indices Intersection(const Indices& a, const Indices& b);

/// Distributes the indices 0 .. size - 1 over ranks. Each rank owns adjacent indices, and all parts but the last ones have
/// ceil(size / ranks) of them. If there are more ranks than indices, the last ranks own none.
class Sharding {
 public:
  /// The size must be at least 0, and there must be at least one rank.
  Sharding(int64_t size, int64_t ranks);

  Indices Owned(int64_t rank) const;
  /// Returns the ranks that own any of the indices, which must be in 0 .. size - 1. The ranks are found by division, so that
  /// the time does not depend on the number of ranks.
  Indices Owners(const Indices& of) const;

 private:
  int64_t size_;
  int64_t part_;  ///< the number of indices in a part; at least 1
};

/// A set of indices, which consists of disjoint parts.
class PartSet {
 public:
  void Add(const Indices& part);
  void Clear() { parts_.clear(); }
  /// Returns the indices of `part` that are not in the set, in ascending order.
  std::vector<Indices> MissingFrom(const Indices& part) const;
  const std::vector<Indices>& parts() const { return parts_; }

 private:
  std::vector<Indices>
      parts_;  ///< in ascending order; no part is empty or begins where another one ends
};

}  // namespace kdl::driver
