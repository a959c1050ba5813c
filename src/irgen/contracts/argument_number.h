#pragma once

#include <cstdint>
#include <functional>

#include "sema/model/entity.h"

namespace kdl::irgen {

/// Which argument of the contract a parameter or local name is.
using ArgumentNumber = std::function<uint32_t(const sema::Entity*)>;

}  // namespace kdl::irgen
