#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace kdl {

/// A dense index with its own type: Id<AxisTag> cannot be used where Id<ValueTag> is expected.
template <class Tag>
struct Id {
  static constexpr uint32_t kNone = ~uint32_t{0};
  uint32_t value = kNone;

  constexpr Id() = default;
  constexpr explicit Id(uint32_t v) : value(v) {}
  constexpr bool valid() const { return value != kNone; }
  constexpr auto operator<=>(const Id&) const = default;
};

}  // namespace kdl

template <class Tag>
struct std::hash<kdl::Id<Tag>> {
  size_t operator()(kdl::Id<Tag> id) const noexcept { return std::hash<uint32_t>{}(id.value); }
};
