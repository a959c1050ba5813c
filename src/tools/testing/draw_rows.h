#pragma once

#include <cstdint>
#include <vector>

#include "driver/run/draw.h"
#include "driver/run/host_tensor.h"
#include "tools/testing/input_rules.h"

namespace kdl::tools {

/// How large the integers are that are drawn where nothing else bounds them.
enum class Spread : uint8_t {
  All,      ///< any of their type
  Bounded,  ///< those of `random`, but where the rule bounds them on both sides all that it leaves
  Small,    ///< those of `random`
  Few,      ///< a few next to 0, or next to the bound that is nearest to it
  Single,   ///< 0, or that bound
};

/// Draws the elements of one argument as its rule says, a row of the last dimension at a time.
class RowDrawer {
 public:
  RowDrawer(driver::HostTensor& tensor, const InputRule& rule) : tensor_(tensor), rule_(rule) {}

  int64_t rows() const;
  /// False where no numbers fulfil the rule.
  bool DrawRow(int64_t row, uint64_t seed, Spread spread);
  /// Draws one element anew, or its row where that is in order or of different numbers.
  void Redraw(int64_t element, uint64_t seed, Spread spread);

 private:
  int64_t length() const { return tensor_.shape.empty() ? 1 : tensor_.shape.back(); }
  /// Integers that ascend and differ; floats that ascend differ by chance.
  bool IsStrict() const { return rule_.ascending && rule_.distinct && IsInteger(tensor_.scalar); }
  bool Less(const Number& a, const Number& b) const;
  void Narrow(const Bounds& by, Bounds& bounds) const;
  bool IsEmpty(const Bounds& bounds) const;

  /// The bounds of an element; `outer`: its index without the last part.
  Bounds BoundsAt(const std::vector<int64_t>& outer, int64_t last) const;
  /// The bounds of the elements of a row, which in a row that ascends hold for those before or after, too.
  std::vector<Bounds> BoundsOf(int64_t row) const;
  void Order(std::vector<Bounds>& bounds) const;

  driver::IntegerRange RangeOf(const Bounds& bounds, Spread spread) const;
  uint64_t DrawElement(const Bounds& bounds, uint64_t seed, int64_t element, Spread spread) const;
  /// Draws a row of which each element depends on the others.
  bool DrawTogether(int64_t row, uint64_t seed, Spread spread);
  bool MakeDistinct(int64_t row, const std::vector<Bounds>& bounds, Spread spread);
  void Sort(int64_t row);
  /// Adds its number in the row to each element.
  void AddNumbers(int64_t row);

  int64_t Ordered(int64_t row, int64_t i) const;
  void Put(int64_t row, int64_t i, uint64_t bits);

  driver::HostTensor& tensor_;
  const InputRule& rule_;
};

}  // namespace kdl::tools
