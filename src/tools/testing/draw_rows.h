#pragma once

#include <cstdint>
#include <vector>

#include "driver/run/draw.h"
#include "driver/run/host_tensor.h"
#include "tools/testing/input_rules.h"

namespace kdl::tools {

/// The magnitude of random integers that no requirement bounds.
enum class Spread : uint8_t {
  All,      ///< any integer of the type
  Bounded,  ///< integers as for `random`, or any within the rule's bounds if it has two
  Small,    ///< integers as `random` generates them
  Few,      ///< a few integers next to 0, or next to the bound nearest to 0
  Single,   ///< only 0, or only the bound nearest to 0
};

/// Generates the elements of one argument according to its rule. A row consists of the elements
/// along the last dimension.
class RowDrawer {
 public:
  RowDrawer(driver::HostTensor& tensor, const InputRule& rule) : tensor_(tensor), rule_(rule) {}

  int64_t rows() const;
  /// Generates a row. Returns false if no numbers satisfy the rule.
  bool DrawRow(int64_t row, uint64_t seed, Spread spread);
  /// Generates one element again. If its row must be ordered or distinct, generates the whole row
  /// again.
  void Redraw(int64_t element, uint64_t seed, Spread spread);

 private:
  int64_t length() const { return tensor_.shape.empty() ? 1 : tensor_.shape.back(); }
  /// Whether the elements must be strictly ascending integers. Floats need no adjustment, since
  /// random ascending floats are practically always distinct.
  bool IsStrict() const { return rule_.ascending && rule_.distinct && IsInteger(tensor_.scalar); }
  bool Less(const Number& a, const Number& b) const;
  void Narrow(const Bounds& by, Bounds& bounds) const;
  bool IsEmpty(const Bounds& bounds) const;

  /// Returns the bounds of an element. `outer` is its index without the last component, and `last`
  /// is the last component.
  Bounds BoundsAt(const std::vector<int64_t>& outer, int64_t last) const;
  /// Returns the bounds of the elements of a row. In an ascending row, the bounds of an element
  /// also limit the elements before or after it.
  std::vector<Bounds> RowBounds(int64_t row) const;
  void Order(std::vector<Bounds>& bounds) const;

  driver::IntegerRange IntegersWithin(const Bounds& bounds, Spread spread) const;
  uint64_t DrawElement(const Bounds& bounds, uint64_t seed, int64_t element, Spread spread) const;
  /// Generates a row whose elements depend on one another.
  bool DrawTogether(int64_t row, uint64_t seed, Spread spread);
  bool MakeDistinct(int64_t row, const std::vector<Bounds>& bounds, Spread spread);
  void Sort(int64_t row);
  /// Adds to each element its position in the row, counted from 0.
  void AddNumbers(int64_t row);

  int64_t Ordered(int64_t row, int64_t i) const;
  void Put(int64_t row, int64_t i, uint64_t bits);

  driver::HostTensor& tensor_;
  const InputRule& rule_;
};

}  // namespace kdl::tools
