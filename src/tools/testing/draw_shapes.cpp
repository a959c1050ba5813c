#include "tools/testing/draw_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "driver/run/draw.h"
#include "interp/contract.h"
#include "ir/op_kind.h"
#include "support/diagnostics.h"

namespace kdl::tools {

namespace {

constexpr std::array<int64_t, 6> kPrimes = {5, 3, 7, 2, 11, 13};
constexpr double kMostTerms = 3e6;  ///< limit on the number of terms of a shape's contract
constexpr double kMostTermsInAll = 3e7;
constexpr int kRepairs = 200;

std::optional<driver::SizeValues> Sizes(const ir::Function& program, const Shape& shape) {
  driver::Options options;
  for (const auto& [name, value] : shape)
    options.set.push_back(fmt::format("{}={}", name.text(), value));
  DiagnosticEngine ignored;
  return driver::BindSizes(program, {}, options, ignored);
}

/// Returns the names that are one entire side of an equation in `where`.
std::set<Name> MaybeGiven(const ir::Function& program) {
  std::set<Name> names;
  for (const ir::Op* op : *program.body) {
    if (op->kind() != ir::OpKind::Require) continue;
    if (op->attr<ir::AttrKey::Compare>() != ir::CompareKind::Eq) continue;
    for (Size side : {op->attr<ir::AttrKey::Left>(), op->attr<ir::AttrKey::Right>()}) {
      if (side->kind == SizeKind::Symbol) names.insert(side->symbol);
    }
  }
  return names;
}

/// Returns the sizes that must be chosen, that is, those that the other sizes do not determine.
std::vector<Name> FreeSizes(const ir::Function& program, const Shape& set) {
  std::set<Name> given = MaybeGiven(program);
  std::vector<Name> free;
  Shape shape = set;
  for (Name dim : program.dims) {
    if (given.contains(dim) || set.contains(dim)) continue;
    free.push_back(dim);
    shape[dim] = 5040;  // 5040 has many divisors, and few size expressions become negative with it
  }
  for (Name dim : program.dims) {
    std::optional<driver::SizeValues> known = Sizes(program, shape);
    if (!given.contains(dim) || (known && known->contains(dim))) continue;
    free.push_back(dim);
    shape[dim] = 5040;
  }
  return free;
}

/// Collects shapes that satisfy `where`, without duplicates.
class Collector {
 public:
  Collector(const LoadedKernel& kernel, const Shape& set) : kernel_(kernel), set_(set) {}

  void Add(Shape shape) {
    shape.insert(set_.begin(), set_.end());
    std::optional<Shape> fitting = Repaired(shape);
    if (!fitting || !seen_.insert(*fitting).second) return;
    double terms = TermsAt(kernel_, *fitting);
    // A shape with the sizes given with --set is accepted even if it is large.
    bool asked = !set_.empty() && shapes_.empty();
    if (!asked && (terms > kMostTerms || terms_ + terms > kMostTermsInAll)) return;
    terms_ += terms;
    shapes_.push_back(*std::move(fitting));
  }

  std::vector<Shape> Take() { return std::move(shapes_); }

 private:
  /// Returns the shape if it satisfies `where`, or else a similar shape that does.
  std::optional<Shape> Repaired(const Shape& shape) const {
    Shape tried = shape;
    for (int i = 0; i < kRepairs; ++i) {
      if (Complete(kernel_.program(), tried)) return tried;
      uint64_t n = 0;
      for (auto& [name, value] : tried) {
        if (set_.contains(name)) continue;
        uint64_t change = driver::DrawElement(Scalar::U64, static_cast<uint64_t>(i), n++) % 9;
        value =
            std::max<int64_t>(0, shape.at(name) + static_cast<int64_t>(change) * (1 + i / 20) - 2);
      }
    }
    return std::nullopt;
  }

  const LoadedKernel& kernel_;
  const Shape& set_;  ///< the given sizes
  std::set<Shape> seen_;
  std::vector<Shape> shapes_;
  double terms_ = 0;
};

/// Returns a tile's extent, the number below it and the number above it. If there are several
/// extents, returns these numbers for the smallest and the largest extent.
std::vector<int64_t> Edges(const std::set<int64_t>& extents) {
  std::set<int64_t> edges;
  for (int64_t extent : {*extents.begin(), *extents.rbegin()}) {
    for (int64_t edge : {extent - 1, extent, extent + 1}) {
      if (edge > 0) edges.insert(edge);
    }
  }
  return {edges.begin(), edges.end()};
}

}  // namespace

std::string ShapeText(const Shape& shape) {
  std::string text;
  for (const auto& [name, value] : shape)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name.text(), value);
  return text;
}

std::optional<driver::SizeValues> Complete(const ir::Function& program, const Shape& shape) {
  std::optional<driver::SizeValues> values = Sizes(program, shape);
  bool all = values && std::all_of(program.dims.begin(), program.dims.end(), [&](Name dim) {
               return values->contains(dim) && values->at(dim).value >= 0;
             });
  if (!all || !driver::FulfilsWhere(program, *values)) return std::nullopt;
  for (const ir::Param& param : program.params) {
    for (Size size : param.value->type()->dims) {
      if (driver::SizeValue(size, *values).value_or(-1) < 0) return std::nullopt;
    }
  }
  return values;
}

double TermsAt(const LoadedKernel& kernel, const Shape& shape) {
  driver::SizeValues values = *Complete(kernel.program(), shape);
  const driver::BoundContract& contract = kernel.contract();
  return interp::TermCount(*contract.contract, [&](Name name) -> std::optional<int64_t> {
    auto constant = contract.constants.find(name);
    if (constant != contract.constants.end()) return constant->second;
    auto known = values.find(name);
    return known == values.end() ? std::nullopt : std::optional(known->second.value);
  });
}

std::vector<Shape> DrawShapes(const LoadedKernel& kernel, const Shape& set) {
  std::vector<Name> free = FreeSizes(kernel.program(), set);
  Shape primes;
  // The sizes of `primes` in reverse order, since a kernel may require one size to be smaller than
  // another.
  Shape backwards;
  Shape ones;
  for (size_t i = 0; i < free.size(); ++i) {
    primes[free[i]] = kPrimes[i % kPrimes.size()];
    backwards[free[free.size() - 1 - i]] = kPrimes[i % kPrimes.size()];
    ones[free[i]] = 1;
  }
  Collector collector(kernel, set);
  collector.Add(primes);
  collector.Add(backwards);
  collector.Add(ones);
  auto with = [&](Name name, int64_t value) {
    Shape shape = primes;
    shape[name] = value;
    collector.Add(shape);
  };
  for (Name name : free) with(name, 0);
  Shape beyond = primes;
  for (Name name : free) {
    auto tiles = kernel.tiles().find(name);
    if (tiles == kernel.tiles().end()) continue;
    for (int64_t edge : Edges(tiles->second)) with(name, edge);
    beyond[name] = *tiles->second.begin() + 1;
  }
  collector.Add(beyond);
  for (auto& [name, value] : beyond) value = 2 * value + 1;
  collector.Add(beyond);
  return collector.Take();
}

std::vector<Shape> SmallerShapes(const Shape& shape) {
  std::vector<Shape> smaller;
  for (const auto& [name, value] : shape) {
    for (int64_t less : {int64_t{0}, int64_t{1}, value / 2, value - 1}) {
      if (less < 0 || less >= value) continue;
      Shape one = shape;
      one[name] = less;
      smaller.push_back(std::move(one));
    }
  }
  return smaller;
}

}  // namespace kdl::tools
