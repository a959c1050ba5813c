#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/attr.h"
#include "ir/op.h"

namespace kdl::cpu {

struct Expander;

/// What an elementwise loop prefetches. A processor's own prefetcher stays in one page and does not run ahead
/// through much arithmetic.
class Prefetching {
 public:
  /// Emits the code that it needs before the elementwise loop.
  Prefetching(Expander& e, const ir::Op* elementwise, bool transposes);

  /// A prefetch of the element that is `distance` further along one point of the elementwise loop.
  struct Request {
    const ir::Value* point;
    ir::Value* distance = nullptr;  ///< null: the distance is `elements`
    int64_t elements = 0;
    ir::IntentKind intent = ir::IntentKind::Read;
    bool is_streaming = false;  ///< only while stores bypass the caches
    /// One hint for two lines, because the processor fetches the other one, too.
    bool in_pairs = false;
  };
  /// Returns what to prefetch at a load or store. Empty: another access prefetches its line.
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
  int64_t back_ = 0;                           ///< distance back to what was processed before
  std::unordered_set<const ir::Op*> written_;  ///< loads of elements that are also stored to
  /// Accesses of elements that an earlier load prefetches.
  std::unordered_set<const ir::Op*> repeated_;
  /// Loads of data that was loaded before.
  std::unordered_map<const ir::Op*, std::vector<Request>> cached_;
  /// Loads of data that only a reduction reads, with the distance.
  std::unordered_map<const ir::Op*, ir::Value*> once_;
};

}  // namespace kdl::cpu
