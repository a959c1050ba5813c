#pragma once

#include <cstdint>
#include <unordered_set>

#include "sema/model/entity.h"

namespace kdl::sema {

/// The declarations whose names something uses. A declaration is identified by its place, because each instance of a
/// generic function has entities of its own.
class NameUses {
 public:
  void Add(const Entity& entity) { used_.insert(PlaceOf(entity)); }
  bool Contains(const Entity& entity) const { return used_.contains(PlaceOf(entity)); }

 private:
  static uint64_t PlaceOf(const Entity& entity) {
    return uint64_t{entity.span.file.value} << 32 | entity.span.begin;
  }

  std::unordered_set<uint64_t> used_;
};

}  // namespace kdl::sema
