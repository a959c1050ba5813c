#include "proofs/launch_limits.h"

#include "proofs/names.h"

namespace kdl::proofs {

constexpr int64_t kLeastLimit = int64_t{1} << 43;  ///< all sizes are below it

bool IsLimit(const Op* require) {
  Size right = require->attr<AttrKey::Right>();
  return require->attr<AttrKey::Compare>() == ir::CompareKind::Le && IsConstant(right) &&
         right->value >= kLeastLimit;
}

}  // namespace kdl::proofs
