#include "driver/ranks/sharding.h"

#include <algorithm>

namespace kdl::driver {

Sharding::Sharding(int64_t size, int64_t parts)
    : size_(size), length_(std::max<int64_t>(size / parts + (size % parts != 0 ? 1 : 0), 1)) {}

Indices Sharding::Owned(int64_t part) const {
  // The number is compared first, because its product with the length may overflow.
  if (part > size_ / length_) return {size_, size_};
  int64_t first = std::min(part * length_, size_);
  return {first, first + std::min(length_, size_ - first)};
}

Indices Sharding::Owners(const Indices& of) const {
  if (of.empty()) return {};
  return {of.first / length_, (of.end - 1) / length_ + 1};
}

}  // namespace kdl::driver
