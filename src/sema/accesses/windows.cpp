#include "sema/accesses/windows.h"

#include <fmt/format.h>

#include <algorithm>

#include "sema/accesses/index_dim.h"
#include "sema/types/size_arithmetic.h"
#include "sema/walk/quote.h"

namespace kdl::sema {

namespace {

using syntax::Expr;

/// Returns |value|.
Size Magnitude(SizeTable& sizes, Size value) {
  Size zero = sizes.Constant(0);
  Size negative = sizes.Binary(SizeKind::Sub, zero, value);
  return sizes.Binary(SizeKind::Sub, zero, sizes.Binary(SizeKind::Min, value, negative));
}

/// How far the least value of an index is above the least value of a window, and the same for the greatest
/// values. Terms that both have cancel out.
class WindowMargin {
 public:
  WindowMargin(FunctionState& state, const IndexDim& window, const IndexDim& index)
      : sizes_(state.module.sizes) {
    std::optional<int64_t> apart = ConstantDifference(sizes_, index.offset, window.offset);
    known_ = apart && IsShort(*apart);
    below_ = above_ = apart.value_or(0);
    for (const IndexTerm& term : index.terms) AddIndex(term, window);
    for (const IndexTerm& term : window.terms) {
      if (Find(index, term.range) != nullptr) continue;
      AddWindow(term);
      may_be_empty_ = may_be_empty_ || !HasConstantSize(term.range->range);
    }
  }

  bool is_inside() const { return known_ && below_ >= 0 && above_ <= 0; }
  /// Whether the window may be empty although the ranges of the index have elements.
  bool may_be_empty() const { return may_be_empty_; }

 private:
  /// Returns whether sums of a few such distances do not overflow.
  static bool IsShort(int64_t distance) {
    constexpr int64_t kFarthest = int64_t{1} << 60;
    return -kFarthest <= distance && distance <= kFarthest;
  }

  static bool HasConstantSize(const RangeFacts& range) {
    return range.domain != nullptr && IsConstant(range.domain);
  }

  static const IndexTerm* Find(const IndexDim& dim, const Entity* range) {
    auto same = [&](const IndexTerm& term) { return term.range == range; };
    auto found = std::ranges::find_if(dim.terms, same);
    return found != dim.terms.end() ? &*found : nullptr;
  }

  /// Returns the value of a size that is a constant. Otherwise notes that the distance is unknown.
  int64_t ValueOf(Size size) {
    if (size != nullptr && IsConstant(size)) return size->value;
    known_ = false;
    return 0;
  }

  /// Returns the last index of a range that starts at 0.
  int64_t LastOf(const Entity& range) {
    if (!range.range.whole) known_ = false;
    return ValueOf(range.range.extent) - 1;
  }

  /// Adds the least and the greatest value of `coefficient` times an index from 0 to `last`.
  void Add(int64_t sign, int64_t coefficient, int64_t last) {
    constexpr int64_t kMost = int64_t{1} << 28;
    if (coefficient < -kMost || coefficient > kMost || last > kMost) known_ = false;
    if (!known_) return;
    below_ += sign * std::min<int64_t>(0, coefficient * last);
    above_ += sign * std::max<int64_t>(0, coefficient * last);
    known_ = IsShort(below_) && IsShort(above_);
  }

  void AddIndex(const IndexTerm& term, const IndexDim& window) {
    if (term.range == nullptr) {
      known_ = false;
      return;
    }
    const IndexTerm* same = Find(window, term.range);
    if (same != nullptr && ConstantDifference(sizes_, term.coefficient, same->coefficient) == 0)
      return;
    Add(1, ValueOf(term.coefficient), LastOf(*term.range));
    if (same != nullptr) AddWindow(*same);
  }

  /// Adds a term of the window that the index does not have. The term makes the window longer. If the size of
  /// its range is known only at run time, the range may have a single index, or none.
  void AddWindow(const IndexTerm& term) {
    const RangeFacts& range = term.range->range;
    if (!range.whole) known_ = false;
    if (HasConstantSize(range)) Add(-1, ValueOf(term.coefficient), ValueOf(range.domain) - 1);
  }

  SizeTable& sizes_;
  bool known_ = true;
  bool may_be_empty_ = false;
  int64_t below_ = 0;
  int64_t above_ = 0;
};

/// Returns whether the index is a range over a whole dimension of this size, or a part of such a range.
bool IsRangeOf(Size size, const IndexDim& index) {
  bool is_range = index.terms.size() == 1 && index.terms[0].range != nullptr &&
                  IsConstant(index.terms[0].coefficient, 1) && IsConstant(index.offset, 0);
  if (!is_range || size == nullptr) return false;
  const Entity* range = index.terms[0].range;
  while (range->range.parent != nullptr) range = range->range.parent;
  return range->range.domain == size;
}

}  // namespace

std::optional<IndexDim> CheckWindow(FunctionState& state, const Expr* expr) {
  std::optional<IndexDim> window = CheckIndexDim(state, expr);
  if (!window) return std::nullopt;
  for (const IndexTerm& term : window->terms) {
    if (term.range != nullptr && IsStatic(state, term.coefficient)) continue;
    Diagnostic& report =
        term.range == nullptr
            ? state.diagnostics.Report(diag::WindowValue, term.value->span,
                                       Quote(state, term.value))
            : state.diagnostics.Report(diag::WindowFactor, expr->span, term.range->name.text(),
                                       ToString(term.coefficient));
    report.Help("write a sum of ranges, numbers and sizes, such as `range p over i + r - 1;`");
    return std::nullopt;
  }
  if (window->terms.empty()) {
    state.diagnostics.Report(diag::WindowWithoutRange, expr->span, Quote(state, expr))
        .Help("add the range of the loop: `range p over i + 1;`");
    return std::nullopt;
  }
  return window;
}

Size WindowExtent(FunctionState& state, const IndexDim& window) {
  SizeTable& sizes = state.module.sizes;
  Size one = sizes.Constant(1);
  Size extent = one;
  for (const IndexTerm& term : window.terms) {
    Size last = sizes.Binary(SizeKind::Sub, term.range->range.extent, one);
    Size length = sizes.Binary(SizeKind::Mul, Magnitude(sizes, term.coefficient), last);
    extent = sizes.Binary(SizeKind::Add, extent, length);
  }
  return extent;
}

std::optional<bool> CheckIndexInWindow(FunctionState& state, const Entity& range,
                                       const IndexDim& index, const Expr* otherwise) {
  std::string_view name = range.name.text();
  WindowMargin margin(state, *range.range.window, index);
  if (!margin.is_inside()) {
    state.diagnostics.Report(diag::OutsideWindow, index.span, state.Text(index.span), name)
        .Note(range.span, fmt::format("'{}' has the values of '{}'", name,
                                      state.Text(range.range.window->span)))
        .Help(fmt::format("declare a longer window, which contains each index of the tile: "
                          "`range {} over …`",
                          name));
    return std::nullopt;
  }
  const Expr* end = range.range.hi;
  bool exists =
      end == nullptr || otherwise != nullptr || IsRangeOf(state.fn.exprs.at(end).size, index);
  if (exists) return !margin.may_be_empty();
  state.diagnostics
      .Report(diag::WindowNeedsElse, index.span, state.Text(index.span), Quote(state, end))
      .Help(fmt::format("give the value of elements that do not exist: [{} = {} else 0]", name,
                        state.Text(index.span)));
  return std::nullopt;
}

}  // namespace kdl::sema
