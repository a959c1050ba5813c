#pragma once

#include <span>
#include <unordered_set>
#include <vector>

#include "ir/module.h"

namespace kdl::proofs {

/// Returns whether the loop ends when its first carried value, which is a bool, becomes false.
bool EndsByValue(const ir::Op* loop);

/// The values of a function from which an index, a mask, a bound or a condition follows. Proofs see no other values, such as
/// data that is loaded, converted, summed and stored.
class DecidingValues {
 public:
  explicit DecidingValues(const ir::Function& function);

  bool Contain(const ir::Value* value) const { return values_.contains(value); }
  bool ContainAny(const std::vector<ir::Value*>& values) const;

 private:
  void AddAll(std::span<ir::Value* const> values);
  void Add(const ir::Value* value);
  /// Adds the operands of an op that decide something whatever its results are used for.
  void AddRoots(const ir::Op* op);
  /// Adds what the value follows from.
  void AddSources(const ir::Value* value);
  void AddSourcesOfParam(const ir::Value* param);
  /// Adds what becomes carried value `number` of a loop, or result `number` of an `if`.
  void AddCarried(const ir::Op* op, size_t number);
  /// Adds the values that are stored to the tensor's memory, because one of them may be loaded from it.
  void AddStored(const ir::Value* tensor);

  std::unordered_set<const ir::Value*> values_;
  std::vector<const ir::Value*> open_;           ///< values whose sources are still to be added
  std::unordered_set<const ir::Value*> stored_;  ///< memory whose stored values were added
};

}  // namespace kdl::proofs
