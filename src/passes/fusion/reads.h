#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "passes/names.h"

namespace kdl::passes {

inline bool IsIndexBlock(const Value* value) { return value->type()->kind == ir::TypeKind::Block; }

/// The values that an index into one dimension has: a sum of blocks and scalars, each multiplied by a constant,
/// plus a number from `low` to `high`. Blocks with constant bounds, such as those of `range r in 5;`, are part of
/// that number.
struct IndexSpan {
  std::vector<std::pair<Value*, int64_t>> terms;
  Size offset = nullptr;  ///< a size that is added; null if there is none
  int64_t low = 0;
  int64_t high = 0;
  bool is_clamped = false;  ///< whether the sum is limited to the ends of the dimension
  /// The block of which the index is an element; null if it is another sum.
  Value* block = nullptr;
};

/// A load of a tensor that another kernel writes.
struct TensorRead {
  Op* load = nullptr;
  std::vector<IndexSpan> dims;
};

/// Analyses a load in `kernel`. Returns nothing, and says why, if an index is not a sum of ranges.
std::optional<TensorRead> ReadOf(const ir::Function& kernel, Op* load, std::string& reason);

/// Returns whether two indices have the same values except for the constants that are added.
bool IsShifted(const IndexSpan& a, const IndexSpan& b);

/// Returns whether a binder of a `spmd for` runs over a whole dimension of this size.
bool IsWhole(const ir::Function& kernel, const Op* spmd, size_t binder, Size size);

/// Returns an index of the load as a scalar, or as a tile of i64.
Value* IndexValue(ir::Builder& b, Op* load, size_t dim);

/// The first index and the end of a window, and how long it can be at most.
struct WindowEnds {
  Value* start = nullptr;
  Value* size = nullptr;
  Size extent = nullptr;
};

/// Computes the window that contains all indices of `span` that are below `limit`, which is the value of `size`.
WindowEnds EndsOf(ir::Builder& b, const ir::Function& kernel, IndexSpan span, Size size,
                  Value* limit);

}  // namespace kdl::passes
