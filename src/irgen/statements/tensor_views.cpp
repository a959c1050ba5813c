#include "irgen/statements/tensor_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ir/op_kind.h"
#include "ir/requirement.h"
#include "irgen/accesses/slices.h"
#include "irgen/contracts/tables.h"
#include "irgen/walk/generate.h"
#include "irgen/walk/sizes.h"

// A view becomes a chain of `view` ops, each of which splits one dimension or merges neighboring dimensions.
// In a kernel, the chain is at the start of the function:
//   view v: f32[N, G, K, P] = x;            x: f32[N, C, H, W] where C == G*K, P == H*W
//   %1 = view %x {dimension = 2} : tensor<f32,[N, C, P]>
//   %v = view %1 {dimension = 1} : tensor<f32,[N, G, K, P]>
// Dimensions are grouped from left to right. A dimension that is equal on both sides does not change. Any
// other group ends as soon as both of its sides are known to have the same number of elements. It also ends
// as soon as the following dimensions are equal, unless the two numbers are known to differ. A launch is
// rejected if the two sides of a group have different numbers of elements.

namespace kdl::irgen {

namespace {

using Dims = std::vector<Size>;

/// Neighboring dimensions `from` of the operand, which become the dimensions `to` of the view.
struct DimGroup {
  size_t at;  ///< the position of the first dimension of `from`
  Dims from;
  Dims to;
};

/// The factors of a product: a number, and sizes that are not numbers.
struct Factors {
  uint64_t number = 1;
  std::vector<Size> others;

  bool operator==(const Factors&) const = default;

  /// Multiplies `number` by `factor` and returns true, unless `factor` is negative or the product overflows.
  bool Take(int64_t factor) {
    uint64_t product = 0;
    if (factor < 0 || __builtin_mul_overflow(number, static_cast<uint64_t>(factor), &product)) {
      return false;
    }
    number = product;
    return true;
  }
};

/// A quotient in lowest terms. `below` is only used if divisions are assumed to be exact.
struct Fraction {
  Factors above;
  Factors below;

  bool operator==(const Fraction&) const = default;

  /// Returns whether the two quotients differ unless a size is 0.
  bool DiffersFrom(const Fraction& other) const {
    return above.others == other.above.others && below.others == other.below.others &&
           !(*this == other);
  }

  void Reduce() {
    if (uint64_t common = std::gcd(above.number, below.number); common > 1) {
      above.number /= common;
      below.number /= common;
    }
    std::erase_if(below.others, [&](Size divisor) {
      auto factor = std::ranges::find(above.others, divisor);
      if (factor == above.others.end()) return false;
      above.others.erase(factor);
      return true;
    });
    std::ranges::sort(above.others);
    std::ranges::sort(below.others);
  }
};

class DimMatcher {
 public:
  DimMatcher(const sema::CheckedFunction& checked, const Dims& from, const Dims& to)
      : checked_(checked), from_(from), to_(to) {}

  std::vector<DimGroup> Match() const {
    std::vector<DimGroup> groups;
    size_t i = 0;
    size_t j = 0;
    while (i < from_.size() && j < to_.size()) {
      auto [a, b] = from_[i] == to_[j] ? std::pair<size_t, size_t>{1, 1} : GroupAt(i, j);
      groups.push_back({i, Part(from_, i, a), Part(to_, j, b)});
      i += a;
      j += b;
    }
    DimGroup& last = groups.back();  // appends the remaining dimensions, whose extents are 1
    last.from.insert(last.from.end(), from_.begin() + Offset(i), from_.end());
    last.to.insert(last.to.end(), to_.begin() + Offset(j), to_.end());
    return groups;
  }

  /// Returns whether `a` and `b` are known to have the same number of elements. If `exact` is true, the
  /// numbers must be equal for all sizes, otherwise only for sizes for which all divisions are exact.
  bool SameCount(const Dims& a, const Dims& b, bool exact) const {
    return CountElements(a, exact) == CountElements(b, exact);
  }

