#pragma once

#include <cstdint>

#include "sema/model/access.h"

namespace kdl::sema {

/// A set of elements of a tensor, one bit for each. If a tensor has more elements than bits, or an unknown
/// number of elements, the set contains all of them or none.
using Elements = uint64_t;
inline constexpr Elements kAllElements = ~Elements{0};

/// Returns the set of all elements of the tensor.
Elements AllElements(const Entity& tensor);

/// Returns the set that contains the element that an assignment writes, or an empty set if the element
/// is unknown.
Elements ElementAt(const IndexInfo& index);

}  // namespace kdl::sema
