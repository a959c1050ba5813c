#pragma once

#include <cstddef>
#include <map>
#include <tuple>
#include <vector>

#include "ir/module.h"
#include "proofs/names.h"

namespace kdl::proofs {

/// Finds values that are equal wherever both are computed: pure ops with equal operands, and loads from `in`
/// tensors, which nothing writes.
class ValueNumbers {
 public:
  /// Returns the first value that was found to be equal to the given one.
  const ir::Value* FirstEqual(const ir::Value* value);

 private:
  using Key = std::tuple<ir::OpKind, ir::Type, uint32_t, std::vector<const ir::Value*>>;
  std::map<const ir::Value*, const ir::Value*> known_;
  /// Values whose keys are equal; their ops may still differ in attributes.
  std::map<Key, std::vector<const ir::Value*>> alike_;
};

/// Returns whether two values are equal if the pairs of values in `equal` are: they are the same pure ops and loads of `in`
/// tensors, with equal operands.
bool AreEqualIf(const ir::Value* a, const ir::Value* b,
                const std::map<const ir::Value*, const ir::Value*>& equal);

/// Returns whether a launch only reads the tensor: it is an `in` parameter, a view of one, or a table.
bool IsInput(const ir::Value* tensor);

}  // namespace kdl::proofs
