#include <fmt/format.h>

#include <algorithm>

#include "irgen/function_gen.h"

// A view becomes a chain of `view` ops at the head of the kernel, each of which splits one dimension or merges neighbours:
//   view v: f32[N, G, K, P] = x;            x: f32[N, C, H, W] where C == G*K, P == H*W
//   %1 = view %x {dimension = 2} : tensor<f32,[N, C, P]>
//   %v = view %1 {dimension = 1} : tensor<f32,[N, G, K, P]>
// Dimensions are grouped from the left: those that are equal stay, and each other group ends as soon as both sides are known
// to have as many elements, or as the dimensions behind it are equal. A launch is refused where groups differ in elements.

namespace kdl::irgen {

namespace {

using Dims = std::vector<Size>;

/// Neighbouring dimensions `from` become `to`.
struct DimGroup {
  size_t at;  ///< the first one of `from`
  Dims from;
  Dims to;
};

/// A product as its factors; where divisions are taken to leave nothing, what they divide by.
struct Factors {
  int64_t number = 1;
  std::vector<Size> others;
  std::vector<Size> divisors;

  bool operator==(const Factors&) const = default;
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
    DimGroup& last = groups.back();  // dimensions of one index may be left
    last.from.insert(last.from.end(), from_.begin() + Offset(i), from_.end());
    last.to.insert(last.to.end(), to_.begin() + Offset(j), to_.end());
    return groups;
  }

  /// Whether both are known to have as many elements, `exact` whatever the sizes are, else if divisions leave nothing.
  bool SameCount(const Dims& a, const Dims& b, bool exact) const {
    return FactorsOf(a, exact) == FactorsOf(b, exact);
  }

 private:
  static std::ptrdiff_t Offset(size_t i) { return static_cast<std::ptrdiff_t>(i); }
  static Dims Part(const Dims& dims, size_t first, size_t count) {
    return {dims.begin() + Offset(first), dims.begin() + Offset(first + count)};
  }

  /// The fewest dimensions on both sides that have as many elements, else behind which they are equal again.
  std::pair<size_t, size_t> GroupAt(size_t i, size_t j) const {
    size_t most_from = from_.size() - i;
    size_t most_to = to_.size() - j;
    enum class By { Count, WholeQuotients, WhatFollows };
    for (By by : {By::Count, By::WholeQuotients, By::WhatFollows}) {
      for (size_t total = 2; total <= most_from + most_to; ++total) {
        for (size_t a = 1; a < total; ++a) {
          size_t b = total - a;
          if (a > most_from || b > most_to) continue;
          bool fits = by == By::WhatFollows
                          ? EqualAt(i + a, j + b)
                          : SameCount(Part(from_, i, a), Part(to_, j, b), by == By::Count);
          if (fits) return {a, b};
        }
      }
    }
    return {most_from, most_to};
  }

  bool EqualAt(size_t i, size_t j) const {
    return i < from_.size() && j < to_.size() && from_[i] == to_[j];
  }

  Factors FactorsOf(const Dims& dims, bool exact) const {
    constexpr int kMostSteps = 4;
    Factors factors;
    for (Size dim : dims) AddFactors(dim, kMostSteps, exact, factors);
    std::erase_if(factors.divisors, [&](Size divisor) {
      auto factor = std::ranges::find(factors.others, divisor);
      if (factor == factors.others.end()) return false;
      factors.others.erase(factor);
      return true;
    });
    std::ranges::sort(factors.others);
    std::ranges::sort(factors.divisors);
    return factors;
  }

  void AddFactors(Size size, int steps, bool exact, Factors& factors) const {
    if (IsConstant(size) && !__builtin_mul_overflow(factors.number, size->value, &factors.number))
      return;
    if (size->kind == SizeKind::Mul) {
      AddFactors(size->lhs, steps, exact, factors);
      AddFactors(size->rhs, steps, exact, factors);
    } else if (Size equal = steps > 0 ? EqualOf(size) : nullptr) {
      AddFactors(equal, steps - 1, exact, factors);
    } else if (size->kind == SizeKind::FloorDiv && !exact) {
      AddFactors(size->lhs, steps, exact, factors);
      factors.divisors.push_back(size->rhs);
    } else {
      factors.others.push_back(size);
    }
  }

