#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Checks a block size or another tile extent, which must be a compile-time constant greater than
/// 0. Returns null if it is not, which is reported.
Size CheckBlockSize(FunctionState& state, const syntax::Expr* expr, std::string_view what);

/// Checks an extent such as `lo..hi by e`. Returns nothing if it has an error, which is reported.
/// `name` is that of the loop variable; it is empty for a dimension of a domain.
std::optional<WalkFacts> CheckExtent(FunctionState& state, const syntax::Extent& extent,
                                     std::string_view name);

/// Returns the range that is split, as `k` is by `kk in k by 16`, or null.
const Entity* SplitRange(FunctionState& state, const syntax::Extent& extent);

/// Returns the bounds that are evaluated.
std::vector<const syntax::Expr*> ExtentBounds(const syntax::Extent& extent);

}  // namespace kdl::sema
