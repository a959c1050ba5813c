#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "sema/walk/state.h"

namespace kdl::sema {

/// A block's size, or another extent of tiles: known when code is made, and above 0. Null, reported,
/// where it is not.
Size CheckBlockSize(FunctionState& state, const syntax::Expr* expr, std::string_view what);

/// What `lo..hi by e` and its like walk; nothing, reported, where it is faulty. `name` is the
/// binder's, empty for a dimension of a domain.
std::optional<WalkFacts> CheckExtent(FunctionState& state, const syntax::Extent& extent,
                                     std::string_view name);

/// The range that `kk in k by 16` splits, or null.
const Entity* SplitRange(FunctionState& state, const syntax::Extent& extent);

/// The bounds that are evaluated.
std::vector<const syntax::Expr*> BoundsOf(const syntax::Extent& extent);

}  // namespace kdl::sema