 private:
  static std::ptrdiff_t Offset(size_t i) { return static_cast<std::ptrdiff_t>(i); }
  static Dims Part(const Dims& dims, size_t first, size_t count) {
    return {dims.begin() + Offset(first), dims.begin() + Offset(first + count)};
  }

  enum class By { Count, WholeQuotients, WhatFollows };

  /// Returns whether `a` dimensions from position i, and `b` dimensions from position j, may form a group.
  bool EndsAt(By by, size_t i, size_t a, size_t j, size_t b) const {
    Dims from = Part(from_, i, a);
    Dims to = Part(to_, j, b);
    if (by != By::WhatFollows) return SameCount(from, to, by == By::Count);
    return EqualAt(i + a, j + b) &&
           !CountElements(from, false).DiffersFrom(CountElements(to, false));
  }

  /// Returns the number of dimensions from i, and the number from j, that form a group. This is the smallest
  /// group whose two sides have the same number of elements. If there is none, it is the smallest group after
  /// which the dimensions are equal again.
  std::pair<size_t, size_t> GroupAt(size_t i, size_t j) const {
    size_t most_from = from_.size() - i;
    size_t most_to = to_.size() - j;
    for (By by : {By::Count, By::WholeQuotients, By::WhatFollows}) {
      for (size_t total = 2; total <= most_from + most_to; ++total) {
        for (size_t a = 1; a < total; ++a) {
          size_t b = total - a;
          if (a <= most_from && b <= most_to && EndsAt(by, i, a, j, b)) return {a, b};
        }
      }
    }
    return {most_from, most_to};
  }

  bool EqualAt(size_t i, size_t j) const {
    return i < from_.size() && j < to_.size() && from_[i] == to_[j];
  }

  Fraction CountElements(const Dims& dims, bool exact) const {
    constexpr int kMostSteps = 4;
    Fraction count;
    for (Size dim : dims) AddFactors(dim, kMostSteps, count.above, exact ? nullptr : &count.below);
    count.Reduce();
    return count;
  }

  /// Adds the factors of a size. Factors of a divisor are added to `divisors`. If `divisors` is null, the
  /// whole quotient is a single factor.
  void AddFactors(Size size, int steps, Factors& factors, Factors* divisors) const {
    if (IsConstant(size) && factors.Take(size->value)) return;
    if (size->kind == SizeKind::Mul) {
      AddFactors(size->lhs, steps, factors, divisors);
      AddFactors(size->rhs, steps, factors, divisors);
    } else if (Size equal = steps > 0 ? EqualOf(size) : nullptr) {
      AddFactors(equal, steps - 1, factors, divisors);
    } else if (size->kind == SizeKind::FloorDiv && divisors != nullptr) {
      AddFactors(size->lhs, steps, factors, divisors);
      AddFactors(size->rhs, steps, *divisors, nullptr);
    } else {
      factors.others.push_back(size);
    }
  }

  /// Returns the size that a `where` clause declares equal to a size name, or null if there is none.
  Size EqualOf(Size symbol) const {
    for (const sema::WhereInfo& where : checked_.where) {
      if (where.op == syntax::BinaryOp::Eq && where.lhs == symbol) return where.rhs;
    }
    return nullptr;
  }

