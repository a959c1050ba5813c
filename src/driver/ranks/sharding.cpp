#include "driver/ranks/sharding.h"

#include <algorithm>

namespace kdl::driver {

Indices Intersection(const Indices& a, const Indices& b) {
  return {std::max(a.first, b.first), std::min(a.end, b.end)};
}

Sharding::Sharding(int64_t size, int64_t ranks)
    : size_(size), part_(std::max<int64_t>(size / ranks + (size % ranks != 0 ? 1 : 0), 1)) {}

Indices Sharding::Owned(int64_t rank) const {
  // The rank is compared first, because its product with the size of a part may overflow.
  if (rank > size_ / part_) return {size_, size_};
  int64_t first = std::min(rank * part_, size_);
  return {first, first + std::min(part_, size_ - first)};
}

Indices Sharding::Owners(const Indices& of) const {
  if (of.empty()) return {};
  return {of.first / part_, (of.end - 1) / part_ + 1};
}

void PartSet::Add(const Indices& part) {
  if (part.empty()) return;
  Indices joined = part;
  std::vector<Indices> parts;
  for (const Indices& known : parts_) {
    if (known.end < joined.first || known.first > joined.end) {
      parts.push_back(known);
    } else {
      joined = {std::min(known.first, joined.first), std::max(known.end, joined.end)};
    }
  }
  auto after =
      std::ranges::find_if(parts, [&](const Indices& one) { return one.first > joined.end; });
  parts.insert(after, joined);
  parts_ = std::move(parts);
}

std::vector<Indices> PartSet::MissingFrom(const Indices& part) const {
  std::vector<Indices> missing;
  int64_t at = part.first;
  for (const Indices& known : parts_) {
    Indices before{at, std::min(known.first, part.end)};
    if (!before.empty()) missing.push_back(before);
    at = std::max(at, known.end);
  }
  if (at < part.end) missing.push_back({at, part.end});
  return missing;
}

}  // namespace kdl::driver
