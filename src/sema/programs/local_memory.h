#pragma once

#include <map>
#include <set>

#include "sema/model/entity.h"

namespace kdl::sema {

/// Tracks which of a program's own tensors have been written at a point of the program.
class LocalMemory {
 public:
  /// Adds a new tensor, which is unwritten.
  void Declare(const Entity* tensor);
  void Write(const Entity* tensor);
  /// Treats a tensor as one that a statement has given unwritten memory.
  void Forget(const Entity* tensor, Span span);
  /// Exchanges the memory of two tensors, together with what is known about the memory.
  void Swap(const Entity* a, const Entity* b, Span span);
  /// Merges the state at the end of another path that reaches this point.
  void Join(const LocalMemory& other);
  /// Returns whether the tensor is written on every path to this point.
  bool IsWritten(const Entity* tensor) const { return written_.contains(tensor); }
  /// Returns the swap or other statement that gave the tensor unwritten memory on some path to this point, or null.
  const Span* UnwrittenBy(const Entity* tensor) const;

  bool operator==(const LocalMemory&) const = default;

 private:
  std::set<const Entity*> written_;  ///< tensors that every path has written
  /// Tensors that have unwritten memory after a swap or another statement on some path.
  std::map<const Entity*, Span> unwritten_by_;
};

}  // namespace kdl::sema
