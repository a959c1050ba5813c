#include "core/view.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/element.h"

namespace kdl::runtime {

namespace {

// One term, stride * index, of an offset in bytes, with 0 ≤ index < count. Strides are positive.
struct Term {
  std::int64_t stride;
  std::int64_t count;
};

struct Terms {
  std::array<Term, 16> term;
  int size = 0;
};

// Adds the terms of a view. Terms with the same stride are merged into one with a larger count.
void AddTerms(const kdl_tensor& view, Terms* terms) {
  for (std::int32_t d = 0; d < view.rank; ++d) {
    const std::int64_t stride = view.stride[d] * ElementBytes(view);
    if (view.size[d] == 1 || stride == 0) continue;
    Term* end = terms->term.begin() + terms->size;
    Term* same = std::find_if(terms->term.begin(), end,
                              [&](const Term& term) { return term.stride == stride; });
    if (same != end) {
      same->count += view.size[d] - 1;
    } else {
      *same = {stride, view.size[d]};
      ++terms->size;
    }
  }
}

// Sorts the terms by stride in descending order.
void SortByStride(Terms* terms) {
  std::sort(terms->term.begin(), terms->term.begin() + terms->size,
            [](Term a, Term b) { return a.stride > b.stride; });
}

std::int64_t FloorDiv(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0);
}

// Whether the terms from `at` on have a sum in [low, high] for some choice of indices. For each term, tries
// only indices from which the remaining terms can still reach that range. When `budget` is spent, gives up
// and returns true.
bool HasSum(const Terms& terms, int at, std::int64_t low, std::int64_t high, int* budget) {
  if (at == terms.size) return low <= 0 && 0 <= high;
  if (--*budget < 0) return true;
  std::int64_t rest = 0;
  for (int i = at + 1; i < terms.size; ++i)
    rest += terms.term[i].stride * (terms.term[i].count - 1);
  const auto [stride, count] = terms.term[at];
  // The index must satisfy low ≤ stride * index + (0 … rest) ≤ high.
  const std::int64_t first = std::max<std::int64_t>(-FloorDiv(rest - low, stride), 0);
  const std::int64_t last = std::min(FloorDiv(high, stride), count - 1);
  for (std::int64_t index = first; index <= last; ++index) {
    if (HasSum(terms, at + 1, low - stride * index, high - stride * index, budget)) return true;
  }
  return false;
}

// Whether the stride of a dimension has a meaning. Otherwise, it can be anything, as in slices of NumPy.
bool HasStride(const kdl_tensor& view, std::int32_t dimension) {
  return view.size[dimension] > 1 && !IsEmpty(view);
}

constexpr int kSearchBudget = 20000;

bool IsRank(std::int32_t rank) { return rank >= 0 && rank <= KDL_MAX_RANK; }

Error CheckRank(std::int32_t rank, std::string_view what) {
  if (IsRank(rank)) return nullptr;
  return Invalid(what, " has rank ", rank, "; ranks go from 0 to ", KDL_MAX_RANK);
}

}  // namespace

std::string Describe(const kdl_tensor& view) {
  std::string text(ElementName(view.element));
  if (!IsRank(view.rank)) return Concat(text, " of rank ", view.rank);
  text += '[';
  for (std::int32_t d = 0; d < view.rank; ++d) {
    text += Concat(d == 0 ? "" : ", ", view.size[d]);
  }
  return text + ']';
}

Error CheckView(const kdl_tensor& view, std::string_view what, std::int64_t* bytes) {
  KDL_RETURN_IF_ERROR(CheckRank(view.rank, what));
  const ElementFacts* facts = FactsOfElement(view.element);
  if (facts == nullptr) {
    return Invalid(what, " has the unknown element kind ", std::int64_t{view.element});
  }
  if (view.element_bits != facts->bits) {
    return Invalid(what, " has ", std::int64_t{view.element_bits}, " bits per element, but ",
                   facts->name, " has ", std::int64_t{facts->bits});
  }
  if (view.layout != KDL_LAYOUT_STRIDED) {
    return Fail(KDL_ERROR_UNSUPPORTED, what, " has layout ", view.layout,
                "; only strided tensors (layout 0) are supported");
  }
  bool overflow = false;
  std::int64_t last = 0;
  std::int64_t count = 1;
  for (std::int32_t d = 0; d < view.rank; ++d) {
    if (view.size[d] < 0) {
      return Invalid(what, " has size ", view.size[d], " in dimension ", d,
                     "; sizes are 0 or more");
    }
    if (view.stride[d] < 0 && HasStride(view, d)) {
      return Invalid(what, " has stride ", view.stride[d], " in dimension ", d,
                     "; strides are 0 or more: pass a row-major copy");
    }
    std::int64_t reach = 0;
    overflow |=
        __builtin_mul_overflow(std::max<std::int64_t>(view.size[d], 1) - 1, view.stride[d], &reach);
    overflow |= __builtin_add_overflow(last, reach, &last);
    overflow |= __builtin_mul_overflow(count, view.size[d], &count);
  }
  overflow |= __builtin_add_overflow(last, 1, &last);
  overflow |= __builtin_mul_overflow(last, facts->bits / 8, &last);
  overflow |= __builtin_mul_overflow(count, facts->bits / 8, &count);
  if (overflow && !IsEmpty(view)) {
    return Invalid(what, " is ", Describe(view), ", which is 2^63 bytes or more");
  }
  if (bytes != nullptr) *bytes = count == 0 ? 0 : last;
  return nullptr;
}

