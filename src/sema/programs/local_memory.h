#pragma once

#include <map>
#include <set>

#include "sema/model/entity.h"

namespace kdl::sema {

/// Tracks which of the tensors that a program allocates have been written at a point of the
/// program.
class LocalMemory {
 public:
  /// Adds a new tensor, which is unwritten.
  void Declare(const Entity* tensor);
  void Write(const Entity* tensor);
  /// Exchanges the memory of two tensors and what is known about it.
  void Swap(const Entity* a, const Entity* b, Span span);
  /// Merges the state of another path to this point.
  void Join(const LocalMemory& other);
  /// Whether the tensor is written on every path to this point.
  bool IsWritten(const Entity* tensor) const { return written_.contains(tensor); }
  /// Returns the swap that gave the tensor unwritten memory on some path to this point, or null.
  const Span* UnwrittenBy(const Entity* tensor) const;

  bool operator==(const LocalMemory&) const = default;

 private:
  std::set<const Entity*> written_;             ///< on every path
  std::map<const Entity*, Span> unwritten_by_;  ///< by a swap, on some path
};

}  // namespace kdl::sema
