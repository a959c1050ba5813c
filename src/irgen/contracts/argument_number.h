#pragma once

#include <cstdint>
#include <functional>

#include "sema/model/entity.h"

namespace kdl::irgen {

/// Returns the number of the contract's argument that a parameter or local name refers to.
using ArgumentNumber = std::function<uint32_t(const sema::Entity*)>;

}  // namespace kdl::irgen
