#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "interp/core_facts.h"

namespace kdl::interp {

/// Remembers what the elements of tensors would be if all launches so far had computed in f64.
class OracleMemory {
 public:
  /// Returns the elements of a tensor in f64, row-major. An element that no launch has written, or that something else has
  /// changed since then, is its own value.
  std::vector<double> ElementsOf(const TensorValue& tensor) const;
  /// Remembers the elements that a launch has written.
  void Remember(const TensorValue& tensor, const std::vector<double>& elements);

 private:
  struct Element {
    uint64_t bits = 0;  ///< the element that the launch has stored
    double exact = 0;
  };
  std::unordered_map<const std::byte*, Element> elements_;
};

}  // namespace kdl::interp
