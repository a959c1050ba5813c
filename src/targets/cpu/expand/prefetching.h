#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/attr.h"
#include "ir/op.h"

namespace kdl::cpu {

struct Expander;

/// What a elementwise loop touches ahead of time: a processor looks ahead along one page, and not behind much arithmetic.
class Prefetching {
 public:
  /// What is computed for it comes before the elementwise loop.
  Prefetching(Expander& e, const ir::Op* elementwise, bool transposes);

  /// The element that is `distance` further along one point of the elementwise loop is asked for.
  struct Request {
    const ir::Value* point;
    ir::Value* distance = nullptr;  ///< null: `elements`
    int64_t elements = 0;
    ir::IntentKind intent = ir::IntentKind::Read;
    bool is_streaming = false;  ///< only while stores go past the caches
    bool in_pairs = false;      ///< a hint for two lines: the processor brings the other one, too
  };
  /// What is asked for where the elementwise loop comes to a load or store; nothing where another access asks for its line.
  std::vector<Request> Of(const ir::Op* access) const;

 private:
  void LookAhead(const Expander& e, const ir::Op* access, int64_t bytes);
  bool FoldsIterations(const ir::Op* access) const;
  const ir::Value* PointOf(const ir::Op* access) const;
  bool IsInCache(const ir::Op* load) const;
  void Study(Expander& e, const ir::Op* load);
  void BringOnce(Expander& e, const ir::Op* load);

  const ir::Op* elementwise_;
  bool transposes_;
  const ir::Value* point_ = nullptr;
  int64_t distance_ = 0;
  int64_t back_ = 0;                            ///< as far what was worked on just now is after
  std::unordered_set<const ir::Op*> written_;   ///< loads of elements that are stored to
  std::unordered_set<const ir::Op*> repeated_;  ///< of elements that a load before them asks for
  std::unordered_map<const ir::Op*, std::vector<Request>>
      cached_;  ///< loads of what was there before
  std::unordered_map<const ir::Op*, ir::Value*>
      once_;  ///< loads of what a fold alone reads: the distance
};

}  // namespace kdl::cpu
