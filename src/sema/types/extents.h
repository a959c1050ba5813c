#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Returns whether a block size, a step or the extent of a tile may have this value.
bool IsBlockSize(int64_t value);

/// Checks a block size or another extent of a tile. It must be a compile-time constant greater than 0;
/// otherwise, reports an error and returns null.
Size CheckBlockSize(FunctionState& state, const syntax::Expr* expr, std::string_view what);

/// Checks an extent such as `lo..hi by e`. Returns nothing after reporting an error. `name` is the name of
/// the loop variable; it is empty for a dimension of a domain.
std::optional<WalkFacts> CheckExtent(FunctionState& state, const syntax::Extent& extent,
                                     std::string_view name);

/// Returns the range that the extent splits, such as `k` in `kk in k by 16`, or null if it splits none.
const Entity* SplitRange(FunctionState& state, const syntax::Extent& extent);

/// Returns the bounds and the step of the extent, as far as the source states them.
std::vector<const syntax::Expr*> ExtentBounds(const syntax::Extent& extent);

}  // namespace kdl::sema
