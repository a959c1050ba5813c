#pragma once

#include <map>
#include <set>

#include "sema/model/entity.h"

namespace kdl::sema {

/// Which of the tensors that a program allocates something has written, at a place of it.
class LocalMemory {
 public:
  /// A new tensor: nothing has written it.
  void Declare(const Entity* tensor);
  void Write(const Entity* tensor);
  /// Each tensor has the other one's memory, with what is known of it.
  void Swap(const Entity* a, const Entity* b, Span span);
  /// Another way leads to this place, too.
  void Join(const LocalMemory& other);
  /// On every way to this place.
  bool IsWritten(const Entity* tensor) const { return written_.contains(tensor); }
  /// The swap that gave a tensor memory that nothing has written, on some way to this place; null: none.
  const Span* UnwrittenBy(const Entity* tensor) const;

  bool operator==(const LocalMemory&) const = default;

 private:
  std::set<const Entity*> written_;             ///< on every way
  std::map<const Entity*, Span> unwritten_by_;  ///< with a swap, on some way
};

}  // namespace kdl::sema