  /// What a `where` says that a size name is; null: nothing.
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

/// Sizes of tensors are not; integer parameters, and what is subtracted, may be.
bool MayBeNegative(const FunctionGen& gen, Size size) {
  if (IsConstant(size)) return size->value < 0;
  if (size->kind == SizeKind::Symbol) {
    const auto& generics = gen.function.generics;
    return std::ranges::any_of(
        generics, [&](const ir::Generic& generic) { return generic.name == size->symbol; });
  }
  return size->kind == SizeKind::Sub || MayBeNegative(gen, size->lhs) ||
         MayBeNegative(gen, size->rhs);
}

/// Two negative dimensions would have as many elements as two others.
void RequireNoneNegative(FunctionGen& gen, const Dims& dims, Name view) {
  Size zero = gen.builder.types().sizes().Constant(0);
  for (Size dim : dims) {
    if (!MayBeNegative(gen, dim)) continue;
    RequireSizes(gen, dim, ir::CompareKind::Ge, zero,
                 fmt::format("view {}: {} >= 0", view.text(), ToString(dim)));
  }
}

/// Behind what the launch is asked, and other views.
void InsertAtViews(FunctionGen& gen) {
  for (ir::Op* op : *gen.function.body) {
    if (op->kind() != ir::OpKind::Require && op->kind() != ir::OpKind::View)
      return gen.builder.SetInsertionPoint(op);
  }
  gen.builder.SetInsertionPoint(gen.function.body);
}

/// The tensor with `dims` instead of `count` dimensions.
ir::Value* Replace(FunctionGen& gen, ir::Value* tensor, size_t at, size_t count, const Dims& dims) {
  Dims all = tensor->type()->dims;
  auto first = all.begin() + static_cast<std::ptrdiff_t>(at);
  first = all.erase(first, first + static_cast<std::ptrdiff_t>(count));
  all.insert(first, dims.begin(), dims.end());
  return gen.builder.Make(ir::OpKind::View, {tensor},
                          gen.builder.types().Tensor(tensor->type()->scalar, std::move(all)),
                          {ir::MakeAttr<ir::AttrKey::Dimension>(static_cast<int64_t>(at))});
}

}  // namespace

void GenView(FunctionGen& gen, const syntax::ViewStmt& view) {
  const sema::Entity* entity = gen.checked.Info(&view).entities.at(0);
  ir::Value* tensor = gen.values.at(entity->of);
  Dims from = tensor->type()->dims;
  Dims to = entity->type.dims;
  DimMatcher matcher(gen.checked, from, to);
  std::vector<DimGroup> groups = matcher.Match();
  RequireNoneNegative(gen, to, entity->name);
  for (const DimGroup& group : groups) {
    if (!matcher.SameCount(group.from, group.to, true)) RequireEqualCount(gen, group, entity->name);
  }
  ir::Block* here = gen.builder.block();
  ir::Op* before = gen.builder.before();
  InsertAtViews(gen);
  for (size_t g = groups.size(); g-- > 0;) {  // from the right: what is left keeps its numbers
    const auto& [at, of, into] = groups[g];
    if (of == into) continue;
    bool merges = of.size() > 1;
    bool splits = into.size() > 1;
    if (merges)
      tensor = Replace(gen, tensor, at, of.size(), splits ? Dims{Product(gen, of)} : into);
    if (splits || !merges) tensor = Replace(gen, tensor, at, 1, into);
    SetName(tensor, entity->name);
  }
  gen.values[entity] = tensor;
  gen.builder.SetInsertionPoint(here, before);
}

}  // namespace kdl::irgen
