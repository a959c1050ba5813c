#include "passes/ranks/needed_code.h"

namespace kdl::passes {

namespace {

using proofs::LaunchBound;
using proofs::LaunchSum;

class RangeMaker {
 public:
  RangeMaker(ir::Builder& b, const LaunchNumbers& numbers) : b_(b), numbers_(numbers) {}

  Value* Sum(const LaunchSum& sum) {
    Value* total = nullptr;
    for (const auto& [size, factor] : sum.sizes)
      total = Plus(total, numbers_.sizes.at(size), factor);
    for (const auto& [param, factor] : sum.params)
      total = Plus(total, numbers_.params.at(param), factor);
    if (!total) return b_.I64(sum.constant);
    if (sum.constant == 0) return total;
    return sum.constant > 0 ? b_.Add(total, b_.I64(sum.constant))
                            : b_.Sub(total, b_.I64(-sum.constant));
  }

  Value* RoundedDown(const LaunchBound& bound) {
    Value* sum = Sum(bound.sum);
    return bound.divisor == 1 ? sum : b_.Div(sum, b_.I64(bound.divisor));
  }

  Value* RoundedUp(LaunchBound bound) {
    bound.sum.constant += bound.divisor - 1;
    return RoundedDown(bound);
  }

 private:
  Value* Plus(Value* total, Value* value, int64_t factor) {
    if (factor == -1 && total) return b_.Sub(total, value);
    Value* product = factor == 1 ? value : b_.Mul(value, b_.I64(factor));
    return total ? b_.Add(total, product) : product;
  }

  ir::Builder& b_;
  const LaunchNumbers& numbers_;
};

}  // namespace

NeededBox MakeNeededBox(ir::Builder& b, const proofs::NeededPart& part, const BoxValues& whole,
                        const LaunchNumbers& numbers) {
  RangeMaker maker(b, numbers);
  NeededBox needed{whole};
  for (size_t d = 0; d < whole.size(); ++d) {
    auto& [first, end] = needed.box[d];
    for (const LaunchBound& bound : part.dims[d].least)
      first = b.Max(first, maker.RoundedUp(bound));
    for (LaunchBound bound : part.dims[d].most) {
      bound.sum.constant += bound.divisor;  // the end is one more than the last index
      end = b.Min(end, maker.RoundedDown(bound));
    }
  }
  needed.condition = RankOps::HasAny(b, needed.box);
  for (const LaunchSum& sum : part.conditions)
    needed.condition = b.And(needed.condition, b.Ge(maker.Sum(sum), b.I64(0)));
  return needed;
}

}  // namespace kdl::passes
