#pragma once

#include <cstdint>
#include <functional>

#include "sema/model/entity.h"

namespace kdl::irgen {

/// Maps a parameter or a local name to the number of the contract's argument that represents it.
using ArgumentNumber = std::function<uint32_t(const sema::Entity*)>;

}  // namespace kdl::irgen
