#pragma once

#include <map>
#include <optional>
#include <utility>

#include "proofs/sets.h"

namespace kdl::proofs {

/// Sets that are computed once. If a set is unknown because its query had too few steps left, this counts only until the next
/// query, which may have enough.
template <class Key>
class KeptSets {
 public:
  explicit KeptSets(const SetContext& context) : context_(context) {}

  /// Returns null if the set has not been kept.
  const PointSet* Find(const Key& key) const {
    auto kept = sets_.find(key);
    if (kept == sets_.end()) return nullptr;
    const auto& [set, query] = kept->second;
    return query && *query != context_.query() ? nullptr : &set;
  }
  PointSet Keep(const Key& key, PointSet set) {
    bool is_final = set.known() || !context_.IsExhausted();
    auto query = is_final ? std::optional<uint64_t>() : context_.query();
    sets_.insert_or_assign(key, std::pair(set, query));
    return set;
  }

 private:
  const SetContext& context_;
  std::map<Key, std::pair<PointSet, std::optional<uint64_t>>> sets_;
};

}  // namespace kdl::proofs
