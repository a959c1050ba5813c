// Packs of dimensions: a parameter x[A.., C] accepts tensors with any number of dimensions in the place of `A..`. The
// kernel sees one dimension, whose size is their product. A kernel with strided parameters has another variant, for
// tensors with gaps, in which a pack is several dimensions (the compiler's pass expand-packs).
#pragma once

#include <cstdint>
#include <span>

#include "core/error.h"
#include "core/pack_ranks.h"
#include "kdl/kernel_abi.h"

namespace kdl::runtime {

// Whether the variant is for strided tensors. Calls name the variant for tensors without gaps.
inline bool IsForStrides(const kdl_variant& variant) {
  return (variant.flags & KDL_VARIANT_STRIDES) != 0;
}

// Whether the view may have to be merged to fit the parameter of a variant with KDL_VARIANT_SHAPES: it has another number
// of dimensions, neighbours in its last dimension are apart, or it may have to be repeated.
inline bool MayNeedMerge(const kdl_param_desc& param, const kdl_tensor& view) {
  if (view.rank != param.rank || (param.flags & KDL_PARAM_BROADCAST) != 0) return true;
  const std::int32_t last = view.rank - 1;
  return last >= 0 && last < KDL_MAX_RANK && view.size[last] > 1 && view.stride[last] != 1;
}

// What happens to strided tensors with gaps.
enum class Gaps {
  kExpand,  // they get the dimensions of the variant for strided tensors
  kIgnore,  // they are merged like those without gaps, because the launch is only checked
};

// Merges the dimensions of views that belong to packs. There is one view for each parameter, which is null for a scalar,
// for an absent tensor, and for an argument that is not a tensor. Views whose number of dimensions cannot be right stay as
// they are. The views then fit `variant`, or `strided` if views of strided parameters have gaps; it may be null. Fails if
// the views have different dimensions for a pack, or gaps that no variant accepts. `ranks` are those that the caller states.
Error MergePacks(const kdl_variant& variant, const kdl_variant* strided, Gaps gaps,
                 std::span<const PackRank> ranks, std::span<kdl_tensor* const> views);

}  // namespace kdl::runtime
