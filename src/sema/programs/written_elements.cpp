#include "sema/programs/written_elements.h"

#include <optional>

namespace kdl::sema {

namespace {

constexpr int64_t kMostElements = 64;

/// Returns the number of elements, or nothing if the number is unknown or larger than kMostElements.
std::optional<int64_t> KnownElementCount(const Entity& tensor) {
  int64_t count = 1;
  for (Size dim : tensor.type.dims) {
    if (!IsConstant(dim) || dim->value < 0 || dim->value > kMostElements) return std::nullopt;
    count *= dim->value;
    if (count > kMostElements) return std::nullopt;
  }
  return count;
}

}  // namespace

Elements AllElements(const Entity& tensor) {
  int64_t count = KnownElementCount(tensor).value_or(kMostElements);
  return count == kMostElements ? kAllElements : (Elements{1} << count) - 1;
}

Elements ElementAt(const IndexInfo& index) {
  if (!KnownElementCount(*index.base)) return 0;
  int64_t position = 0;
  for (size_t d = 0; d < index.dims.size(); ++d) {
    int64_t extent = index.base->type.dims[d]->value;
    const IndexDim& dim = index.dims[d];
    bool is_constant = dim.terms.empty() && IsConstant(dim.offset);
    if (!is_constant && extent != 1) return 0;
    int64_t at = extent == 1 ? 0 : dim.offset->value;  // any index other than 0 traps
    if (at < 0 || at >= extent) return 0;
    position = position * extent + at;
  }
  return Elements{1} << position;
}

}  // namespace kdl::sema
