// Packs of dimensions: a parameter x[A.., C] accepts tensors with any number of dimensions in the place of `A..`. The
// kernel sees one dimension, whose size is their product.
#pragma once

#include <span>

#include "core/error.h"
#include "kdl/kernel_abi.h"

namespace kdl::runtime {

// Whether any tensor parameter of the variant has a pack.
bool HasPacks(const kdl_variant& variant);

// Merges the dimensions of views that belong to packs. There is one view for each parameter, which is null for a scalar,
// for an absent tensor, and for an argument that is not a tensor. Views whose number of dimensions cannot be right stay as
// they are. Fails if the views have different dimensions for a pack, or if there are gaps between dimensions of a pack.
Error MergePacks(const kdl_variant& variant, std::span<kdl_tensor* const> views);

}  // namespace kdl::runtime
