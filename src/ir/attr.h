#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "ir/type.h"
#include "support/names.h"

namespace kdl::ir {

enum class BoundsMode : uint8_t { Guard, Clip, Proven, Else };
enum class OrderKind : uint8_t { Open, Sequential, Lanes64 };
enum class ReductionKind : uint8_t { Sum, Prod, Max, Min, Any, All };
enum class DistributionKind : uint8_t { Static, Dynamic, Grouped };
enum class UpdateKind : uint8_t { Set, Add, Max, Min, And, Or, Xor, Mul };
inline constexpr size_t kUpdateKinds = static_cast<size_t>(UpdateKind::Mul) + 1;
enum class ScopeKind : uint8_t { Core, Launch, Group };
enum class CompareKind : uint8_t { Eq, Ne, Lt, Le, Gt, Ge };
/// How a prefetched element will be used. ReadLater: it will be read so late that the nearest cache should
/// keep data that is used sooner instead.
enum class IntentKind : uint8_t { Read, Write, ReadLater };
enum class CacheKind : uint8_t { Past };
enum class DirectionKind : uint8_t { Up, Down };
enum class KeepKind : uint8_t { After, Before };

using AxisList = std::vector<AxisId>;

/// A product: coefficient * (value of the op's index operand number `operand`). If the operand is a block,
/// its value is the absolute index along its axis. If it is an integer tile, the access is a gather, whose
/// result also has the axes of that tile.
struct AccessTerm {
  Size coefficient;
  uint32_t operand;
  bool operator==(const AccessTerm&) const = default;
};

/// The index into one dimension: the sum of the terms plus the offset.
struct AccessDim {
  std::vector<AccessTerm> terms;
  Size offset;
  bool operator==(const AccessDim&) const = default;
};

/// The index into each dimension of a tensor, outermost first.
struct Access {
  std::vector<AccessDim> dims;
  bool operator==(const Access&) const = default;
};

enum class AttrKey : uint8_t {
#define KDL_ATTR(key, spelling, type, role) key,
#include "ir/attrs.def"
};

/// The bits of each element of a table, zero-extended.
using ElementBits = std::vector<uint64_t>;

using NumberList = std::vector<int64_t>;

using AttrValue =
    std::variant<int64_t, kdl::Name, AxisList, Access, kdl::Size, ElementBits, NumberList>;

struct Attr {
  AttrKey key;
  AttrValue value;
  bool operator==(const Attr&) const = default;
};

/// Maps a key to the C++ type of the attribute's value.
template <AttrKey key>
struct AttrTraits;

namespace attr_types {
using Name = kdl::Name;
using Symbol = kdl::Name;
using BitPattern = int64_t;
using Flag = int64_t;
using Size = kdl::Size;
#define KDL_ATTR(key, spelling, type, role) using Of##key = type;
#include "ir/attrs.def"
}  // namespace attr_types

#define KDL_ATTR(key, spelling, type, role) \
  template <>                               \
  struct AttrTraits<AttrKey::key> {         \
    using Type = attr_types::Of##key;       \
  };
#include "ir/attrs.def"

std::string_view Spelling(AttrKey key);
std::optional<AttrKey> AttrFromSpelling(std::string_view spelling);

/// Whether the compiler trusts an attribute; attrs.def explains the roles.
enum class AttrRole : uint8_t { Meaning, Hint, Assumption };
AttrRole RoleOf(AttrKey key);

/// How an attribute's value is stored and printed.
enum class AttrForm : uint8_t {
  Integer,
  Flag,  ///< an integer; if the attribute is written without a value, it is 1
  BitPattern,
  Enumerator,
  Text,
  Symbol,
  Axes,
  Access,
  Size,
  Elements,
  Numbers,
};
AttrForm FormOf(AttrKey key);

/// Returns whether an attribute has an enumerated type. The next two functions convert between its
/// enumerators and their spellings.
bool IsEnumerated(AttrKey key);
std::string_view EnumeratorSpelling(AttrKey key, int64_t enumerator);
std::optional<int64_t> EnumeratorFromSpelling(AttrKey key, std::string_view spelling);

template <AttrKey key>
Attr MakeAttr(typename AttrTraits<key>::Type value) {
  using T = typename AttrTraits<key>::Type;
  if constexpr (std::is_enum_v<T>) {
    return {key, static_cast<int64_t>(value)};
  } else {
    return {key, std::move(value)};
  }
}

}  // namespace kdl::ir
