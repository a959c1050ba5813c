#include "interp/contract_fold.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "support/check.h"

namespace kdl::interp {

using ir::ContractReduce;

ContractValue IdentityOf(ContractReduce reduce, Scalar scalar) {
  const bool is_float = IsFloat(scalar);
  const bool is_u64 = scalar == Scalar::U64;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (reduce) {
    case ContractReduce::Sum:
    case ContractReduce::Mean:
    case ContractReduce::Any:
      return {};
    case ContractReduce::Prod:
      return {1, 1, 0};
    case ContractReduce::All:
      return IntegerValue(1);
    case ContractReduce::Max:
    case ContractReduce::ArgMax:
      return is_float ? RealValue(-kInfinity, 0) : IntegerValue(is_u64 ? 0 : INT64_MIN);
    case ContractReduce::Min:
    case ContractReduce::ArgMin:
      return is_float ? RealValue(kInfinity, 0) : IntegerValue(is_u64 ? -1 : INT64_MAX);
  }
  KDL_UNREACHABLE();
}

void ContractFold::Add(const ContractValue& term, int64_t index) {
  ++count_;
  switch (reduce_) {
    case ContractReduce::Sum:
    case ContractReduce::Mean:
      value_.real += term.real;
      value_.integer = static_cast<int64_t>(static_cast<uint64_t>(value_.integer) +
                                            static_cast<uint64_t>(term.integer));
      if (std::isfinite(term.real)) value_.error += std::fabs(term.real) + term.error;
      break;
    case ContractReduce::Prod:
      value_ = With(ir::ContractMap::Mul, term);
      break;
    case ContractReduce::Max:
      value_ = With(ir::ContractMap::Max, term);
      break;
    case ContractReduce::Min:
      value_ = With(ir::ContractMap::Min, term);
      break;
    case ContractReduce::Any:
      value_.integer |= term.integer;
      break;
    case ContractReduce::All:
      value_.integer &= term.integer;
      break;
    case ContractReduce::ArgMax:
    case ContractReduce::ArgMin:
      if (!IsBetter(term)) break;
      value_ = term;
      best_ = index;
      break;
  }
}

ContractValue ContractFold::Result() const {
  if (reduce_ == ContractReduce::ArgMax || reduce_ == ContractReduce::ArgMin)
    return IntegerValue(best_);
  if (reduce_ != ContractReduce::Mean) return value_;
  if (!IsFloat(scalar_)) return IntegerMean();
  double mean = value_.real / static_cast<double>(count_);
  double carried = value_.error / static_cast<double>(count_);
  return RealValue(mean, std::isfinite(mean) ? std::fabs(mean) + carried : 0);
}

/// Rounded down; of nothing, which a kernel does not survive, 0.
ContractValue ContractFold::IntegerMean() const {
  if (count_ == 0) return IntegerValue(0);
  ContractValue operands[] = {value_, IntegerValue(count_), {}};
  return EvaluateMap(ir::ContractMap::Div, scalar_, scalar_, operands);
}

ContractValue ContractFold::With(ir::ContractMap map, const ContractValue& term) const {
  ContractValue operands[] = {value_, term, {}};
  return EvaluateMap(map, scalar_, scalar_, operands);
}

/// The first NaN wins, else the first of the largest.
bool ContractFold::IsBetter(const ContractValue& term) const {
  if (best_ < 0) return true;
  bool largest = reduce_ == ContractReduce::ArgMax;
  if (!IsFloat(scalar_)) {
    ir::ContractMap better = largest ? ir::ContractMap::Gt : ir::ContractMap::Lt;
    ContractValue operands[] = {term, value_, {}};
    return EvaluateMap(better, scalar_, Scalar::Bool, operands).integer != 0;
  }
  if (std::isnan(value_.real)) return false;
  if (std::isnan(term.real)) return true;
  return largest ? term.real > value_.real : term.real < value_.real;
}

}  // namespace kdl::interp
