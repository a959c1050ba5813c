#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/attr.h"
#include "ir/op.h"

namespace kdl::passes {

struct Expander;

/// What a nest touches ahead of time: a processor looks ahead along one page, and not behind much arithmetic.
class Prefetching {
 public:
  Prefetching(const Expander& e, const ir::Op* nest, bool transposes);

  /// The point of the nest that is ahead, and by how many elements; null: nothing is prefetched.
  const ir::Value* point() const { return point_; }
  int64_t distance() const { return distance_; }
  /// How the line of a load or store is asked for; none: another access asks for it.
  std::optional<ir::IntentKind> IntentOf(const ir::Op* access) const;

 private:
  void LookAhead(const Expander& e, const ir::Op* nest, int64_t bytes, bool transposes);

  const ir::Value* point_ = nullptr;
  int64_t distance_ = 0;
  std::vector<const ir::Op*> written_;  ///< loads of elements that are stored to
  std::vector<const ir::Op*> loaded_;   ///< stores of elements that are loaded
};

}  // namespace kdl::passes