Error CheckAddress(const kdl_tensor& view, std::string_view what) {
  if (IsEmpty(view)) return nullptr;
  if (view.data == nullptr) return Invalid(what, " is ", Describe(view), " at a null pointer");
  // The check uses a bit mask, since element sizes are powers of two.
  if ((reinterpret_cast<std::uintptr_t>(view.data) &
       static_cast<std::uintptr_t>(ElementBytes(view) - 1)) != 0) {
    return Invalid(what, " is ", Describe(view), " at an address that is not a multiple of ",
                   ElementBytes(view), ", the size of ", ElementName(view.element));
  }
  return nullptr;
}

Error MakeView(std::uint8_t element, std::int32_t rank, const std::int64_t* sizes,
               std::string_view what, kdl_tensor* view) {
  std::int64_t bytes = 0;
  if (sizes != nullptr && FillDenseView(element, rank, sizes, view, &bytes)) return nullptr;
  KDL_RETURN_IF_ERROR(CheckRank(rank, what));
  if (sizes == nullptr && rank > 0) return Invalid(what, " has rank ", rank, ", but sizes is NULL");
  kdl_tensor made = {};
  made.rank = rank;
  made.element = element;
  if (const ElementFacts* facts = FactsOfElement(element)) made.element_bits = facts->bits;
  for (std::int32_t d = 0; d < KDL_MAX_RANK; ++d) made.size[d] = d < rank ? sizes[d] : 1;
  KDL_RETURN_IF_ERROR(CheckView(made, what));
  std::int64_t stride = 1;
  bool overflow = false;
  for (std::int32_t d = rank - 1; d >= 0; --d) {
    made.stride[d] = stride;
    overflow |= __builtin_mul_overflow(stride, std::max<std::int64_t>(made.size[d], 1), &stride);
  }
  overflow |= __builtin_mul_overflow(stride, made.element_bits / 8, &stride);
  if (overflow) {
    // If one of the sizes is 0, the view has no bytes, regardless of its other sizes and its strides.
    if (!IsEmpty(made)) {
      return Invalid(what, " is ", Describe(made), ", which is 2^63 bytes or more");
    }
    for (std::int32_t d = 0; d < rank; ++d) made.stride[d] = d == rank - 1 ? 1 : 0;
  }
  *view = made;
  return nullptr;
}

bool Overlap(const kdl_tensor& a, const kdl_tensor& b) {
  const std::int64_t a_bytes = SpanBytes(a);
  const std::int64_t b_bytes = SpanBytes(b);
  if (a_bytes == 0 || b_bytes == 0) return false;
  const auto a_start = reinterpret_cast<std::uintptr_t>(a.data);
  const auto b_start = reinterpret_cast<std::uintptr_t>(b.data);
  if (a_start + static_cast<std::uintptr_t>(a_bytes) <= b_start ||
      b_start + static_cast<std::uintptr_t>(b_bytes) <= a_start) {
    return false;
  }
  // An element of `a` at offset x and an element of `b` at offset y share a byte if and only if -size(a) < x
  // - y < size(b). To make this a sum of terms, y is counted backwards from the last element of `b`.
  Terms terms;
  AddTerms(a, &terms);
  AddTerms(b, &terms);
  SortByStride(&terms);
  const std::int64_t b_last = b_bytes - ElementBytes(b);
  const std::int64_t distance = static_cast<std::int64_t>(b_start - a_start) + b_last;
  int budget = kSearchBudget;
  return HasSum(terms, 0, distance - ElementBytes(a) + 1, distance + ElementBytes(b) - 1, &budget);
}

namespace {

// Whether each dimension's stride is the product of the sizes of the dimensions after it.
bool IsRowMajor(const kdl_tensor& view) {
  std::int64_t span = 1;
  for (std::int32_t d = view.rank - 1; d >= 0; --d) {
    if (view.size[d] == 1) continue;
    if (view.stride[d] < span) return false;
    span += view.stride[d] * (view.size[d] - 1);
  }
  return true;
}

}  // namespace

namespace {

// Whether there are two indices of the view that reach the same element, agree in all terms before `first`,
// and differ in term `first`. In that term, the second index is larger. In later terms, it may be larger or
// smaller.
bool Meet(const Terms& terms, int first, int* budget) {
  Terms ahead;
  // The terms of `ahead` are the differences between the two indices. They must have this sum, relative to
  // their smallest possible sum.
  std::int64_t sum = 0;
  std::int64_t span = 0;  // distance from the smallest to the largest sum
  bool overflow = false;
  for (int i = first; i < terms.size; ++i) {
    const auto [stride, count] = terms.term[i];
    const std::int64_t least = i == first ? 1 : 1 - count;
    ahead.term[ahead.size++] = {stride, count - least};
    std::int64_t reach = 0;
    overflow |= __builtin_mul_overflow(stride, 2 * (count - 1), &reach);
    overflow |= __builtin_add_overflow(span, reach, &span);
    sum -= stride * least;
  }
  return overflow || HasSum(ahead, 0, sum, sum, budget);
}

}  // namespace

