#include "proofs/launch_limits.h"

#include "proofs/names.h"

namespace kdl::proofs {

constexpr int64_t kVast = int64_t{1} << 43;  ///< larger than any size

bool IsVast(const Op* require) {
  Size right = require->attr<AttrKey::Right>();
  return require->attr<AttrKey::Compare>() == ir::CompareKind::Le && IsConstant(right) &&
         right->value >= kVast;
}

}  // namespace kdl::proofs
