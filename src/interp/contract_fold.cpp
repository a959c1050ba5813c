#include "interp/contract_fold.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "support/check.h"

namespace kdl::interp {

using ir::ContractReduce;

ContractValue IdentityOf(ContractReduce reduce, bool is_float) {
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
      return is_float ? RealValue(-kInfinity, 0) : IntegerValue(INT64_MIN);
    case ContractReduce::Min:
    case ContractReduce::ArgMin:
      return is_float ? RealValue(kInfinity, 0) : IntegerValue(INT64_MAX);
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
  if (!is_float_) return IntegerMean();
  double mean = value_.real / static_cast<double>(count_);
  double carried = value_.error / static_cast<double>(count_);
  return RealValue(mean, std::isfinite(mean) ? std::fabs(mean) + carried : 0);
}

/// Rounded down; of nothing, which a kernel does not survive, 0.
ContractValue ContractFold::IntegerMean() const {
  if (count_ == 0) return IntegerValue(0);
  int64_t quotient = value_.integer / count_;
  bool rounded_up = value_.integer % count_ < 0;
  return IntegerValue(rounded_up ? quotient - 1 : quotient);
}

ContractValue ContractFold::With(ir::ContractMap map, const ContractValue& term) const {
  Scalar scalar = is_float_ ? Scalar::F64 : Scalar::I64;
  ContractValue operands[] = {value_, term, {}};
  return EvaluateMap(map, scalar, scalar, operands);
}
/// The first NaN wins, else the first of the largest.
bool ContractFold::IsBetter(const ContractValue& term) const {
  if (best_ < 0) return true;
  bool largest = reduce_ == ContractReduce::ArgMax;
  if (!is_float_) return largest ? term.integer > value_.integer : term.integer < value_.integer;
  if (std::isnan(value_.real)) return false;
  if (std::isnan(term.real)) return true;
  return largest ? term.real > value_.real : term.real < value_.real;
}

}  // namespace kdl::interp