bool OverlapsItself(const kdl_tensor& view) {
  if (IsRowMajor(view) || IsEmpty(view)) return false;
  for (std::int32_t d = 0; d < view.rank; ++d) {
    if (view.size[d] == 1) continue;
    if (view.stride[d] == 0) return true;
    for (std::int32_t e = 0; e < d; ++e) {
      if (view.size[e] > 1 && view.stride[e] == view.stride[d]) return true;
    }
  }
  Terms terms;
  AddTerms(view, &terms);
  SortByStride(&terms);
  std::int64_t span = ElementBytes(view);
  int budget = kSearchBudget;
  for (int i = terms.size - 1; i >= 0; --i) {
    // If each stride is at least as large as the span of all terms with smaller strides, no two indices reach
    // the same element.
    if (terms.term[i].stride < span && Meet(terms, i, &budget)) return true;
    span += terms.term[i].stride * (terms.term[i].count - 1);
  }
  return false;
}

kdl_region RegionOf(const kdl_tensor& to, std::int64_t to_offset, const kdl_tensor& from,
                    std::int64_t from_offset) {
  kdl_region region = {};
  region.to_offset = to_offset;
  region.from_offset = from_offset;
  region.run_bytes = ElementBytes(to);
  // Starting with the innermost dimension, extend the run (a contiguous range of bytes) as long as both sides
  // are contiguous. Each further dimension becomes a loop. A loop that merely continues the loop inside it is
  // merged with that loop.
  std::array<std::int64_t, 8> count;
  std::array<std::int64_t, 8> to_step;
  std::array<std::int64_t, 8> from_step;
  int loops = 0;
  for (std::int32_t d = to.rank - 1; d >= 0; --d) {
    const std::int64_t n = to.size[d];
    if (n == 1) continue;
    const std::int64_t to_stride = to.stride[d] * ElementBytes(to);
    const std::int64_t from_stride = from.stride[d] * ElementBytes(to);
    if (loops == 0 && to_stride == region.run_bytes && from_stride == region.run_bytes) {
      region.run_bytes *= n;
    } else if (loops > 0 && to_stride == to_step[loops - 1] * count[loops - 1] &&
               from_stride == from_step[loops - 1] * count[loops - 1]) {
      count[loops - 1] *= n;
    } else {
      count[loops] = n;
      to_step[loops] = to_stride;
      from_step[loops] = from_stride;
      ++loops;
    }
  }
  region.rank = loops;
  for (int i = 0; i < loops; ++i) {
    region.count[i] = count[loops - 1 - i];
    region.to_step[i] = to_step[loops - 1 - i];
    region.from_step[i] = from_step[loops - 1 - i];
  }
  return region;
}

kdl_region WithDenseFrom(const kdl_region& region) {
  kdl_region dense = region;
  dense.from_offset = 0;
  std::int64_t step = region.run_bytes;
  for (std::int32_t i = region.rank - 1; i >= 0; --i) {
    dense.from_step[i] = step;
    step *= region.count[i];
  }
  return dense;
}

kdl_region WithDenseTo(const kdl_region& region) {
  kdl_region dense = region;
  dense.to_offset = 0;
  std::int64_t step = region.run_bytes;
  for (std::int32_t i = region.rank - 1; i >= 0; --i) {
    dense.to_step[i] = step;
    step *= region.count[i];
  }
  return dense;
}

std::int64_t RegionBytes(const kdl_region& region) {
  std::int64_t bytes = region.run_bytes;
  for (std::int32_t i = 0; i < region.rank; ++i) bytes *= region.count[i];
  return bytes;
}

void CopyRegion(void* to, const void* from, const kdl_region& region) {
  auto* target = static_cast<char*>(to);
  const auto* source = static_cast<const char*>(from);
  const auto bytes = static_cast<std::size_t>(region.run_bytes);
  ForEachRun(region, [&](std::int64_t to_offset, std::int64_t from_offset) {
    std::memcpy(target + to_offset, source + from_offset, bytes);
  });
}

void FillRegion(void* to, const kdl_region& region, std::uint64_t pattern,
                std::int32_t pattern_bytes) {
  auto* target = static_cast<char*>(to);
  const auto size = static_cast<std::size_t>(pattern_bytes);
  const auto bytes = static_cast<std::size_t>(region.run_bytes);
  ForEachRun(region, [&](std::int64_t to_offset, std::int64_t) {
    char* run = target + to_offset;
    std::memcpy(run, &pattern, size);
    // Doubles the filled part in each step, so that long runs are filled at the speed of memcpy.
    for (std::size_t filled = size; filled < bytes;) {
      const std::size_t more = std::min(filled, bytes - filled);
      std::memcpy(run + filled, run, more);
      filled += more;
    }
  });
}

}  // namespace kdl::runtime
