#pragma once

#include <cstdint>
#include <unordered_set>

#include "sema/model/entity.h"

namespace kdl::sema {

/// The declarations whose names something uses. A declaration is identified by its place, because each instance of a
/// generic function has entities of its own.
class NameUses {
 public:
  void Add(const Entity& entity) { Add(entity.span); }
  /// Adds the declaration whose name is at this place.
  void Add(const Span& declared) { used_.insert(PlaceOf(declared)); }
  bool Contains(const Entity& entity) const { return used_.contains(PlaceOf(entity.span)); }

 private:
  static uint64_t PlaceOf(const Span& span) { return uint64_t{span.file.value} << 32 | span.begin; }

  std::unordered_set<uint64_t> used_;
};

}  // namespace kdl::sema