  const sema::CheckedFunction& checked_;
  const Dims& from_;
  const Dims& to_;
};

Size Product(FunctionGen& gen, const Dims& dims) {
  SizeTable& sizes = gen.builder.types().sizes();
  Size product = sizes.Constant(1);
  for (Size dim : dims) product = sizes.Binary(SizeKind::Mul, product, dim);
  return product;
}

void RequireEqualCount(FunctionGen& gen, const DimGroup& group, Name view) {
  Size left = Product(gen, group.from);
  Size right = Product(gen, group.to);
  RequireSizes(gen, left, ir::CompareKind::Eq, right,
               fmt::format("view {}: {} == {}", view.text(), ToString(left), ToString(right)));
}

/// Requires that no dimension is negative. Otherwise two negative dimensions could have the same product as
/// two positive ones.
void RequireNoneNegative(FunctionGen& gen, const Dims& dims, Name view) {
  Size zero = gen.builder.types().sizes().Constant(0);
  for (Size dim : dims) {
    if (!ir::MayBeNegative(gen.function, gen.Bound(dim))) continue;
    RequireSizes(gen, dim, ir::CompareKind::Ge, zero,
                 fmt::format("view {}: {} >= 0", view.text(), ToString(dim)));
  }
}

/// Moves the insertion point after the requirements of the launch and the existing views.
void InsertAtViews(FunctionGen& gen) {
  for (ir::Op* op : *gen.function.body) {
    if (op->kind() != ir::OpKind::Require && op->kind() != ir::OpKind::View)
      return gen.builder.SetInsertionPoint(op);
  }
  gen.builder.SetInsertionPoint(gen.function.body);
}

/// Returns a view of the tensor in which `dims` replace the `count` dimensions that start at `at`.
ir::Value* Replace(FunctionGen& gen, ir::Value* tensor, size_t at, size_t count, const Dims& dims) {
  Dims all = tensor->type()->dims;
  auto first = all.begin() + static_cast<std::ptrdiff_t>(at);
  first = all.erase(first, first + static_cast<std::ptrdiff_t>(count));
  for (Size dim : dims) first = all.insert(first, gen.Bound(dim)) + 1;
  return gen.builder.Make(ir::OpKind::View, {tensor},
                          gen.builder.types().Tensor(tensor->type()->scalar, std::move(all)),
                          {ir::MakeAttr<ir::AttrKey::Dimension>(static_cast<int64_t>(at))});
}

/// Replaces the dimensions `from` of the tensor by the dimensions `to`.
ir::Value* Reshape(FunctionGen& gen, ir::Value* tensor, const Dims& from, const Dims& to,
                   Name name) {
  DimMatcher matcher(gen.checked, from, to);
  std::vector<DimGroup> groups = matcher.Match();
  RequireNoneNegative(gen, to, name);
  for (const DimGroup& group : groups) {
    if (!matcher.SameCount(group.from, group.to, true)) RequireEqualCount(gen, group, name);
  }
  ir::Region* here = gen.builder.region();
  ir::Op* before = gen.builder.before();
  if (gen.function.kind == ir::FunctionKind::Kernel) InsertAtViews(gen);
  // From the right, so that the positions of the remaining groups stay valid.
  for (size_t g = groups.size(); g-- > 0;) {
    const auto& [at, of, into] = groups[g];
    if (of == into) continue;
    bool merges = of.size() > 1;
    bool splits = into.size() > 1;
    if (merges)
      tensor = Replace(gen, tensor, at, of.size(), splits ? Dims{Product(gen, of)} : into);
    if (splits || !merges) tensor = Replace(gen, tensor, at, 1, into);
    SetName(tensor, name);
  }
  gen.builder.SetInsertionPoint(here, before);
  return tensor;
}

}  // namespace

void GenView(FunctionGen& gen, const syntax::ViewStmt& view) {
  const sema::Entity* entity = gen.checked.Info(&view).entities.at(0);
  bool in_kernel = gen.function.kind == ir::FunctionKind::Kernel;
  ir::Value* tensor = in_kernel ? gen.values.at(entity->of) : GenTensor(gen, view.source);
  SetName(tensor, entity->name);
  Dims from = in_kernel ? tensor->type()->dims : gen.Info(view.source).type.dims;
  gen.values[entity] = Reshape(gen, tensor, from, entity->type.dims, entity->name);
}

ir::Value* GenMerged(FunctionGen& gen, const syntax::Expr* arg, const std::vector<Size>& dims,
                     Name param) {
  LocScope loc(gen, arg->span);
  return Reshape(gen, GenTensor(gen, arg), gen.Info(arg).type.dims, dims, param);
}

}  // namespace kdl::irgen
