#include "driver/ranks/sharding.h"

#include <algorithm>

namespace kdl::driver {

Sharding::Sharding(int64_t size, int64_t parts, Shares shares)
    : size_(size),
      parts_(parts),
      shares_(shares),
      length_(std::max<int64_t>(size / parts + (size % parts != 0 ? 1 : 0), 1)) {}

Indices Sharding::Owned(int64_t part) const {
  if (shares_ == Shares::Balanced) return {BeginOfBalanced(part), BeginOfBalanced(part + 1)};
  // The number is compared first, because its product with the length may overflow.
  if (part > size_ / length_) return {size_, size_};
  int64_t first = std::min(part * length_, size_);
  return {first, first + std::min(length_, size_ - first)};
}

Indices Sharding::Owners(const Indices& of) const {
  if (of.empty()) return {};
  return {PartOf(of.first), PartOf(of.end - 1) + 1};
}

/// Returns floor(part * size / parts).
int64_t Sharding::BeginOfBalanced(int64_t part) const {
  return static_cast<int64_t>(static_cast<__int128>(part) * size_ / parts_);
}

int64_t Sharding::PartOf(int64_t index) const {
  if (shares_ == Shares::Equal) return index / length_;
  return static_cast<int64_t>((static_cast<__int128>(index + 1) * parts_ - 1) / size_);
}

}  // namespace kdl::driver
