#pragma once

#include "interp/contract_maps.h"

namespace kdl::interp {

/// What a reduction of nothing gives.
ContractValue IdentityOf(ir::ContractReduce reduce, Scalar scalar);

/// A reduction on its way: terms are added in order.
class ContractFold {
 public:
  ContractFold(ir::ContractReduce reduce, Scalar scalar)
      : reduce_(reduce), scalar_(scalar), value_(IdentityOf(reduce, scalar)) {}

  /// `index`: that of the reduced name, for argmax and argmin.
  void Add(const ContractValue& term, int64_t index);
  ContractValue Result() const;

 private:
  ContractValue IntegerMean() const;
  ContractValue With(ir::ContractMap map, const ContractValue& term) const;
  bool IsBetter(const ContractValue& term) const;

  ir::ContractReduce reduce_;
  Scalar scalar_;  ///< of the terms
  ContractValue value_;
  int64_t count_ = 0;
  int64_t best_ = -1;  ///< of argmax and argmin: the first index of `value_`
};

}  // namespace kdl::interp
