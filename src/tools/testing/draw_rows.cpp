#include "tools/testing/draw_rows.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>

#include "support/float_bits.h"

namespace kdl::tools {

namespace {

using driver::HostTensor;
using driver::IntegerRange;

uint64_t DrawFloat(Scalar scalar, const Bounds& bounds, uint64_t seed, uint64_t n) {
  uint64_t drawn = driver::DrawElement(scalar, seed, n);
  bool low = bounds.low && std::isfinite(bounds.low->real);
  bool high = bounds.high && std::isfinite(bounds.high->real);
  if (!low && !high) return drawn;
  double from = low ? bounds.low->real : std::min(-1.0, bounds.high->real - 2);
  double to = high ? bounds.high->real : std::max(1.0, bounds.low->real + 2);
  double instruction = driver::ElementValue(Scalar::F64, driver::DrawElement(Scalar::F64, seed, n));
  return FloatBits(scalar, from + (to - from) * (0.5 + 0.49 * instruction));
}

/// Returns the index of a row, that is, the index of its elements without the last component.
std::vector<int64_t> IndexOfRow(const HostTensor& tensor, int64_t row) {
  std::vector<int64_t> index(tensor.shape.empty() ? 0 : tensor.shape.size() - 1);
  for (size_t d = index.size(); d-- > 0;) {
    index[d] = row % tensor.shape[d];
    row /= tensor.shape[d];
  }
  return index;
}

/// Returns the first unused number from `place` to `high`. `next` maps each used number to a larger
/// number. Its paths are compressed as in union-find.
std::optional<int64_t> FindFree(std::unordered_map<int64_t, int64_t>& next, int64_t place,
                                int64_t high) {
  int64_t free = place;
  for (auto known = next.find(free); known != next.end() && free != INT64_MAX;
       known = next.find(free))
    free = known->second;
  for (int64_t at = place; at < free;) at = std::exchange(next.find(at)->second, free);
  bool is_free = free <= high && !next.contains(free);
  return is_free ? std::optional(free) : std::nullopt;
}

}  // namespace

int64_t RowDrawer::rows() const {
  int64_t count = static_cast<int64_t>(tensor_.bytes.size()) / Bytes(tensor_.scalar);
  return count == 0 ? 0 : count / length();
}

bool RowDrawer::Less(const Number& a, const Number& b) const {
  return IsFloat(tensor_.scalar) ? a.real < b.real : a.integer < b.integer;
}

void RowDrawer::Narrow(const Bounds& by, Bounds& bounds) const {
  if (by.low && (!bounds.low || Less(*bounds.low, *by.low))) bounds.low = by.low;
  if (by.high && (!bounds.high || Less(*by.high, *bounds.high))) bounds.high = by.high;
}

bool RowDrawer::IsEmpty(const Bounds& bounds) const {
  if (bounds.low && bounds.high && Less(*bounds.high, *bounds.low)) return true;
  if (!IsInteger(tensor_.scalar)) return false;
  IntegerRange all = driver::AllIntegers(tensor_.scalar);
  return (bounds.low && bounds.low->integer > all.high) ||
         (bounds.high && bounds.high->integer < all.low);
}

Bounds RowDrawer::BoundsAt(const std::vector<int64_t>& outer, int64_t last) const {
  Bounds bounds;
  for (const BoundRule& rule : rule_.bounds) {
    bool is_here = rule.index.empty() || rule.index.back().Has(last);
    for (size_t d = 0; d < outer.size(); ++d) is_here = is_here && rule.index[d].Has(outer[d]);
    if (is_here) Narrow(rule.bounds, bounds);
  }
  return bounds;
}

std::vector<Bounds> RowDrawer::RowBounds(int64_t row) const {
  std::vector<int64_t> outer = IndexOfRow(tensor_, row);
  std::vector<Bounds> bounds;
  for (int64_t i = 0; i < length(); ++i) bounds.push_back(BoundsAt(outer, i));
  if (rule_.ascending) Order(bounds);
  return bounds;
}

/// Makes the bounds of a row ascend. If integers must be strictly ascending, first converts their
/// bounds to bounds of ascending integers, to which 0, 1, 2, … will be added.
void RowDrawer::Order(std::vector<Bounds>& bounds) const {
  bool shifts = IsStrict();
  for (size_t i = 0; i < bounds.size() && shifts; ++i) {
    Narrow({{}, Number{0, driver::AllIntegers(tensor_.scalar).high}}, bounds[i]);
    auto before = -static_cast<int64_t>(i);
    if (bounds[i].low) bounds[i].low->integer = driver::Plus(bounds[i].low->integer, before);
    bounds[i].high->integer = driver::Plus(bounds[i].high->integer, before);
  }
  for (size_t i = 1; i < bounds.size(); ++i) Narrow({bounds[i - 1].low, {}}, bounds[i]);
  for (size_t i = bounds.size(); i-- > 1;) Narrow({{}, bounds[i].high}, bounds[i - 1]);
}

IntegerRange RowDrawer::IntegersWithin(const Bounds& bounds, Spread spread) const {
  IntegerRange range = driver::AllIntegers(tensor_.scalar);
  if (bounds.low) range.low = std::clamp(bounds.low->integer, range.low, range.high);
  if (bounds.high) range.high = std::clamp(bounds.high->integer, range.low, range.high);
  bool all = spread == Spread::All || (spread == Spread::Bounded && bounds.low && bounds.high);
  if (all) return range;
  int64_t most = spread == Spread::Small || spread == Spread::Bounded ? driver::kSmallInteger
                 : spread == Spread::Few                              ? 3
                                                                      : 0;
  return driver::IntegersNear(tensor_.scalar, range, most);
}

uint64_t RowDrawer::DrawElement(const Bounds& bounds, uint64_t seed, int64_t element,
                                Spread spread) const {
  Scalar scalar = tensor_.scalar;
  auto n = static_cast<uint64_t>(element);
  if (IsFloat(scalar)) return DrawFloat(scalar, bounds, seed, n);
  if (!IsInteger(scalar)) return driver::DrawElement(scalar, seed, n);
  int64_t drawn = driver::DrawInteger(scalar, IntegersWithin(bounds, spread), seed, n);
  return driver::IntegerBits(scalar, drawn);
}

bool RowDrawer::DrawRow(int64_t row, uint64_t seed, Spread spread) {
  if (rule_.ascending || rule_.distinct) return DrawTogether(row, seed, spread);
  std::vector<int64_t> outer = IndexOfRow(tensor_, row);
  for (int64_t i = 0; i < length(); ++i) {
    Bounds bounds = BoundsAt(outer, i);
    if (IsEmpty(bounds)) return false;
    Put(row, i, DrawElement(bounds, seed, row * length() + i, spread));
  }
  return true;
}

bool RowDrawer::DrawTogether(int64_t row, uint64_t seed, Spread spread) {
  std::vector<Bounds> bounds = RowBounds(row);
  for (int64_t i = 0; i < length(); ++i) {
    const Bounds& here = bounds[static_cast<size_t>(i)];
    if (IsEmpty(here)) return false;
    Put(row, i, DrawElement(here, seed, row * length() + i, spread));
  }
  bool differ = rule_.distinct && !rule_.ascending && IsInteger(tensor_.scalar);
  if (differ && !MakeDistinct(row, bounds, spread)) return false;
  if (rule_.ascending) Sort(row);
  if (IsStrict()) AddNumbers(row);
  return true;
}

void RowDrawer::Redraw(int64_t element, uint64_t seed, Spread spread) {
  int64_t row = element / length();
  if (rule_.ascending || rule_.distinct) {
    DrawTogether(row, seed, spread);
    return;
  }
  Bounds bounds = BoundsAt(IndexOfRow(tensor_, row), element % length());
  Put(row, element % length(), DrawElement(bounds, seed, element, spread));
}

/// Replaces each number that already occurs in the row with the next unused number within its
/// bounds. Returns false if there is none.
bool RowDrawer::MakeDistinct(int64_t row, const std::vector<Bounds>& bounds, Spread spread) {
  std::unordered_map<int64_t, int64_t> next;  // maps each used number to a larger number
  for (int64_t i = 0; i < length(); ++i) {
    IntegerRange range = IntegersWithin(bounds[static_cast<size_t>(i)], spread);
    std::optional<int64_t> place = FindFree(next, Ordered(row, i), range.high);
    if (!place) place = FindFree(next, range.low, range.high);
    if (!place) return false;
    next[*place] = driver::Plus(*place, 1);
    Put(row, i, driver::IntegerBits(tensor_.scalar, *place));
  }
  return true;
}

void RowDrawer::Sort(int64_t row) {
  auto first = row * length();
  std::vector<uint64_t> bits;
  for (int64_t i = 0; i < length(); ++i) bits.push_back(driver::ElementBits(tensor_, first + i));
  std::ranges::sort(bits, [&](uint64_t a, uint64_t b) {
    if (IsInteger(tensor_.scalar))
      return driver::OrderedInteger(tensor_.scalar, a) < driver::OrderedInteger(tensor_.scalar, b);
    return driver::ElementValue(tensor_.scalar, a) < driver::ElementValue(tensor_.scalar, b);
  });
  for (int64_t i = 0; i < length(); ++i) Put(row, i, bits[static_cast<size_t>(i)]);
}

void RowDrawer::AddNumbers(int64_t row) {
  for (int64_t i = 0; i < length(); ++i)
    Put(row, i, driver::IntegerBits(tensor_.scalar, Ordered(row, i) + i));
}

int64_t RowDrawer::Ordered(int64_t row, int64_t i) const {
  return driver::OrderedInteger(tensor_.scalar, driver::ElementBits(tensor_, row * length() + i));
}

void RowDrawer::Put(int64_t row, int64_t i, uint64_t bits) {
  driver::SetElementBits(tensor_, row * length() + i, bits);
}

}  // namespace kdl::tools
