#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "interp/core_facts.h"
#include "ir/op.h"

namespace kdl::interp {

/// The elements that loads have read only to replace others that are outside of their tensor, as x[N - 1] in
/// `x[i - 1 else x[N - 1]]`. They count as read when they replace one.
class FallbackReads {
 public:
  /// An element of a tensor; null if there is none.
  struct Element {
    const TensorValue* tensor = nullptr;
    const std::byte* address = nullptr;
  };

  /// Returns whether a load has only uses of this kind.
  static bool IsFallback(const ir::Op* load);

  /// Starts an execution of a load.
  void Begin(const ir::Op* load) { elements_[load].clear(); }
  /// Adds the next element of its result.
  void Add(const ir::Op* load, const Element& element) { elements_[load].push_back(element); }
  /// Returns the element that is element `n` of a value.
  Element At(const ir::Value* value, size_t n) const;

 private:
  std::unordered_map<const ir::Op*, std::vector<Element>> elements_;
};

}  // namespace kdl::interp
