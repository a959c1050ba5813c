#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/attr.h"
#include "ir/op.h"

namespace kdl::cpu {

struct Expander;

/// Determines what an elementwise loop prefetches. Hardware prefetchers stay within one page, and do not run
/// far ahead of a loop with much arithmetic.
class Prefetching {
 public:
  /// Emits the code that the prefetches need before the elementwise loop.
  Prefetching(Expander& e, const ir::Op* elementwise, bool transposes);

  /// A request to prefetch the element that is `distance` further along one index of the elementwise loop.
  struct Request {
    const ir::Value* point;
    ir::Value* distance = nullptr;  ///< null if the distance is the constant `elements`
    int64_t elements = 0;
    ir::IntentKind intent = ir::IntentKind::Read;
    bool is_streaming = false;  ///< whether to prefetch only while stores bypass the caches
    /// Whether one prefetch serves two adjacent cache lines, because the processor also fetches the other
    /// line of a pair.
    bool in_pairs = false;
  };
  /// Returns what to prefetch at a load or store. Returns an empty list if a different access prefetches its
  /// cache line.
  std::vector<Request> RequestsFor(const ir::Op* access) const;

 private:
  void LookAhead(const Expander& e, const ir::Op* access, int64_t bytes);
  bool FoldsIterations(const ir::Op* access) const;
  const ir::Value* PrefetchPoint(const ir::Op* access) const;
  bool IsInCache(const ir::Op* load) const;
  void Study(Expander& e, const ir::Op* load);
  void BringOnce(Expander& e, const ir::Op* load);

  const ir::Op* elementwise_;
  bool transposes_;
  const ir::Value* point_ = nullptr;
  int64_t distance_ = 0;
  int64_t back_ = 0;                           ///< the distance back to elements already processed
  std::unordered_set<const ir::Op*> written_;  ///< loads of elements that are also stored to
  /// Accesses that need no prefetch, because a different load prefetches their elements. That is a load of
  /// the same element or, in a stencil, a load that reads the element in an earlier iteration.
  std::unordered_set<const ir::Op*> repeated_;
  /// Loads of data that has been loaded before, with their requests.
  std::unordered_map<const ir::Op*, std::vector<Request>> cached_;
  /// Loads of data that only a reduction reads, with the distance to prefetch ahead.
  std::unordered_map<const ir::Op*, ir::Value*> once_;
};

}  // namespace kdl::cpu
